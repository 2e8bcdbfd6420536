// Rows for PostgreSQL in an output segment (checkpoint/sealed_file.h), or in memory on their way to a Worker. A
// sequence of frames; integers are varints, texts a length and bytes (base/bytes.h):
//
//   'T' schema table flags count key... version key-column rules
//                                                 the target of the rows that follow: flags 1: upsert, 2: named by the
//                                                 row; the key's columns; the version column or an empty text; only
//                                                 with flag 2 the column with the key as JSON or an empty text; only
//                                                 with flag 4 the table's rules: extras column, lists of renames,
//                                                 ignored, expressions, versions, deadlines (each a count and names,
//                                                 pairs one behind the other); flag 8: deletions are left out; only
//                                                 with flag 16, behind the rules, what becomes of conflicts and of
//                                                 those that can't be merged (PostgresOnConflict), and the list of
//                                                 merged columns with their SQL
//   'C' count name...                             the names of the columns that follow
//   'U' n                                         target and columns are again those of the n-th C of the file, from 0;
//                                                 n is below 1,024
//   'E' time                                      event time of the rows that follow; before the first: none
//   'O' json                                      where the next row comes from: an object of the columns that are not
//                                                 written; only for the dead letters
//   'R' kind value...                             a row, kind 0..3 for +I -U +U -D; a value for each column:
//                                                 0 absent, 1 NULL, 2n + 2 and n bytes of text as PostgreSQL reads
//                                                 it, 2n + 3 if that text is JSON as it stands (a number, say)
//   'W' subtask time                              every row at or below this time is in this file or an older one of
//                                                 its writer; an event time without a row: not known yet
//   'S'                                           end
//
// A time is its nanoseconds, 8 bytes big-endian with the sign bit changed, and the logical part.
// A file that ends without 'S', or holds anything else, is damaged.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "connectors/postgres/options.h"
#include "operators/batch.h"
#include "operators/event_time.h"

namespace weir::connectors {

struct SegmentFrontier {
  uint64_t subtask = 0;  // of its writer
  operators::EventTime time = {};
  friend bool operator==(const SegmentFrontier&, const SegmentFrontier&) = default;
};

inline constexpr size_t kSegmentShapesMax = 1024;  // C frames that a U may name

void AppendSegmentTarget(std::string& out, const PostgresTarget& target);
void AppendSegmentColumns(std::string& out, const std::vector<std::string>& columns);
void AppendSegmentShape(std::string& out, size_t n);
void AppendSegmentTime(std::string& out, operators::EventTime time);
// The row's frame with the values of `columns`. Without `any_text`, InvalidArgument for what no PostgreSQL can store:
// text with a null character.
Status AppendSegmentRow(std::string& out, const operators::Batch& batch, size_t row, std::span<const size_t> columns,
                        bool any_text);
// In front of a row: where it comes from, a JSON object. Nothing if that is empty.
void AppendSegmentOrigin(std::string& out, std::string_view json);
// The same of its values of `columns`; without any of them, nothing.
void AppendSegmentOrigin(std::string& out, const operators::Batch& batch, size_t row, std::span<const size_t> columns);
void AppendSegmentFrontier(std::string& out, const SegmentFrontier& frontier);
void AppendPostgresSegmentEnd(std::string& out);

// A value as PostgreSQL reads it: bytes as \x0a1b, numbers with their exact digits, dates and times as it prints them.
void AppendPostgresText(std::string& out, const operators::Value& value);

struct SegmentValue {
  bool absent = false;
  bool json = false;                     // the text is JSON as it stands, otherwise a string
  std::optional<std::string_view> text;  // nothing: absent or NULL
};
struct SegmentRow {
  const PostgresTarget& target;
  const std::vector<std::string>& columns;
  operators::RowKind kind{};
  std::span<const SegmentValue> values;  // one for each column
  operators::EventTime time{};
  std::string_view origin = {};  // a JSON object, or empty
  std::string_view uid = {};     // of the sink, where whoever reads knows it
  int64_t place = 0;             // among rows that wait for their parents (waiting_rows.h); 0: it is not one of them
  bool replaces = false;         // of such a row: nothing of what was there before stays
};
// The row with all that it needs in front, to be read by itself.
void AppendWholeSegmentRow(std::string& out, const SegmentRow& row);
using TakeSegmentRow = std::function<Status(const SegmentRow& row)>;

// Gives the rows of the file `path` to `take` in order; what they point to is valid during the call. Stops at its first
// error, which comes back. Corruption names the file and the byte. Blocks: a committer's thread. Its W frame
// goes to `frontier`.
Status ReadPostgresSegment(FileSystem& fs, const std::string& path, const TakeSegmentRow& take,
                           std::optional<SegmentFrontier>* frontier = nullptr);
// The same for frames in memory, which end without 'S'.
Status ReadPostgresRows(std::string_view frames, const TakeSegmentRow& take);

}  // namespace weir::connectors
