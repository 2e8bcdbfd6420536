// Functions of text. Positions and lengths count characters of UTF-8; case is that of ASCII.
#include <algorithm>
#include <cstddef>

#include "operators/expression/conversion.h"
#include "operators/expression/evaluate.h"

namespace weir::operators::expression {
namespace {

bool TakeText(const Call& call, size_t index, std::string_view* text) {
  const Value& value = call.args[index];
  if (value.type() != ValueType::kString) return call.evaluator.FailType(*call.node.args[index], "text", value);
  *text = value.text();
  return true;
}

// PostgreSQL's integer arguments are 32 bits wide.
bool TakeInteger(const Call& call, size_t index, int64_t* integer) {
  const Value& value = call.args[index];
  if (value.type() != ValueType::kInt64) return call.evaluator.FailType(*call.node.args[index], "an integer", value);
  *integer = value.int64_value();
  if (*integer < INT32_MIN || *integer > INT32_MAX)
    return call.evaluator.Fail(*call.node.args[index], "integer out of range");
  return true;
}

bool Give(std::string_view text, Value* out) {
  *out = Value::Text(ValueType::kString, text);
  return true;
}

bool ChangeCase(const Call& call, char first, int shift, Value* out) {
  std::string_view text;
  if (!TakeText(call, 0, &text)) return false;
  char* changed = call.evaluator.arena().Allocate(text.size());
  std::transform(text.begin(), text.end(), changed,
                 [&](char c) { return c >= first && c < first + 26 ? static_cast<char>(c + shift) : c; });
  return Give({changed, text.size()}, out);
}

size_t FirstCharacter(std::string_view text) { return CharacterOffset(text, 1); }
size_t LastCharacter(std::string_view text) {
  size_t n = text.size() - 1;
  while (n > 0 && (static_cast<unsigned char>(text[n]) & 0xC0U) == 0x80U) --n;
  return text.size() - n;
}

bool Trim(const Call& call, bool left, bool right, Value* out) {
  std::string_view text;
  std::string_view set = " ";
  if (!TakeText(call, 0, &text) || (call.args.size() > 1 && !TakeText(call, 1, &set))) return false;
  const auto in_set = [&](std::string_view character) {
    for (std::string_view rest = set; !rest.empty(); rest.remove_prefix(FirstCharacter(rest))) {
      if (rest.substr(0, FirstCharacter(rest)) == character) return true;
    }
    return false;
  };
  while (left && !text.empty() && in_set(text.substr(0, FirstCharacter(text))))
    text.remove_prefix(FirstCharacter(text));
  while (right && !text.empty() && in_set(text.substr(text.size() - LastCharacter(text))))
    text.remove_suffix(LastCharacter(text));
  return Give(text, out);
}

}  // namespace

bool Lower(const Call& call, Value* out) { return ChangeCase(call, 'A', 32, out); }
bool Upper(const Call& call, Value* out) { return ChangeCase(call, 'a', -32, out); }
bool TrimBoth(const Call& call, Value* out) { return Trim(call, true, true, out); }
bool TrimLeft(const Call& call, Value* out) { return Trim(call, true, false, out); }
bool TrimRight(const Call& call, Value* out) { return Trim(call, false, true, out); }

bool Length(const Call& call, Value* out) {
  std::string_view text;
  if (!TakeText(call, 0, &text)) return false;
  *out = Value::Int64(static_cast<int64_t>(CountCharacters(text)));
  return true;
}

bool Substring(const Call& call, Value* out) {
  std::string_view text;
  int64_t start = 0;
  int64_t length = INT32_MAX;
  if (!TakeText(call, 0, &text)) return false;
  if (call.args[1].type() == ValueType::kString) {
    return call.evaluator.Fail(*call.node.args[1], "expected an integer: substring by pattern is not available");
  }
  if (!TakeInteger(call, 1, &start)) return false;
  if (call.args.size() > 2 && !TakeInteger(call, 2, &length)) return false;
  if (length < 0) return call.evaluator.Fail(call.node, "a substring's length must not be negative");
  const int64_t end = call.args.size() > 2 ? start + length : INT64_MAX;
  if (end < 1) return Give({}, out);
  const int64_t begin = std::max<int64_t>(start, 1);
  const size_t from = CharacterOffset(text, static_cast<size_t>(begin - 1));
  text.remove_prefix(from);
  return Give(text.substr(0, CharacterOffset(text, static_cast<size_t>(std::max<int64_t>(end - begin, 0)))), out);
}

bool Replace(const Call& call, Value* out) {
  std::string_view text;
  std::string_view from;
  std::string_view to;
  if (!TakeText(call, 0, &text) || !TakeText(call, 1, &from) || !TakeText(call, 2, &to)) return false;
  if (from.empty()) return Give(text, out);
  size_t count = 0;
  for (size_t at = text.find(from); at != std::string_view::npos; at = text.find(from, at + from.size())) ++count;
  if (count == 0) return Give(text, out);
  const size_t size = text.size() - count * from.size() + count * to.size();
  constexpr size_t kTextMax = size_t{1} << 30U;
  if (size > kTextMax) return call.evaluator.Fail(call.node, "the text would be longer than 1 GiB");
  char* made = call.evaluator.arena().Allocate(size);
  char* p = made;
  size_t begin = 0;
  for (size_t at = text.find(from); at != std::string_view::npos; at = text.find(from, begin)) {
    const std::string_view between = text.substr(begin, at - begin);
    p = std::copy(between.begin(), between.end(), p);
    p = std::copy(to.begin(), to.end(), p);
    begin = at + from.size();
  }
  std::copy(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), p);
  return Give({made, size}, out);
}

bool StrPos(const Call& call, Value* out) {
  std::string_view text;
  std::string_view part;
  if (!TakeText(call, 0, &text) || !TakeText(call, 1, &part)) return false;
  const size_t at = text.find(part);
  *out = Value::Int64(at == std::string_view::npos ? 0 : static_cast<int64_t>(CountCharacters(text.substr(0, at))) + 1);
  return true;
}

bool Left(const Call& call, Value* out) {
  std::string_view text;
  int64_t count = 0;
  if (!TakeText(call, 0, &text) || !TakeInteger(call, 1, &count)) return false;
  if (count < 0) count = std::max<int64_t>(static_cast<int64_t>(CountCharacters(text)) + count, 0);
  return Give(text.substr(0, CharacterOffset(text, static_cast<size_t>(count))), out);
}

bool Right(const Call& call, Value* out) {
  std::string_view text;
  int64_t count = 0;
  if (!TakeText(call, 0, &text) || !TakeInteger(call, 1, &count)) return false;
  const auto length = static_cast<int64_t>(CountCharacters(text));
  const int64_t skipped = count < 0 ? std::min(-count, length) : std::max<int64_t>(length - count, 0);
  return Give(text.substr(CharacterOffset(text, static_cast<size_t>(skipped))), out);
}

bool SplitPart(const Call& call, Value* out) {
  std::string_view text;
  std::string_view delimiter;
  int64_t field = 0;
  if (!TakeText(call, 0, &text) || !TakeText(call, 1, &delimiter) || !TakeInteger(call, 2, &field)) return false;
  if (field == 0) return call.evaluator.Fail(call.node, "a field's position must not be zero");
  if (text.empty()) return Give({}, out);
  if (delimiter.empty()) return Give(field == 1 || field == -1 ? text : std::string_view(), out);
  if (field < 0) {
    int64_t fields = 1;
    for (size_t at = text.find(delimiter); at != std::string_view::npos;
         at = text.find(delimiter, at + delimiter.size()))
      ++fields;
    field += fields + 1;
    if (field < 1) return Give({}, out);
  }
  for (; field > 1; --field) {
    const size_t at = text.find(delimiter);
    if (at == std::string_view::npos) return Give({}, out);
    text.remove_prefix(at + delimiter.size());
  }
  return Give(text.substr(0, text.find(delimiter)), out);
}

bool KindOfRow(const Call& call, Value* out) { return Give(RowKindName(call.evaluator.row_kind()), out); }

}  // namespace weir::operators::expression
