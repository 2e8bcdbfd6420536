#include "operators/row_text.h"

#include <cmath>

#include "base/json_escape.h"
#include "operators/decimal.h"
#include "operators/temporal.h"

namespace weir::operators {
namespace {

constexpr char kHex[] = "0123456789abcdef";

void AppendHexBytes(std::string& out, std::string_view bytes) {
  out += "\"\\\\x";
  for (const char c : bytes) {
    out += kHex[static_cast<unsigned char>(c) >> 4];
    out += kHex[static_cast<unsigned char>(c) & 15];
  }
  out += '"';
}

void AppendDoubleText(std::string& out, double value) {
  char buffer[32];
  const std::string_view text(buffer, DoubleToText(value, buffer));
  if (std::isfinite(value)) {
    out += text;
  } else {
    AppendJsonString(out, text);
  }
}

}  // namespace

void AppendValueAsJson(std::string& out, const Value& value) {
  switch (value.type()) {
    case ValueType::kAbsent:
    case ValueType::kNull: out += "null"; return;
    case ValueType::kBool: out += value.bool_value() ? "true" : "false"; return;
    case ValueType::kInt64: out += std::to_string(value.int64_value()); return;
    case ValueType::kDecimal:
      if (value.text().find_first_of("Ny") == std::string_view::npos) {
        out += value.text();
      } else {
        AppendJsonString(out, value.text());
      }
      return;
    case ValueType::kDouble: AppendDoubleText(out, value.double_value()); return;
    case ValueType::kString: AppendJsonString(out, value.text()); return;
    case ValueType::kBytes: AppendHexBytes(out, value.text()); return;
    case ValueType::kJson: out += value.text(); return;
    case ValueType::kDate:
    case ValueType::kTime:
    case ValueType::kTimestamp:
    case ValueType::kTimestampTz: {
      char buffer[kTemporalTextMax];
      AppendJsonString(out, {buffer, TemporalToText(value.type(), value.int64_value(), buffer)});
      return;
    }
  }
}

void AppendRowAsJson(std::string& out, const Batch& batch, size_t row) {
  out += '{';
  bool first = true;
  for (size_t c = 0; c < batch.columns(); ++c) {
    if (batch.at(row, c).absent()) continue;
    if (!first) out += ',';
    first = false;
    AppendJsonString(out, batch.schema()->columns()[c]);
    out += ':';
    AppendValueAsJson(out, batch.at(row, c));
  }
  out += '}';
}

}  // namespace weir::operators
