// Whole rows as bytes, for operators that keep them in state, whatever their schema: exact for every value, absent and
// null included. A row carries its kind, the number of its schema and its values; time and key lie elsewhere. Names
// stand once, in operator state ("schema-" and the number in hex); the number is a hash of them, so that it is the same
// in all subtasks and in every start.
//
//   kind (1 byte)   schema (8 bytes, big-endian)   values (operators/key.h, AppendExactValue), one a column
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "operators/batch.h"
#include "state/subtask_state.h"

namespace weir::operators {

// The codec's name in a state's description.
inline constexpr std::string_view kRowCodec = "row/v1";

void AppendRow(std::string& out, RowKind kind, uint64_t schema, std::span<const Value> values);

struct EncodedRow {
  RowKind kind = RowKind::kInsert;
  uint64_t schema = 0;
  std::string_view values;
};
// Nothing if the bytes are no row.
std::optional<EncodedRow> ReadRow(std::string_view bytes);
// False if there are not `out.size()` values. Text points into `values`.
bool DecodeValues(std::string_view values, std::span<Value> out);

// The schemas of the rows that one operator keeps in one subtask. Task's thread.
class StoredSchemas {
 public:
  // Takes up those which were stored, also by former subtasks.
  Status Open(const std::string& uid, state::SubtaskState& state);
  // The schema's number; it is stored when it is new.
  Result<uint64_t> NumberOf(const SchemaPtr& schema);
  // Corruption if no such schema is stored.
  Result<SchemaPtr> Find(uint64_t number) const;
  // The one with these names.
  SchemaPtr Get(const std::vector<std::string_view>& names) { return cache_.Get(names); }

 private:
  std::string uid_;
  state::SubtaskState* state_ = nullptr;
  std::map<uint64_t, SchemaPtr> schemas_;
  std::unordered_map<const Schema*, std::pair<SchemaPtr, uint64_t>> known_;  // keeps its keys alive; never iterated
  SchemaCache cache_;
};

}  // namespace weir::operators
