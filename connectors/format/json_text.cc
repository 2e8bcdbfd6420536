#include "connectors/format/json_text.h"

#include <cstdint>
#include <cstring>
#include <limits>

namespace weir::connectors {
namespace {

using operators::Value;
using operators::ValueType;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsJsonSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Four hexadecimal digits at `from`; nothing if there are none.
std::optional<uint32_t> HexQuad(std::string_view text, size_t from) {
  if (from + 4 > text.size()) return std::nullopt;
  uint32_t value = 0;
  for (size_t i = from; i < from + 4; ++i) {
    const char c = text[i];
    uint32_t digit = 0;
    if (IsDigit(c)) {
      digit = static_cast<uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<uint32_t>(c - 'a') + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<uint32_t>(c - 'A') + 10;
    } else {
      return std::nullopt;
    }
    value = value << 4 | digit;
  }
  return value;
}

size_t EncodeUtf8(uint32_t code, char* out) {
  const auto byte = [](uint32_t bits) { return static_cast<char>(static_cast<unsigned char>(bits)); };
  if (code < 0x80) {
    out[0] = byte(code);
    return 1;
  }
  if (code < 0x800) {
    out[0] = byte(0xC0 | code >> 6);
    out[1] = byte(0x80 | (code & 0x3F));
    return 2;
  }
  if (code < 0x10000) {
    out[0] = byte(0xE0 | code >> 12);
    out[1] = byte(0x80 | (code >> 6 & 0x3F));
    out[2] = byte(0x80 | (code & 0x3F));
    return 3;
  }
  out[0] = byte(0xF0 | code >> 18);
  out[1] = byte(0x80 | (code >> 12 & 0x3F));
  out[2] = byte(0x80 | (code >> 6 & 0x3F));
  out[3] = byte(0x80 | (code & 0x3F));
  return 4;
}

// The code point of the \u escape whose backslash is at `at`, which moves behind it (two escapes for a pair).
std::optional<uint32_t> UnicodeEscape(std::string_view text, size_t& at) {
  const std::optional<uint32_t> first = HexQuad(text, at + 2);
  if (!first.has_value()) return std::nullopt;
  at += 6;
  if (*first < 0xD800 || *first > 0xDFFF) return first;
  if (*first > 0xDBFF || at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
  const std::optional<uint32_t> second = HexQuad(text, at + 2);
  if (!second.has_value() || *second < 0xDC00 || *second > 0xDFFF) return std::nullopt;
  at += 6;
  return 0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00);
}

char SimpleEscape(char c) {
  switch (c) {
    case '"': return '"';
    case '\\': return '\\';
    case '/': return '/';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return 0;
  }
}

// Walks one value and remembers the first problem.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {}

  std::optional<JsonProblem> Walk() {
    Space();
    if (!WalkValue(0)) return problem_;
    Space();
    if (at_ != text_.size()) Expect("the end of the text");
    return problem_;
  }

 private:
  bool Fail(size_t offset, std::string what) {
    if (!problem_.has_value()) problem_ = JsonProblem{offset, std::move(what)};
    return false;
  }
  bool Expect(std::string_view expected) {
    std::string what = "expected ";
    what += expected;
    what += ", found ";
    if (at_ >= text_.size()) {
      what += "the end of the text";
    } else if (text_[at_] >= ' ' && text_[at_] < 0x7F) {
      what += '\'';
      what += text_[at_];
      what += '\'';
    } else {
      what += "byte ";
      what += std::to_string(static_cast<unsigned char>(text_[at_]));
    }
    return Fail(at_, std::move(what));
  }
  void Space() {
    while (at_ < text_.size() && IsJsonSpace(text_[at_])) ++at_;
  }
  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool WalkValue(size_t depth) {
    if (depth > kJsonDepthMax) return Fail(at_, "nested deeper than " + std::to_string(kJsonDepthMax));
    if (at_ >= text_.size()) return Expect("a value");
    switch (text_[at_]) {
      case '{': return WalkObject(depth);
      case '[': return WalkArray(depth);
      case '"': return WalkString();
      case 't': return WalkWord("true");
      case 'f': return WalkWord("false");
      case 'n': return WalkWord("null");
      default: return WalkNumber();
    }
  }

  bool WalkObject(size_t depth) {
    ++at_;
    Space();
    if (Take('}')) return true;
    while (true) {
      if (at_ >= text_.size() || text_[at_] != '"') return Expect("a member name in quotes");
      if (!WalkString()) return false;
      Space();
      if (!Take(':')) return Expect("':'");
      Space();
      if (!WalkValue(depth + 1)) return false;
      Space();
      if (Take('}')) return true;
      if (!Take(',')) return Expect("',' or '}'");
      Space();
    }
  }

  bool WalkArray(size_t depth) {
    ++at_;
    Space();
    if (Take(']')) return true;
    while (true) {
      if (!WalkValue(depth + 1)) return false;
      Space();
      if (Take(']')) return true;
      if (!Take(',')) return Expect("',' or ']'");
      Space();
    }
  }

  bool WalkWord(std::string_view word) {
    const std::string_view found = text_.substr(at_, word.size());
    if (found != word) return Fail(at_, "expected a value, found a word that is none of true, false, null");
    at_ += word.size();
    return true;
  }

  bool WalkNumber() {
    const size_t begin = at_;
    while (at_ < text_.size() && (IsDigit(text_[at_]) || text_[at_] == '-' || text_[at_] == '+' || text_[at_] == '.' ||
                                  text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
    }
    if (at_ == begin) return Expect("a value");
    if (ParseJsonNumber(text_.substr(begin, at_ - begin)).has_value()) return true;
    return Fail(begin, "expected a number, found '" +
                           std::string(text_.substr(begin, std::min<size_t>(at_ - begin, 40))) + "'");
  }

  bool WalkString() {
    const size_t begin = at_++;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20) return Expect("no control character inside a string");
      if (c == '\\') {
        if (at_ + 1 < text_.size() && SimpleEscape(text_[at_ + 1]) != 0) {
          at_ += 2;
          continue;
        }
        const size_t escape = at_;
        const bool unicode = at_ + 1 < text_.size() && text_[at_ + 1] == 'u';
        if (!unicode || !UnicodeEscape(text_, at_).has_value()) {
          return Fail(escape, unicode ? "a \\u escape without four hexadecimal digits, or half of a surrogate pair"
                                      : "an escape that JSON does not have");
        }
        continue;
      }
      const size_t length = Utf8SequenceLength(text_.substr(at_));
      if (length == 0) return Fail(at_, "invalid UTF-8");
      at_ += length;
    }
    return Fail(begin, "a string without its closing quote");
  }

  std::string_view text_;
  size_t at_ = 0;
  std::optional<JsonProblem> problem_;
};

}  // namespace

std::optional<Value> ParseJsonNumber(std::string_view token) {
  size_t at = 0;
  const size_t size = token.size();
  const bool negative = size > 0 && token[0] == '-';
  if (negative) at = 1;
  const size_t digits_begin = at;
  uint64_t magnitude = 0;
  while (at < size && IsDigit(token[at])) {
    magnitude = magnitude * 10 + static_cast<uint64_t>(token[at] - '0');
    ++at;
  }
  const size_t digits = at - digits_begin;
  if (digits == 0 || (digits > 1 && token[digits_begin] == '0')) return std::nullopt;
  if (at == size) {
    // 19 digits fit 64 unsigned bits; more than 19 (without leading zero) fit no int64.
    const uint64_t limit = uint64_t{std::numeric_limits<int64_t>::max()} + (negative ? 1 : 0);
    if (digits <= 19 && magnitude <= limit && !(negative && magnitude == 0)) {
      return Value::Int64(static_cast<int64_t>(negative ? ~magnitude + 1 : magnitude));
    }
    return Value::Text(ValueType::kDecimal, token);
  }
  if (token[at] == '.') {
    const size_t begin = ++at;
    while (at < size && IsDigit(token[at])) ++at;
    if (at == begin) return std::nullopt;
  }
  if (at < size && (token[at] == 'e' || token[at] == 'E')) {
    ++at;
    if (at < size && (token[at] == '+' || token[at] == '-')) ++at;
    const size_t begin = at;
    while (at < size && IsDigit(token[at])) ++at;
    if (at == begin) return std::nullopt;
  }
  if (at != size) return std::nullopt;
  return Value::Text(ValueType::kDecimal, token);
}

std::optional<size_t> UnescapeJson(std::string_view escaped, char* out) {
  char* to = out;
  size_t at = 0;
  while (at < escaped.size()) {
    const void* found = std::memchr(escaped.data() + at, '\\', escaped.size() - at);
    const size_t run =
        (found == nullptr ? escaped.size() : static_cast<size_t>(static_cast<const char*>(found) - escaped.data())) -
        at;
    if (run > 0) std::memcpy(to, escaped.data() + at, run);
    to += run;
    at += run;
    if (at == escaped.size()) break;
    if (at + 1 == escaped.size()) return std::nullopt;
    if (escaped[at + 1] == 'u') {
      const std::optional<uint32_t> code = UnicodeEscape(escaped, at);
      if (!code.has_value()) return std::nullopt;
      to += EncodeUtf8(*code, to);
      continue;
    }
    const char c = SimpleEscape(escaped[at + 1]);
    if (c == 0) return std::nullopt;
    *to++ = c;
    at += 2;
  }
  return static_cast<size_t>(to - out);
}

std::optional<JsonProblem> FindJsonProblem(std::string_view text) { return Walker(text).Walk(); }

}  // namespace weir::connectors
