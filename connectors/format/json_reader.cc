// The idea: simdjson's first stage lists the offset of each token ('{', '}', '[', ']', ':', ',', the start of each
// string and of each other scalar), having checked UTF-8, closed strings and control characters with vector
// instructions. Every token ends where the next begins, less white space. So one pass over the list is a parser: it
// sees each member's name and value as a piece of the text, and looks inside only where the value is wanted. When
// anything is not as it should be, the slow walk of json_text.h says what and where.
#include "connectors/format/json_reader.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/check.h"
#include "connectors/format/json_text.h"
#include "connectors/format/row_collector.h"

namespace weir::connectors {
namespace {

using operators::Arena;
using operators::Value;
using operators::ValueType;

static_assert(RowCollector::kPaddingBytes >= simdjson::SIMDJSON_PADDING);

enum class Outcome : uint8_t { kOk, kBroken, kShapeFull };

// Reads up to seven bytes behind `text`, which are there.
bool HasBackslash(std::string_view text) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kHigh = 0x8080808080808080;
  for (size_t at = 0; at < text.size(); at += 8) {
    uint64_t eight;
    std::memcpy(&eight, text.data() + at, 8);
    const uint64_t different = eight ^ kOnes * '\\';
    // May take a byte behind a backslash for one too, never the other way round.
    if (((different - kOnes) & ~different & kHigh) != 0 &&
        std::memchr(text.data() + at, '\\', text.size() - at) != nullptr) {
      return true;
    }
  }
  return false;
}

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace

struct JsonReader::Tokens {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> stage;
  size_t capacity = 0;
};

// One pass over the tokens of one text.
class JsonReader::Walk {
 public:
  Walk(std::string_view text, const uint32_t* starts, uint32_t count, Arena& arena)
      : text_(text),
        starts_(starts),
        count_(count),
        arena_(arena),
        escapes_(std::memchr(text.data(), '\\', text.size()) != nullptr) {}

  bool AtEnd() const { return at_ == count_; }
  char Peek() const { return at_ < count_ ? text_[starts_[at_]] : '\0'; }

  // The members of the object here: `take(position, name)` reads each value.
  template <class F>
  Outcome Object(F take) {
    if (!Take('{')) return Outcome::kBroken;
    if (Take('}')) return Outcome::kOk;
    for (size_t position = 0;; ++position) {
      if (Peek() != '"') return Outcome::kBroken;
      const std::string_view quoted = Token();
      ++at_;
      if (!Take(':') || quoted.size() < 2 || quoted.back() != '"') return Outcome::kBroken;
      std::string_view name = quoted.substr(1, quoted.size() - 2);
      if (!Unescaped(name)) return Outcome::kBroken;
      if (const Outcome outcome = take(position, name); outcome != Outcome::kOk) return outcome;
      if (Take('}')) return Outcome::kOk;
      if (!Take(',')) return Outcome::kBroken;
    }
  }

  Outcome Array(std::vector<Value>& elements) {
    if (!Take('[')) return Outcome::kBroken;
    if (Take(']')) return Outcome::kOk;
    while (true) {
      if (!TakeValue(elements.emplace_back())) return Outcome::kBroken;
      if (Take(']')) return Outcome::kOk;
      if (!Take(',')) return Outcome::kBroken;
    }
  }

  // `into` has a shape.
  Outcome Row(ObjectMember& into) {
    RowShape& shape = *into.shape;
    std::vector<Value>& row = into.row;
    row.assign(shape.size(), Value());
    into.is_row = true;
    into.any_column = false;
    return Object([&](size_t position, std::string_view name) {
      if (ObjectMember* const beside = FindMember(into.inside, name); beside != nullptr) return Member(*beside);
      into.any_column = true;
      const int32_t column = shape.ColumnOf(position, name);
      if (column < 0) {
        if (column == RowShape::kFull) return Outcome::kShapeFull;
        return Skip(1) ? Outcome::kOk : Outcome::kBroken;
      }
      const size_t index = static_cast<size_t>(column);
      if (index >= row.size()) row.resize(shape.size());
      return TakeValue(row[index]) ? Outcome::kOk : Outcome::kBroken;
    });
  }

  Outcome Members(std::span<ObjectMember> members) {
    return Object([&](size_t, std::string_view name) {
      ObjectMember* const member = FindMember(members, name);
      if (member != nullptr) return Member(*member);
      return Skip(1) ? Outcome::kOk : Outcome::kBroken;
    });
  }

 private:
  Outcome Member(ObjectMember& member) {
    member.is_row = false;
    ResetMembers(member.inside);
    if (Peek() != '{' || (member.shape == nullptr && member.inside.empty())) {
      return TakeValue(member.value) ? Outcome::kOk : Outcome::kBroken;
    }
    const size_t begin = starts_[at_];
    const Outcome outcome = member.shape != nullptr ? Row(member) : Members(member.inside);
    member.value = Value::Text(ValueType::kJson, Since(begin));
    return outcome;
  }

  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }

  // From the start of the token here to the start of the next one, less white space.
  std::string_view Token() const {
    const size_t begin = starts_[at_];
    size_t end = at_ + 1 < count_ ? starts_[at_ + 1] : text_.size();
    while (IsSpace(text_[end - 1])) --end;
    return text_.substr(begin, end - begin);
  }

  // From `begin` through the token before this one, which is a bracket.
  std::string_view Since(size_t begin) const { return text_.substr(begin, starts_[at_ - 1] + 1 - begin); }

  // Replaces the inside of a string by its meaning, in the arena if it has an escape.
  bool Unescaped(std::string_view& inside) {
    if (!escapes_ || !HasBackslash(inside)) return true;
    char* out = arena_.Allocate(inside.size());
    const std::optional<size_t> size = UnescapeJson(inside, out);
    arena_.Trim(out, size.value_or(0));
    if (!size.has_value()) return false;
    inside = {out, *size};
    return true;
  }

  bool TakeValue(Value& value) {
    const char first = Peek();
    if (first == '{' || first == '[') {
      const size_t begin = starts_[at_];
      if (!Skip(1)) return false;
      value = Value::Text(ValueType::kJson, Since(begin));
      return true;
    }
    if (at_ >= count_) return false;
    const std::string_view token = Token();
    ++at_;
    if (first == '"') {
      if (token.size() < 2 || token.back() != '"') return false;
      std::string_view inside = token.substr(1, token.size() - 2);
      if (!Unescaped(inside)) return false;
      value = Value::Text(ValueType::kString, inside);
      return true;
    }
    return TakeScalar(token, value);
  }

  static bool TakeScalar(std::string_view token, Value& value) {
    switch (token.front()) {
      case 't': value = Value::Bool(true); return token == "true";
      case 'f': value = Value::Bool(false); return token == "false";
      case 'n': value = Value::Null(); return token == "null";
      default: break;
    }
    const std::optional<Value> number = ParseJsonNumber(token);
    if (!number.has_value()) return false;
    value = *number;
    return true;
  }

  // Passes over the value here, checking it all the same: what is passed on as Json must be JSON.
  bool Skip(size_t depth) {
    if (depth > kJsonDepthMax || at_ >= count_) return false;
    switch (Peek()) {
      case '{':
        return Object([&](size_t, std::string_view) { return Skip(depth + 1) ? Outcome::kOk : Outcome::kBroken; }) ==
               Outcome::kOk;
      case '[':
        ++at_;
        if (Take(']')) return true;
        while (true) {
          if (!Skip(depth + 1)) return false;
          if (Take(']')) return true;
          if (!Take(',')) return false;
        }
      default: {
        Value ignored;
        return TakeValue(ignored);
      }
    }
  }

  const std::string_view text_;
  const uint32_t* const starts_;
  const uint32_t count_;
  Arena& arena_;
  const bool escapes_;  // anywhere in the text: most have none
  uint32_t at_ = 0;
};

JsonReader::JsonReader() : tokens_(std::make_unique<Tokens>()) {}
JsonReader::~JsonReader() = default;

namespace {

Status Broken(std::string_view text) {
  const std::optional<JsonProblem> problem = FindJsonProblem(text);
  std::string message = "not a JSON object";
  if (problem.has_value()) {
    message = "broken JSON at byte ";
    message += std::to_string(problem->offset);
    message += ": ";
    message += problem->what;
  }
  return Status::InvalidArgument(std::move(message));
}

}  // namespace

template <class F>
Status JsonReader::Read(std::string_view text, Arena& arena, std::span<ObjectMember> members, F walk) {
  constexpr size_t kDepthUnused = 1;  // only the second stage nests
  if (text.empty()) return Status::InvalidArgument("broken JSON at byte 0: the text is empty");
  if (text.size() > tokens_->capacity) {
    if (text.size() > simdjson::SIMDJSON_MAXSIZE_BYTES) return Status::InvalidArgument("longer than 4 GiB");
    const size_t capacity = std::max<size_t>(text.size() * 2, 16 * 1024);
    const simdjson::error_code error = tokens_->stage == nullptr
                                           ? simdjson::get_active_implementation()->create_dom_parser_implementation(
                                                 capacity, kDepthUnused, tokens_->stage)
                                           : tokens_->stage->set_capacity(capacity);
    if (error != simdjson::SUCCESS) return Status::ResourceExhausted(simdjson::error_message(error));
    tokens_->capacity = capacity;
  }
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  if (tokens_->stage->stage1(bytes, text.size(), simdjson::stage1_mode::regular) != simdjson::SUCCESS)
    return Broken(text);
  for (bool again = false;; again = true) {
    ResetMembers(members);
    Walk pass(text, tokens_->stage->structural_indexes.get(), tokens_->stage->n_structural_indexes, arena);
    const Outcome outcome = walk(pass);
    if (outcome == Outcome::kOk && pass.AtEnd()) break;
    if (outcome != Outcome::kShapeFull) return Broken(text);
    if (again) return Status::InvalidArgument("more than " + std::to_string(RowShape::kColumnsMax) + " members");
    ResetShapes(members);
  }
  FitRows(members);
  return Status::Ok();
}

Status JsonReader::ReadRow(std::string_view text, Arena& arena, ObjectMember& into) {
  return Read(text, arena, {&into, 1}, [&](Walk& pass) { return pass.Row(into); });
}

Status JsonReader::ReadMembers(std::string_view text, Arena& arena, std::span<ObjectMember> members) {
  return Read(text, arena, members, [&](Walk& pass) { return pass.Members(members); });
}

Status JsonReader::ReadArray(std::string_view text, Arena& arena, std::vector<Value>& elements) {
  return Read(text, arena, {}, [&](Walk& pass) {
    elements.clear();
    return pass.Array(elements);
  });
}

}  // namespace weir::connectors
