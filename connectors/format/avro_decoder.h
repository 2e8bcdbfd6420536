// One pass over one Avro record's bytes. Every method returns false for bytes that are not of the schema, or when a
// shape is full; it belongs to AvroReader, which says what it reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "connectors/format/avro_schema.h"
#include "connectors/format/object_member.h"
#include "operators/batch.h"

namespace weir::connectors {

class AvroDecoder {
 public:
  // Texts point into `bytes`; what is made goes to `arena`. `scratch` keeps its room between records.
  AvroDecoder(std::string_view bytes, operators::Arena& arena, std::string& scratch)
      : bytes_(bytes), arena_(arena), scratch_(scratch) {}

  // Of a record type.
  bool Row(const AvroType& record, ObjectMember& into);
  bool Members(const AvroType& record, std::span<ObjectMember> members);
  // Appends a value of any type as JSON.
  bool Json(const AvroType& type, std::string& out, size_t depth = 0);

  size_t at() const { return at_; }
  const std::string& problem() const { return problem_; }  // empty: none
  bool shape_full() const { return shape_full_; }

 private:
  bool Fail(std::string what);
  bool Member(const AvroType& type, ObjectMember& member);
  bool Take(const AvroType& type, operators::Value& value);
  // null, boolean, numbers, bytes, string, fixed, enum.
  bool TakeScalar(const AvroType& type, operators::Value& value);
  bool TakeInteger(const AvroType& type, operators::Value& value);
  bool TakeText(const AvroType& type, operators::Value& value);
  bool TakeDecimal(const AvroType& type, std::string_view bytes, operators::Value& value);
  bool TakeJsonb(std::string_view text, operators::Value& value);
  bool JsonElements(const AvroType& type, std::string& out, size_t depth);
  // The branch that the bytes choose of a union; any other type is itself. Null: there is no such branch.
  const AvroType* Resolve(const AvroType& type);
  bool Long(int64_t& number);
  bool Bytes(size_t size, std::string_view& bytes);
  bool SizedBytes(std::string_view& bytes);

  const std::string_view bytes_;
  operators::Arena& arena_;
  std::string& scratch_;
  size_t at_ = 0;
  std::string problem_;
  bool shape_full_ = false;
};

}  // namespace weir::connectors
