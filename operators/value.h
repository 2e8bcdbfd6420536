// One value of a row: 16 bytes, trivially copied. Text lives in an arena of the batch (operators/batch.h); a Value
// never owns it. Exactness: a number that isn't a 64-bit integer is a kDecimal, which is the number's text as it was
// written
// ("7E+3", "0.10"); it becomes digits only where arithmetic or comparison asks for them (operators/decimal.h). Nothing
// goes through double unless the definition says double. Absent, SQL NULL and JSON null are three different things:
// kAbsent, kNull, and a kJson whose text is `null`.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/check.h"

namespace weir::operators {

enum class ValueType : uint8_t {
  kAbsent,  // the row has no such member
  kNull,    // SQL NULL; a JSON null that was read from a column
  kBool,
  kInt64,
  kDecimal,  // text of a number: JSON's number grammar, or NaN / Infinity / -Infinity from PostgreSQL
  kDouble,
  kString,  // UTF-8
  kBytes,
  kDate,         // days since 1970-01-01, proleptic Gregorian
  kTime,         // microseconds since midnight
  kTimestamp,    // microseconds since 1970-01-01T00:00:00, no zone
  kTimestampTz,  // microseconds since 1970-01-01T00:00:00Z
  kJson,         // text of a JSON object, array or null, as it was written
};

// The type's name in expressions, errors and schemas: "bool", "int64", "decimal", ...
std::string_view ValueTypeName(ValueType type);

class Value {
 public:
  Value() = default;  // absent

  static Value Absent() { return {}; }
  static Value Null() { return Value(ValueType::kNull); }
  static Value Bool(bool b) { return Value(ValueType::kBool, b ? 1 : 0); }
  static Value Int64(int64_t i) { return Value(ValueType::kInt64, i); }
  static Value Double(double d) {
    Value v(ValueType::kDouble);
    v.double_ = d;
    return v;
  }
  // kDate, kTime, kTimestamp, kTimestampTz.
  static Value Temporal(ValueType type, int64_t units) { return Value(type, units); }
  // kDecimal, kString, kBytes, kJson. `text` must outlive the value: it points into an arena. Below 4 GiB.
  static Value Text(ValueType type, std::string_view text) {
    WEIR_CHECK_LE(text.size(), UINT32_MAX);
    Value v(type);
    v.text_ = text.data();
    v.size_ = static_cast<uint32_t>(text.size());
    return v;
  }

  ValueType type() const { return type_; }
  bool absent() const { return type_ == ValueType::kAbsent; }
  bool null() const { return type_ == ValueType::kNull; }
  bool missing() const { return type_ <= ValueType::kNull; }  // absent or null: SQL sees NULL
  bool has_text() const {
    return type_ == ValueType::kDecimal || type_ == ValueType::kString || type_ == ValueType::kBytes ||
           type_ == ValueType::kJson;
  }

  bool bool_value() const { return int_ != 0; }
  int64_t int64_value() const { return int_; }  // also the units of a temporal value
  double double_value() const { return double_; }
  std::string_view text() const { return {text_, size_}; }

 private:
  explicit Value(ValueType type, int64_t i = 0) : int_(i), type_(type) {}

  union {
    int64_t int_ = 0;
    double double_;
    const char* text_;
  };
  uint32_t size_ = 0;
  ValueType type_ = ValueType::kAbsent;
};
static_assert(sizeof(Value) == 16);

}  // namespace weir::operators
