#include "operators/value.h"

namespace weir::operators {

std::string_view ValueTypeName(ValueType type) {
  switch (type) {
    case ValueType::kAbsent: return "absent";
    case ValueType::kNull: return "null";
    case ValueType::kBool: return "bool";
    case ValueType::kInt64: return "int64";
    case ValueType::kDecimal: return "decimal";
    case ValueType::kDouble: return "double";
    case ValueType::kString: return "string";
    case ValueType::kBytes: return "bytes";
    case ValueType::kDate: return "date";
    case ValueType::kTime: return "time";
    case ValueType::kTimestamp: return "timestamp";
    case ValueType::kTimestampTz: return "timestamptz";
    case ValueType::kJson: return "json";
  }
  return "?";
}

}  // namespace weir::operators
