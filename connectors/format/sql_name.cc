#include "connectors/format/sql_name.h"

#include <cstdint>
#include <optional>

namespace weir::connectors {
namespace {

constexpr size_t kHexDigitsMin = 2;
constexpr size_t kHexDigitsMax = 8;

std::optional<uint32_t> HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint32_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<uint32_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<uint32_t>(c - 'A' + 10);
  return std::nullopt;
}

// What a name can hold: neither NUL nor half of a surrogate pair.
bool IsCodePoint(uint32_t code) { return code != 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff); }

void AppendUtf8(uint32_t code, std::string& out) {
  const auto tail = [&](uint32_t shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

// The length of the escape at the front of `text`, which is then appended as what it means; 0: there is none.
size_t Unescape(std::string_view text, std::string& out) {
  constexpr std::string_view kBegin = "_u";
  if (!text.starts_with(kBegin)) return 0;
  size_t at = kBegin.size();
  uint32_t code = 0;
  while (at < text.size() && at - kBegin.size() < kHexDigitsMax) {
    const std::optional<uint32_t> digit = HexDigit(text[at]);
    if (!digit.has_value()) break;
    code = code << 4 | *digit;
    ++at;
  }
  if (at - kBegin.size() < kHexDigitsMin || at == text.size() || text[at] != '_' || !IsCodePoint(code)) return 0;
  AppendUtf8(code, out);
  return at + 1;
}

}  // namespace

std::string UnescapeSqlName(std::string_view name) {
  std::string out;
  out.reserve(name.size());
  while (!name.empty()) {
    const size_t taken = Unescape(name, out);
    if (taken == 0) out += name.front();
    name.remove_prefix(taken == 0 ? 1 : taken);
  }
  return out;
}

std::string_view LastPart(std::string_view dotted) {
  const size_t point = dotted.rfind('.');
  return point == std::string_view::npos ? dotted : dotted.substr(point + 1);
}

const std::string& TopicTables::TableOf(std::string_view topic) {
  if (topic == topic_) [[likely]]
    return table_;
  topic_ = topic;
  std::string_view name = topic;
  if (name.starts_with(prefix_)) name.remove_prefix(prefix_.size());
  table_ = UnescapeSqlName(LastPart(name));
  return table_;
}

}  // namespace weir::connectors
