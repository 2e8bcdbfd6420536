// Reads JSON objects into values: strict (RFC 8259), exact (numbers keep their digits), and without an allocation of
// its own a record. simdjson's first stage finds the tokens and checks UTF-8; one walk over them takes out what is
// asked for and checks the rest. One reader a deserializer, on its task's thread.
//
//   a number          Int64, or Decimal with its text as it stands
//   a string          String, unescaped
//   null              Null (a missing member: Absent)
//   an object, array  Json with its text as it stands
//
// A name that occurs twice in an object: the last one holds, as in PostgreSQL's jsonb.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "connectors/format/row_shape.h"
#include "operators/batch.h"
#include "operators/value.h"

namespace weir::connectors {

// What to take out of an object: one member as a value, or, with a shape, a nested object as a row.
struct JsonMember {
  std::string_view name = {};
  RowShape* shape = nullptr;
  operators::Value value = {};             // of the member; a row that was found is a Json here
  std::vector<operators::Value> row = {};  // shape->size() values if `is_row`
  bool is_row = false;                     // with a shape: the member was there and an object
};

class JsonReader {
 public:
  JsonReader();
  ~JsonReader();

  // `text` has RowCollector::kPaddingBytes readable bytes behind it and stays as long as the values; unescaped text
  // goes to `arena`. InvalidArgument: what is wrong and at which byte; what was taken out so far is then of no use. The
  // whole text is one object, whose members become the row of `into` (name unused).
  Status ReadRow(std::string_view text, operators::Arena& arena, JsonMember& into);
  // Takes the named members out of the whole text's object, resets those that it lacks, passes over all others.
  Status ReadMembers(std::string_view text, operators::Arena& arena, std::span<JsonMember> members);
  // The elements of an array, e.g. a changefeed's key. `elements` is emptied first.
  Status ReadArray(std::string_view text, operators::Arena& arena, std::vector<operators::Value>& elements);

 private:
  class Walk;
  struct Tokens;

  template <class F>
  Status Read(std::string_view text, operators::Arena& arena, std::span<JsonMember> members, F walk);

  std::unique_ptr<Tokens> tokens_;
};

}  // namespace weir::connectors
