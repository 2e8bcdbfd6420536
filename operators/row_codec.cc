#include "operators/row_codec.h"

#include <charconv>
#include <utility>

#include "base/bytes.h"
#include "operators/key.h"

namespace weir::operators {
namespace {

constexpr std::string_view kSchemaPrefix = "schema-";
constexpr size_t kKnownMax = 4096;  // schemas may come as ever new objects

std::string NamesOf(const Schema& schema) {
  std::string names;
  for (const std::string& name : schema.columns()) AppendLengthPrefixed(names, name);
  return names;
}

std::string EntryNameOf(uint64_t number) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, number, 16).ptr;
  return std::string(kSchemaPrefix) + std::string(digits, end);
}

}  // namespace

void AppendRow(std::string& out, RowKind kind, uint64_t schema, std::span<const Value> values) {
  out += static_cast<char>(kind);
  AppendBigEndian64(out, schema);
  for (const Value& value : values) AppendExactValue(out, value);
}

std::optional<EncodedRow> ReadRow(std::string_view bytes) {
  if (bytes.size() < 9 || static_cast<unsigned char>(bytes[0]) > static_cast<unsigned char>(RowKind::kDelete)) {
    return std::nullopt;
  }
  return EncodedRow{static_cast<RowKind>(bytes[0]), ReadBigEndian64(bytes.substr(1)), bytes.substr(9)};
}

bool DecodeValues(std::string_view values, std::span<Value> out) { return DecodeKey(values, out); }

Status StoredSchemas::Open(const std::string& uid, state::SubtaskState& state) {
  uid_ = uid;
  state_ = &state;
  WEIR_ASSIGN_OR_RETURN(const auto entries, state.OperatorEntries(uid));
  for (const auto& entry : entries) {
    if (!entry.name.starts_with(kSchemaPrefix)) continue;
    std::vector<std::string_view> names;
    std::string_view bytes = entry.value;
    while (!bytes.empty()) {
      const std::optional<std::string_view> name = ReadLengthPrefixed(bytes);
      if (!name.has_value()) return Status::Corruption("a stored schema can't be read");
      names.push_back(*name);
    }
    WEIR_ASSIGN_OR_RETURN([[maybe_unused]] const uint64_t number, NumberOf(cache_.Get(names)));
  }
  return Status::Ok();
}

Result<uint64_t> StoredSchemas::NumberOf(const SchemaPtr& schema) {
  if (const auto known = known_.find(schema.get()); known != known_.end()) return known->second.second;
  const std::string names = NamesOf(*schema);
  const uint64_t number = Hash64(names);
  const auto [at, added] = schemas_.try_emplace(number, schema);
  if (!added && *at->second != *schema) return Error(Status::Internal("two schemas have the same hash"));
  if (added) WEIR_RETURN_IF_ERROR(state_->PutOperatorEntry(uid_, EntryNameOf(number), names));
  if (known_.size() == kKnownMax) known_.clear();
  known_.emplace(schema.get(), std::pair(schema, number));
  return number;
}

Result<SchemaPtr> StoredSchemas::Find(uint64_t number) const {
  const auto found = schemas_.find(number);
  if (found == schemas_.end()) return Error(Status::Corruption("a row in state has a schema that is not stored"));
  return found->second;
}

}  // namespace weir::operators
