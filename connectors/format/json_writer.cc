// The idea: bound the row's length first, grow the buffer once, then write through a bare pointer.
#include "connectors/format/json_writer.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/json_escape.h"

namespace weir::connectors {
namespace {

using operators::RowKind;
using operators::Value;
using operators::ValueType;

constexpr size_t kFixedBytesMax = 48;  // of any value without text
constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr int64_t kSecondsPerDay = 86'400;

char* Put(char* to, std::string_view text) {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

char* PutInt(char* to, int64_t number) { return std::to_chars(to, to + 20, number).ptr; }

char* PutPadded(char* to, uint64_t number, int digits) {
  for (int i = digits - 1; i >= 0; --i) {
    to[i] = static_cast<char>('0' + number % 10);
    number /= 10;
  }
  return to + digits;
}

char* PutBase64(char* to, std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto at = [&](size_t i) {
    return i < bytes.size() ? static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) : 0U;
  };
  *to++ = '"';
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const uint32_t three = at(i) << 16 | at(i + 1) << 8 | at(i + 2);
    to[0] = kDigits[three >> 18];
    to[1] = kDigits[three >> 12 & 63];
    to[2] = i + 1 < bytes.size() ? kDigits[three >> 6 & 63] : '=';
    to[3] = i + 2 < bytes.size() ? kDigits[three & 63] : '=';
    to += 4;
  }
  *to++ = '"';
  return to;
}

// Proleptic Gregorian, after Howard Hinnant's days-from-civil turned round; years before 0 have a minus.
char* PutDate(char* to, int64_t days) {
  days += 719'468;  // from 0000-03-01
  const int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const int64_t day_of_era = days - era * 146'097;
  const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t shifted_month = (5 * day_of_year + 2) / 153;
  const int64_t day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
  const int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  if (year < 0) {
    *to++ = '-';
    year = -year;
  }
  to = year > 9999 ? PutInt(to, year) : PutPadded(to, static_cast<uint64_t>(year), 4);
  *to++ = '-';
  to = PutPadded(to, static_cast<uint64_t>(month), 2);
  *to++ = '-';
  return PutPadded(to, static_cast<uint64_t>(day), 2);
}

char* PutTime(char* to, int64_t micros) {
  const int64_t seconds = micros / kMicrosPerSecond;
  to = PutPadded(to, static_cast<uint64_t>(seconds / 3600), 2);
  *to++ = ':';
  to = PutPadded(to, static_cast<uint64_t>(seconds / 60 % 60), 2);
  *to++ = ':';
  to = PutPadded(to, static_cast<uint64_t>(seconds % 60), 2);
  if (const int64_t fraction = micros % kMicrosPerSecond; fraction != 0) {
    *to++ = '.';
    to = PutPadded(to, static_cast<uint64_t>(fraction), 6);
  }
  return to;
}

char* PutTemporal(char* to, const Value& value) {
  constexpr int64_t kMicrosPerDay = kSecondsPerDay * kMicrosPerSecond;
  *to++ = '"';
  const int64_t units = value.int64_value();
  if (value.type() == ValueType::kDate) {
    to = PutDate(to, units);
  } else if (value.type() == ValueType::kTime) {
    to = PutTime(to, units);
  } else {
    int64_t days = units / kMicrosPerDay;
    int64_t micros = units % kMicrosPerDay;
    if (micros < 0) {
      micros += kMicrosPerDay;
      --days;
    }
    to = PutDate(to, days);
    *to++ = 'T';
    to = PutTime(to, micros);
    if (value.type() == ValueType::kTimestampTz) *to++ = 'Z';
  }
  *to++ = '"';
  return to;
}

char* PutDouble(char* to, double number) {
  if (std::isnan(number)) return Put(to, "\"NaN\"");
  if (std::isinf(number)) return Put(to, number < 0 ? "\"-Infinity\"" : "\"Infinity\"");
  return std::to_chars(to, to + 40, number).ptr;
}

// A line must stay a line: what breaks it in a json value is white space between tokens.
char* PutJson(char* to, std::string_view text) {
  char* const end = Put(to, text);
  for (char* c = to; c != end; ++c) {
    if (*c == '\n' || *c == '\r') *c = ' ';
  }
  return end;
}

char* PutDecimal(char* to, std::string_view text) {
  const char last = text.empty() ? '\0' : text.back();
  if (last >= '0' && last <= '9') return Put(to, text);
  *to++ = '"';  // NaN, Infinity, -Infinity
  to = Put(to, text);
  *to++ = '"';
  return to;
}

char* PutValue(char* to, const Value& value) {
  switch (value.type()) {
    case ValueType::kAbsent:
    case ValueType::kNull: return Put(to, "null");
    case ValueType::kBool: return Put(to, value.bool_value() ? "true" : "false");
    case ValueType::kInt64: return PutInt(to, value.int64_value());
    case ValueType::kDecimal: return PutDecimal(to, value.text());
    case ValueType::kDouble: return PutDouble(to, value.double_value());
    case ValueType::kString: return PutJsonString(to, value.text());
    case ValueType::kBytes: return PutBase64(to, value.text());
    case ValueType::kDate:
    case ValueType::kTime:
    case ValueType::kTimestamp:
    case ValueType::kTimestampTz: return PutTemporal(to, value);
    case ValueType::kJson: return PutJson(to, value.text());
  }
  return to;
}

// At least what PutValue writes.
size_t BytesMax(const Value& value) {
  switch (value.type()) {
    case ValueType::kString: return JsonStringBytesMax(value.text());
    case ValueType::kBytes: return value.text().size() / 3 * 4 + 6;
    case ValueType::kDecimal:
    case ValueType::kJson: return value.text().size() + 2;
    default: return kFixedBytesMax;
  }
}

// `write(char*)` gets room for `bytes_max` bytes behind `out` and returns its end.
template <class F>
void Grow(std::string& out, size_t bytes_max, F write) {
  const size_t before = out.size();
  out.resize_and_overwrite(before + bytes_max, [&](char* buffer, size_t) {
    const size_t size = static_cast<size_t>(write(buffer + before) - buffer);
    WEIR_CHECK_LE(size, before + bytes_max);
    return size;
  });
}

}  // namespace

void AppendJsonValue(const Value& value, std::string& out) {
  Grow(out, BytesMax(value), [&](char* to) { return PutValue(to, value); });
}

void AppendPlainValue(const Value& value, std::string& out) {
  if (value.has_text()) {
    out += value.text();
    return;
  }
  const size_t begin = out.size();
  AppendJsonValue(value, out);
  if (out[begin] != '"') return;  // dates, times, NaN: nothing in them is escaped
  out.pop_back();
  out.erase(begin, 1);
}

JsonWriter::JsonWriter(std::string row_kind_column) : row_kind_column_(std::move(row_kind_column)) {
  if (row_kind_column_.empty()) return;
  row_kind_name_ = ",";
  AppendJsonString(row_kind_name_, row_kind_column_);
  row_kind_name_ += ":\"";
}

void JsonWriter::UseSchema(const operators::SchemaPtr& schema) {
  schema_ = schema;
  row_kind_clash_ = row_kind_column_.empty() ? std::nullopt : schema->Find(row_kind_column_);
  names_.clear();
  names_bytes_ = 0;
  for (const std::string& column : schema->columns()) {
    std::string name = ",";
    AppendJsonString(name, column);
    name += ':';
    names_bytes_ += name.size();
    names_.push_back(std::move(name));
  }
}

Status JsonWriter::Append(const operators::Batch& batch, size_t row, std::string& out) {
  if (batch.schema() != schema_) UseSchema(batch.schema());
  const RowKind kind = batch.kind(row);
  if (row_kind_name_.empty() && operators::IsRetraction(kind)) {
    if (kind == RowKind::kUpdateBefore) return Status::Ok();
    return Status::InvalidArgument(
        "a deletion (-D) reached a sink that writes plain rows: name a member for the row's kind in row-kind-column, "
        "or "
        "filter deletions out");
  }
  const Value* values = batch.row(row);
  if (row_kind_clash_.has_value() && !values[*row_kind_clash_].absent()) {
    return Status::InvalidArgument("the row has a column \"" + row_kind_column_ +
                                   "\" of its own, which row-kind-column names: expected another name");
  }
  Write(values, operators::RowKindName(kind), out);
  return Status::Ok();
}

void JsonWriter::AppendObject(const operators::Batch& batch, size_t row, std::string& out) {
  if (batch.schema() != schema_) UseSchema(batch.schema());
  Write(batch.row(row), {}, out);
}

void JsonWriter::Write(const Value* values, std::string_view kind, std::string& out) {
  size_t bytes_max = names_bytes_ + row_kind_name_.size() + 8;
  for (size_t c = 0; c < names_.size(); ++c) bytes_max += BytesMax(values[c]);
  Grow(out, bytes_max, [&](char* to) {
    char* const begin = to;
    for (size_t c = 0; c < names_.size(); ++c) {
      if (values[c].absent()) continue;
      to = Put(to, names_[c]);
      to = PutValue(to, values[c]);
    }
    if (!row_kind_name_.empty() && !kind.empty()) {
      to = Put(to, row_kind_name_);
      to = Put(to, kind);
      *to++ = '"';
    }
    if (to == begin) ++to;
    *begin = '{';  // in the place of the first comma
    *to++ = '}';
    return to;
  });
}

}  // namespace weir::connectors
