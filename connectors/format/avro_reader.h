// Reads Avro records in the wire format of Confluent's schema registry: a zero byte, the schema's id in four bytes, the
// record. A field is a member, a record of the top level is an object. Exact:
//
//   int, long                        Int64, or Date, Time, Timestamp, TimestampTz by its logical type
//   bytes, fixed                     Bytes, or Decimal with all its digits
//   string                           String; Decimal where the union's other branch is one; what a JSONB column holds
//   double, float, boolean, enum     Double, Double, Bool, String
//   null                             Null (a field that the schema lacks: Absent)
//   array, map, record in a column   Json
//
// CockroachDB's timestamp-micros are both TIMESTAMP and TIMESTAMPTZ; the schema's "__crdb__" tells. Names are SQL names
// again (sql_name.h). One reader a deserializer, on its task's thread; it waits for a schema that it has not met.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/status.h"
#include "connectors/format/avro_schema.h"
#include "connectors/format/object_reader.h"

namespace weir::connectors {

// Where schemas are by their id.
class SchemaSource {
 public:
  virtual ~SchemaSource() = default;
  // The schema as JSON text. InvalidArgument: there is no schema of that id. Any other error: it can't be told now.
  virtual Result<std::string> Fetch(uint32_t id) = 0;
};

class AvroReader final : public ObjectReader {
 public:
  explicit AvroReader(std::unique_ptr<SchemaSource> schemas) : schemas_(std::move(schemas)) {}

  Status ReadRow(std::string_view bytes, operators::Arena& arena, ObjectMember& into) override;
  Status ReadMembers(std::string_view bytes, operators::Arena& arena, std::span<ObjectMember> members) override;
  // The whole record as JSON, its fields in the schema's order: the same text whatever the schema's id.
  Status AppendJson(std::string_view bytes, operators::Arena& arena, std::string& out);

 private:
  // Takes the header off `bytes`.
  Result<const AvroType*> TypeOf(std::string_view& bytes);
  template <class F>
  Status Read(std::string_view bytes, operators::Arena& arena, std::span<ObjectMember> members, F walk);

  const std::unique_ptr<SchemaSource> schemas_;
  std::unordered_map<uint32_t, std::unique_ptr<const AvroSchema>> known_;  // never iterated
  std::string scratch_;
};

}  // namespace weir::connectors
