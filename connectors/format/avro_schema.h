// An Avro schema as a decoder wants it: a tree of types with names resolved, logical types and CockroachDB's SQL types
// read. Immutable once parsed; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace weir::connectors {

enum class AvroKind : uint8_t {
  kNull,
  kBoolean,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kBytes,
  kString,
  kArray,
  kMap,
  kFixed,
  kEnum,
  kRecord,
  kUnion,
};

// What the bytes of a kind mean beyond the kind.
enum class AvroMeaning : uint8_t {
  kPlain,
  kDecimal,      // bytes, fixed: two's complement with `scale` digits behind the point
  kDecimalText,  // string: a decimal that the union's other branch can't hold, such as NaN
  kDate,         // int
  kTimeMillis,   // int
  kTimeMicros,   // long
  kTimestampMillis,
  kTimestampMicros,
  kLocalTimestampMillis,
  kLocalTimestampMicros,
  kJson,  // string: the column is a JSONB
};

struct AvroType;

struct AvroField {
  std::string name;  // of the SQL column: escapes are decoded
  AvroType* type = nullptr;
};

struct AvroType {
  AvroKind kind = AvroKind::kNull;
  AvroMeaning meaning = AvroMeaning::kPlain;
  uint32_t scale = 0;                     // kDecimal
  size_t fixed_bytes = 0;                 // kFixed
  std::vector<AvroField> fields = {};     // kRecord
  std::vector<AvroType*> types = {};      // kUnion: the branches; kArray, kMap: the one of the elements
  std::vector<std::string> symbols = {};  // kEnum
};

class AvroSchema {
 public:
  // InvalidArgument says what is wrong and where in the schema. `json`: as a schema registry gives it.
  static Result<std::unique_ptr<const AvroSchema>> Parse(std::string_view json);

  const AvroType& root() const { return *root_; }

 private:
  class Parser;
  AvroSchema() = default;

  std::deque<AvroType> types_;  // stay where they are
  const AvroType* root_ = nullptr;
};

}  // namespace weir::connectors
