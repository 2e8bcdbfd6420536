#include "connectors/format/avro_reader.h"

#include <utility>

#include "connectors/format/avro_decoder.h"

namespace weir::connectors {
namespace {

constexpr size_t kHeaderBytes = 5;
constexpr size_t kSchemasMax = 10'000;

Status Broken(size_t at, const std::string& what) {
  return Status::InvalidArgument("broken Avro at byte " + std::to_string(at) + ": " + what);
}

}  // namespace

Result<const AvroType*> AvroReader::TypeOf(std::string_view& bytes) {
  if (bytes.size() < kHeaderBytes || bytes.front() != '\0') {
    return Error(
        Status::InvalidArgument("not Avro of a schema registry: it begins with a zero byte and a schema's id"));
  }
  uint32_t id = 0;
  for (size_t i = 1; i < kHeaderBytes; ++i) id = id << 8 | static_cast<uint8_t>(bytes[i]);
  bytes.remove_prefix(kHeaderBytes);
  if (const auto found = known_.find(id); found != known_.end()) return &found->second->root();
  WEIR_ASSIGN_OR_RETURN(const std::string json, schemas_->Fetch(id));
  Result<std::unique_ptr<const AvroSchema>> schema = AvroSchema::Parse(json);
  if (schema.has_value() && (*schema)->root().kind != AvroKind::kRecord) {
    schema = Error(Status::InvalidArgument("it is not the schema of a record"));
  }
  if (!schema.has_value()) return Error(schema.error().WithContext("schema " + std::to_string(id)));
  if (known_.size() >= kSchemasMax) known_.clear();
  return &known_.emplace(id, std::move(*schema)).first->second->root();
}

template <class F>
Status AvroReader::Read(std::string_view bytes, operators::Arena& arena, std::span<ObjectMember> members, F walk) {
  WEIR_ASSIGN_OR_RETURN(const AvroType* const type, TypeOf(bytes));
  for (bool again = false;; again = true) {
    ResetMembers(members);
    AvroDecoder decoder(bytes, arena, scratch_);
    if (walk(decoder, *type)) {
      if (decoder.at() == bytes.size()) break;
      return Broken(kHeaderBytes + decoder.at(), "expected the end of the record");
    }
    if (!decoder.shape_full()) return Broken(kHeaderBytes + decoder.at(), decoder.problem());
    if (again) return Status::InvalidArgument("more than " + std::to_string(RowShape::kColumnsMax) + " fields");
    ResetShapes(members);
  }
  FitRows(members);
  return Status::Ok();
}

Status AvroReader::ReadRow(std::string_view bytes, operators::Arena& arena, ObjectMember& into) {
  return Read(bytes, arena, {&into, 1},
              [&](AvroDecoder& decoder, const AvroType& type) { return decoder.Row(type, into); });
}

Status AvroReader::ReadMembers(std::string_view bytes, operators::Arena& arena, std::span<ObjectMember> members) {
  return Read(bytes, arena, members,
              [&](AvroDecoder& decoder, const AvroType& type) { return decoder.Members(type, members); });
}

Status AvroReader::AppendJson(std::string_view bytes, operators::Arena& arena, std::string& out) {
  return Read(bytes, arena, {}, [&](AvroDecoder& decoder, const AvroType& type) { return decoder.Json(type, out); });
}

}  // namespace weir::connectors
