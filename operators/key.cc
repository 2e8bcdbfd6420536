#include "operators/key.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/bytes.h"
#include "operators/decimal.h"
#include "operators/raw_value.h"

namespace weir::operators {
namespace {

enum KeyTag : char {
  kTagAbsent,
  kTagNull,
  kTagFalse,
  kTagTrue,
  kTagInt64,
  kTagNumber,
  kTagDouble,
  kTagString,
  kTagBytes,
  kTagJson,
  kTagDate,
  kTagTime,
  kTagTimestamp,
  kTagTimestampTz,
};

uint64_t ZigZag(int64_t value) { return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63); }
int64_t UnZigZag(uint64_t value) { return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1); }

void AppendInteger(std::string& out, KeyTag tag, int64_t value) {
  out += tag;
  AppendVarint(out, ZigZag(value));
}

void AppendTagged(std::string& out, KeyTag tag, std::string_view text) {
  out += tag;
  AppendLengthPrefixed(out, text);
}

void AppendDouble(std::string& out, double value) {
  if (value == 0) value = 0;
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  out += kTagDouble;
  AppendBigEndian64(out, std::bit_cast<uint64_t>(value));
}

void AppendNumber(std::string& out, std::string_view text) {
  if (const std::optional<int64_t> integer = NumberAsInt64(text); integer.has_value()) {
    AppendInteger(out, kTagInt64, *integer);
    return;
  }
  std::string canonical;
  AppendCanonicalNumber(canonical, text);
  AppendTagged(out, kTagNumber, canonical);
}

ValueType TypeOfTag(char tag) {
  switch (tag) {
    case kTagInt64: return ValueType::kInt64;
    case kTagNumber: return ValueType::kDecimal;
    case kTagString: return ValueType::kString;
    case kTagBytes: return ValueType::kBytes;
    case kTagJson: return ValueType::kJson;
    case kTagDate: return ValueType::kDate;
    case kTagTime: return ValueType::kTime;
    case kTagTimestamp: return ValueType::kTimestamp;
    case kTagTimestampTz: return ValueType::kTimestampTz;
    default: return ValueType::kAbsent;
  }
}

}  // namespace

std::optional<Value> TakeKeyValue(std::string_view& key) {
  if (key.empty()) return std::nullopt;
  const char tag = key.front();
  key.remove_prefix(1);
  switch (tag) {
    case kTagAbsent: return Value::Absent();
    case kTagNull: return Value::Null();
    case kTagFalse: return Value::Bool(false);
    case kTagTrue: return Value::Bool(true);
    case kTagDouble: {
      if (key.size() < 8) return std::nullopt;
      const double value = std::bit_cast<double>(ReadBigEndian64(key));
      key.remove_prefix(8);
      return Value::Double(value);
    }
    case kTagNumber:
    case kTagString:
    case kTagBytes:
    case kTagJson: {
      const std::optional<std::string_view> text = ReadLengthPrefixed(key);
      if (!text.has_value()) return std::nullopt;
      return Value::Text(TypeOfTag(tag), *text);
    }
    case kTagInt64:
    case kTagDate:
    case kTagTime:
    case kTagTimestamp:
    case kTagTimestampTz: {
      const std::optional<uint64_t> integer = ReadVarint(key);
      if (!integer.has_value()) return std::nullopt;
      if (tag == kTagInt64) return Value::Int64(UnZigZag(*integer));
      return Value::Temporal(TypeOfTag(tag), UnZigZag(*integer));
    }
    default: return std::nullopt;
  }
}

void AppendKey(std::string& out, const Value& value) {
  switch (value.type()) {
    case ValueType::kAbsent: out += kTagAbsent; return;
    case ValueType::kNull: out += kTagNull; return;
    case ValueType::kBool: out += value.bool_value() ? kTagTrue : kTagFalse; return;
    case ValueType::kInt64: return AppendInteger(out, kTagInt64, value.int64_value());
    case ValueType::kDecimal: return AppendNumber(out, value.text());
    case ValueType::kDouble: return AppendDouble(out, value.double_value());
    case ValueType::kString: return AppendTagged(out, kTagString, value.text());
    case ValueType::kBytes: return AppendTagged(out, kTagBytes, value.text());
    case ValueType::kJson: return AppendTagged(out, kTagJson, value.text());
    case ValueType::kDate: return AppendInteger(out, kTagDate, value.int64_value());
    case ValueType::kTime: return AppendInteger(out, kTagTime, value.int64_value());
    case ValueType::kTimestamp: return AppendInteger(out, kTagTimestamp, value.int64_value());
    case ValueType::kTimestampTz: return AppendInteger(out, kTagTimestampTz, value.int64_value());
  }
}

void AppendExactValue(std::string& out, const Value& value) {
  if (value.type() == ValueType::kDecimal) {
    AppendTagged(out, kTagNumber, value.text());
  } else if (value.type() == ValueType::kDouble) {
    out += kTagDouble;
    AppendBigEndian64(out, std::bit_cast<uint64_t>(value.double_value()));
  } else {
    AppendKey(out, value);
  }
}

bool DecodeKey(std::string_view key, std::span<Value> out) {
  for (Value& value : out) {
    const std::optional<Value> next = TakeKeyValue(key);
    if (!next.has_value()) return false;
    value = *next;
  }
  return key.empty();
}

std::string PrintKey(std::string_view key) {
  std::string text;
  while (!key.empty()) {
    const std::optional<Value> value = TakeKeyValue(key);
    if (!text.empty()) text += ", ";
    if (!value.has_value()) return text += "?";
    if (value->type() == ValueType::kString) {
      text += Quoted(value->text());
    } else if (value->has_text()) {
      text += value->text();
    } else if (value->type() == ValueType::kBool) {
      text += value->bool_value() ? "true" : "false";
    } else if (value->missing()) {
      text += ValueTypeName(value->type());
    } else if (value->type() == ValueType::kDouble) {
      char buffer[32];
      text.append(buffer, DoubleToText(value->double_value(), buffer));
    } else {
      text += std::to_string(value->int64_value());
    }
  }
  return text;
}

}  // namespace weir::operators
