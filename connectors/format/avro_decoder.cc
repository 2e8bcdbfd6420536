#include "connectors/format/avro_decoder.h"

#include <bit>
#include <cstring>
#include <limits>
#include <optional>

#include "base/json_escape.h"
#include "connectors/format/avro_decimal.h"
#include "connectors/format/json_text.h"
#include "connectors/format/json_writer.h"

namespace weir::connectors {
namespace {

using operators::Value;
using operators::ValueType;

template <class Bits, class Float>
double FloatOf(std::string_view bytes) {
  Bits bits;
  std::memcpy(&bits, bytes.data(), sizeof(bits));
  if constexpr (std::endian::native == std::endian::big) bits = std::byteswap(bits);
  return static_cast<double>(std::bit_cast<Float>(bits));
}

}  // namespace

bool AvroDecoder::Fail(std::string what) {
  if (problem_.empty()) problem_ = std::move(what);
  return false;
}

bool AvroDecoder::Long(int64_t& number) {
  uint64_t bits = 0;
  for (uint32_t shift = 0; shift < 64 && at_ < bytes_.size(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes_[at_++]);
    if (shift == 63 && byte > 1) return Fail("a number of more than 64 bits");
    bits |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) != 0) continue;
    number = static_cast<int64_t>(bits >> 1 ^ (0 - (bits & 1)));
    return true;
  }
  return Fail("the record ends in a number");
}

bool AvroDecoder::Bytes(size_t size, std::string_view& bytes) {
  if (size > bytes_.size() - at_) {
    return Fail(std::to_string(size) + " bytes are announced, " + std::to_string(bytes_.size() - at_) + " are left");
  }
  bytes = bytes_.substr(at_, size);
  at_ += size;
  return true;
}

bool AvroDecoder::SizedBytes(std::string_view& bytes) {
  int64_t size = 0;
  if (!Long(size)) return false;
  if (size < 0) return Fail("a length below zero");
  return Bytes(static_cast<size_t>(size), bytes);
}

const AvroType* AvroDecoder::Resolve(const AvroType& type) {
  if (type.kind != AvroKind::kUnion) return &type;
  int64_t branch = 0;
  if (!Long(branch)) return nullptr;
  if (branch >= 0 && static_cast<size_t>(branch) < type.types.size()) return type.types[static_cast<size_t>(branch)];
  Fail("branch " + std::to_string(branch) + " of a union with " + std::to_string(type.types.size()));
  return nullptr;
}

bool AvroDecoder::Row(const AvroType& record, ObjectMember& into) {
  RowShape& shape = *into.shape;
  into.row.assign(shape.size(), Value());
  into.is_row = true;
  into.any_column = !record.fields.empty();
  for (size_t position = 0; position < record.fields.size(); ++position) {
    const AvroField& field = record.fields[position];
    if (ObjectMember* const beside = FindMember(into.inside, field.name); beside != nullptr) {
      if (!Member(*field.type, *beside)) return false;
      continue;
    }
    const int32_t column = shape.ColumnOf(position, field.name);
    if (column == RowShape::kFull) {
      shape_full_ = true;
      return false;
    }
    Value passed_over;
    if (column >= 0 && static_cast<size_t>(column) >= into.row.size()) into.row.resize(shape.size());
    if (!Take(*field.type, column < 0 ? passed_over : into.row[static_cast<size_t>(column)])) return false;
  }
  return true;
}

bool AvroDecoder::Members(const AvroType& record, std::span<ObjectMember> members) {
  for (const AvroField& field : record.fields) {
    ObjectMember* const member = FindMember(members, field.name);
    Value passed_over;
    if (member == nullptr ? !Take(*field.type, passed_over) : !Member(*field.type, *member)) return false;
  }
  return true;
}

bool AvroDecoder::Member(const AvroType& type, ObjectMember& member) {
  const AvroType* const chosen = Resolve(type);
  if (chosen == nullptr) return false;
  const bool nested = member.shape != nullptr || !member.inside.empty();
  if (!nested || chosen->kind != AvroKind::kRecord) return Take(*chosen, member.value);
  member.value = Value::Text(ValueType::kJson, {});
  return member.shape != nullptr ? Row(*chosen, member) : Members(*chosen, member.inside);
}

bool AvroDecoder::Take(const AvroType& type, Value& value) {
  const AvroType* const chosen = Resolve(type);
  if (chosen == nullptr) return false;
  switch (chosen->kind) {
    case AvroKind::kArray:
    case AvroKind::kMap:
    case AvroKind::kRecord:
      scratch_.clear();
      if (!Json(*chosen, scratch_)) return false;
      value = Value::Text(ValueType::kJson, arena_.Copy(scratch_));
      return true;
    default: return TakeScalar(*chosen, value);
  }
}

bool AvroDecoder::TakeScalar(const AvroType& type, Value& value) {
  std::string_view bytes;
  switch (type.kind) {
    case AvroKind::kNull: value = Value::Null(); return true;
    case AvroKind::kBoolean:
      if (!Bytes(1, bytes)) return false;
      value = Value::Bool(bytes[0] != 0);
      return static_cast<uint8_t>(bytes[0]) <= 1 || Fail("a boolean that is neither 0 nor 1");
    case AvroKind::kInt:
    case AvroKind::kLong: return TakeInteger(type, value);
    case AvroKind::kFloat:
      if (!Bytes(4, bytes)) return false;
      value = Value::Double(FloatOf<uint32_t, float>(bytes));
      return true;
    case AvroKind::kDouble:
      if (!Bytes(8, bytes)) return false;
      value = Value::Double(FloatOf<uint64_t, double>(bytes));
      return true;
    case AvroKind::kEnum: {
      int64_t symbol = 0;
      if (!Long(symbol)) return false;
      if (symbol < 0 || static_cast<size_t>(symbol) >= type.symbols.size()) return Fail("no such symbol of an enum");
      // The schema lives as long as the reader, a batch may live longer.
      value = Value::Text(ValueType::kString, arena_.Copy(type.symbols[static_cast<size_t>(symbol)]));
      return true;
    }
    default: return TakeText(type, value);
  }
}

bool AvroDecoder::TakeInteger(const AvroType& type, Value& value) {
  constexpr int64_t kMicrosPerMs = 1000;
  constexpr int64_t kMicrosPerDay = 86'400'000'000;
  int64_t number = 0;
  if (!Long(number)) return false;
  if (type.kind == AvroKind::kInt && number != static_cast<int32_t>(number)) return Fail("an int of more than 32 bits");
  const auto millis = [&](ValueType temporal) {
    int64_t micros = 0;
    if (__builtin_mul_overflow(number, kMicrosPerMs, &micros)) return Fail("a timestamp out of range");
    value = Value::Temporal(temporal, micros);
    return true;
  };
  const auto time = [&](int64_t micros) {
    value = Value::Temporal(ValueType::kTime, micros);
    return (micros >= 0 && micros <= kMicrosPerDay) || Fail("a time that is none of a day");
  };
  switch (type.meaning) {
    case AvroMeaning::kDate: value = Value::Temporal(ValueType::kDate, number); return true;
    case AvroMeaning::kTimeMillis: return time(number * kMicrosPerMs);
    case AvroMeaning::kTimeMicros: return time(number);
    case AvroMeaning::kTimestampMillis: return millis(ValueType::kTimestampTz);
    case AvroMeaning::kLocalTimestampMillis: return millis(ValueType::kTimestamp);
    case AvroMeaning::kTimestampMicros: value = Value::Temporal(ValueType::kTimestampTz, number); return true;
    case AvroMeaning::kLocalTimestampMicros: value = Value::Temporal(ValueType::kTimestamp, number); return true;
    default: value = Value::Int64(number); return true;
  }
}

bool AvroDecoder::TakeText(const AvroType& type, Value& value) {
  std::string_view bytes;
  if (type.kind == AvroKind::kFixed ? !Bytes(type.fixed_bytes, bytes) : !SizedBytes(bytes)) return false;
  if (type.meaning == AvroMeaning::kDecimal) return TakeDecimal(type, bytes, value);
  value = Value::Text(ValueType::kBytes, bytes);
  if (type.kind != AvroKind::kString) return true;
  if (!IsUtf8(bytes)) return Fail("a string that is not UTF-8");
  if (type.meaning == AvroMeaning::kJson) return TakeJsonb(bytes, value);
  const bool is_decimal =
      type.meaning == AvroMeaning::kDecimalText &&
      (bytes == "NaN" || bytes == "Infinity" || bytes == "-Infinity" || ParseJsonNumber(bytes).has_value());
  value = Value::Text(is_decimal ? ValueType::kDecimal : ValueType::kString, bytes);
  return true;
}

bool AvroDecoder::TakeDecimal(const AvroType& type, std::string_view bytes, Value& value) {
  if (bytes.size() > kDecimalBytesMax) return Fail("a decimal of " + std::to_string(bytes.size()) + " bytes");
  value = Value::Text(ValueType::kDecimal, arena_.Copy(DecimalText(bytes, type.scale)));
  return true;
}

// As JsonReader reads the column's value in a JSON message.
bool AvroDecoder::TakeJsonb(std::string_view text, Value& value) {
  if (const std::optional<JsonProblem> problem = FindJsonProblem(text); problem.has_value()) {
    return Fail("a JSONB column with broken JSON: " + problem->what);
  }
  const size_t begin = text.find_first_not_of(" \t\r\n");
  text = text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
  switch (text.front()) {
    case '"': {
      char* const out = arena_.Allocate(text.size());
      const std::optional<size_t> size = UnescapeJson(text.substr(1, text.size() - 2), out);
      value = Value::Text(ValueType::kString, {out, size.value_or(0)});
      return size.has_value() || Fail("a JSONB string with a broken escape");
    }
    case 't':
    case 'f': value = Value::Bool(text.front() == 't'); return true;
    case '{':
    case '[':
    case 'n': value = Value::Text(ValueType::kJson, text); return true;
    default: value = ParseJsonNumber(text).value_or(Value::Text(ValueType::kJson, text)); return true;
  }
}

bool AvroDecoder::Json(const AvroType& type, std::string& out, size_t depth) {
  if (depth > kJsonDepthMax) return Fail("nested too deeply");
  const AvroType* const chosen = Resolve(type);
  if (chosen == nullptr) return false;
  if (chosen->kind == AvroKind::kArray || chosen->kind == AvroKind::kMap) return JsonElements(*chosen, out, depth);
  if (chosen->kind != AvroKind::kRecord) {
    Value value;
    if (!TakeScalar(*chosen, value)) return false;
    AppendJsonValue(value, out);
    return true;
  }
  out += '{';
  for (const AvroField& field : chosen->fields) {
    if (&field != chosen->fields.data()) out += ',';
    AppendJsonString(out, field.name);
    out += ':';
    if (!Json(*field.type, out, depth + 1)) return false;
  }
  out += '}';
  return true;
}

// Blocks of elements, each with their number in front (below zero: and its bytes), until one of none.
bool AvroDecoder::JsonElements(const AvroType& type, std::string& out, size_t depth) {
  const bool map = type.kind == AvroKind::kMap;
  out += map ? '{' : '[';
  for (bool first = true;;) {
    int64_t count = 0;
    int64_t ignored = 0;
    if (!Long(count) || (count < 0 && !Long(ignored))) return false;
    if (count == 0) break;
    // The smallest int64 has no opposite; it is far more than there can be.
    for (uint64_t left = count < 0 ? 0 - static_cast<uint64_t>(count) : static_cast<uint64_t>(count); left > 0;
         --left) {
      const size_t begin = at_;
      std::string_view key;
      if (!first) out += ',';
      first = false;
      if (map) {
        if (!SizedBytes(key)) return false;
        if (!IsUtf8(key)) return Fail("a map's key that is not UTF-8");
        AppendJsonString(out, key);
        out += ':';
      }
      if (!Json(*type.types[0], out, depth + 1)) return false;
      if (at_ == begin) return Fail("elements without bytes");
    }
  }
  out += map ? '}' : ']';
  return true;
}

}  // namespace weir::connectors
