#include "operators/expression/lexer.h"

#include <algorithm>
#include <array>
#include <optional>

#include "operators/expression/conversion.h"
#include "operators/expression/grammar.tab.h"

namespace weir::operators::expression {
namespace {

using Kind = Grammar::token;

struct Keyword {
  std::string_view word;
  int kind;
};
// Never a plain name.
constexpr auto kReserved = std::to_array<Keyword>({
    {"and", Kind::T_AND},     {"as", Kind::T_AS},     {"between", Kind::T_BETWEEN},
    {"case", Kind::T_CASE},   {"cast", Kind::T_CAST}, {"distinct", Kind::T_DISTINCT},
    {"else", Kind::T_ELSE},   {"end", Kind::T_END},   {"escape", Kind::T_ESCAPE},
    {"false", Kind::T_FALSE}, {"for", Kind::T_FOR},   {"from", Kind::T_FROM},
    {"ilike", Kind::T_ILIKE}, {"in", Kind::T_IN},     {"is", Kind::T_IS},
    {"like", Kind::T_LIKE},   {"not", Kind::T_NOT},   {"null", Kind::T_NULL},
    {"or", Kind::T_OR},       {"then", Kind::T_THEN}, {"true", Kind::T_TRUE},
    {"when", Kind::T_WHEN},
});
// Special only in front of "(".
constexpr auto kForms = std::to_array<Keyword>({
    {"coalesce", Kind::T_COALESCE},
    {"nullif", Kind::T_NULLIF},
    {"greatest", Kind::T_GREATEST},
    {"least", Kind::T_LEAST},
    {"position", Kind::T_POSITION},
    {"substring", Kind::T_SUBSTRING},
    {"trim", Kind::T_TRIM},
    {"extract", Kind::T_EXTRACT},
});

template <size_t N>
std::optional<int> FindWord(const std::array<Keyword, N>& words, std::string_view word) {
  for (const Keyword& keyword : words) {
    if (keyword.word == word) return keyword.kind;
  }
  return std::nullopt;
}

bool IsWordStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (static_cast<unsigned char>(c) & 0x80U) != 0;
}
bool IsNumeral(char c) { return c >= '0' && c <= '9'; }
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

class Lexer {
 public:
  explicit Lexer(Tree& tree) : tree_(tree), text_(tree.text) {}

  Result<std::vector<Token>> Run() {
    while (true) {
      WEIR_RETURN_IF_ERROR(SkipBlanks());
      if (at_ == text_.size()) break;
      WEIR_RETURN_IF_ERROR(Next());
    }
    Add(Kind::T_END_OF_TEXT, at_, {});
    TellWordsApart();
    return std::move(tokens_);
  }

 private:
  char Peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  Status Problem(size_t offset, std::string_view message) {
    return Status::InvalidArgument(MessageAt(text_, offset, message));
  }
  void Add(int kind, size_t begin, std::string_view text) { tokens_.push_back({kind, text, {begin, at_}}); }

  Status SkipBlanks() {
    while (at_ < text_.size()) {
      if (IsBlank(Peek())) {
        ++at_;
      } else if (Peek() == '-' && Peek(1) == '-') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (Peek() == '/' && Peek(1) == '*') {
        const size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) return Problem(at_, "this comment has no end, expected */");
        at_ = end + 2;
      } else {
        break;
      }
    }
    return Status::Ok();
  }

  Status Next() {
    const char c = Peek();
    if (IsWordStart(c)) return Word();
    if (IsNumeral(c) || (c == '.' && IsNumeral(Peek(1)))) return Number();
    if (c == '\'') return Quoted('\'', Kind::T_STRING, "string");
    if (c == '"') return Quoted('"', Kind::T_QUOTED, "quoted name");
    return Symbol();
  }

  Status Word() {
    const size_t begin = at_;
    while (at_ < text_.size() && (IsWordStart(Peek()) || IsNumeral(Peek()) || Peek() == '$')) ++at_;
    Add(Kind::T_IDENTIFIER, begin, text_.substr(begin, at_ - begin));
    return Status::Ok();
  }

  Status Number() {
    const size_t begin = at_;
    while (IsNumeral(Peek())) ++at_;
    if (Peek() == '.') {
      ++at_;
      while (IsNumeral(Peek())) ++at_;
    }
    if (Peek() == 'e' || Peek() == 'E') {
      const size_t sign = Peek(1) == '+' || Peek(1) == '-' ? 1 : 0;
      if (IsNumeral(Peek(1 + sign))) {
        at_ += 1 + sign;
        while (IsNumeral(Peek())) ++at_;
      }
    }
    if (IsWordStart(Peek()) || Peek() == '.') return Problem(at_, "expected the number to end here");
    Add(Kind::T_NUMBER, begin, text_.substr(begin, at_ - begin));
    return Status::Ok();
  }

  Status Quoted(char quote, int kind, std::string_view what) {
    const size_t begin = at_++;
    std::string content;
    while (true) {
      const size_t end = text_.find(quote, at_);
      if (end == std::string_view::npos) {
        return Problem(begin, "this " + std::string(what) + " has no end, expected a closing " + quote);
      }
      content.append(text_.substr(at_, end - at_));
      at_ = end + 1;
      if (Peek() != quote) break;
      content.push_back(quote);
      ++at_;
    }
    if (quote == '"' && content.empty()) return Problem(begin, "a quoted name is not empty");
    if (content.find('\0') != std::string::npos) return Problem(begin, "a zero byte is not allowed here");
    Add(kind, begin, tree_.arena.Copy(content));
    return Status::Ok();
  }

  Status Symbol() {
    struct Pair {
      std::string_view text;
      int kind;
    };
    constexpr auto kPairs = std::to_array<Pair>({{"<=", Kind::T_LESS_EQUAL},
                                                 {">=", Kind::T_GREATER_EQUAL},
                                                 {"<>", Kind::T_NOT_EQUAL},
                                                 {"!=", Kind::T_NOT_EQUAL},
                                                 {"||", Kind::T_CONCAT},
                                                 {"::", Kind::T_TYPECAST}});
    const size_t begin = at_;
    for (const Pair& pair : kPairs) {
      if (text_.substr(at_, 2) == pair.text) {
        at_ += 2;
        Add(pair.kind, begin, pair.text);
        return Status::Ok();
      }
    }
    if (std::string_view("+-*/%<>=(),.").find(Peek()) == std::string_view::npos) {
      std::string message = "unexpected character '";
      message.push_back(Peek());
      return Problem(at_, message + "'");
    }
    ++at_;
    Add(static_cast<unsigned char>(text_[begin]), begin, text_.substr(begin, 1));
    return Status::Ok();
  }

  // The second pass: a word's kind depends on its neighbours.
  void TellWordsApart() {
    for (size_t i = 0; i + 1 < tokens_.size(); ++i) {
      Token& token = tokens_[i];
      if (token.kind != Kind::T_IDENTIFIER) continue;
      if (i > 0 && tokens_[i - 1].kind == '.') continue;  // a.end
      const std::string word = LowerAscii(token.text);
      const Token& next = tokens_[i + 1];
      if (const auto reserved = FindWord(kReserved, word)) {
        token.kind = *reserved;
      } else if (const auto form = FindWord(kForms, word); form && next.kind == '(') {
        token.kind = *form;
      } else if (next.kind == Kind::T_STRING &&
                 (word == "date" || word == "time" || word == "timestamp" || word == "timestamptz")) {
        token.kind = Kind::T_TYPED;
      } else if (word == "timestamp") {
        JoinZoneWords(i);
      } else if (word == "unknown" && i > 0 && (tokens_[i - 1].kind == Kind::T_IS || IsNotAfterIs(i - 1))) {
        token.kind = Kind::T_UNKNOWN;
      } else if (word == "symmetric" && i > 0 && tokens_[i - 1].kind == Kind::T_BETWEEN) {
        token.kind = Kind::T_SYMMETRIC;
      } else if (i > 1 && tokens_[i - 1].kind == '(' && tokens_[i - 2].kind == Kind::T_TRIM && !EndsName(next)) {
        if (word == "both") token.kind = Kind::T_BOTH;
        if (word == "leading") token.kind = Kind::T_LEADING;
        if (word == "trailing") token.kind = Kind::T_TRAILING;
      }
    }
    for (size_t i = 0; i + 1 < tokens_.size(); ++i) {
      const int next = tokens_[i + 1].kind;
      if (tokens_[i].kind == Kind::T_NOT &&
          (next == Kind::T_IN || next == Kind::T_BETWEEN || next == Kind::T_LIKE || next == Kind::T_ILIKE)) {
        tokens_[i].kind = Kind::T_NOT_BEFORE;
      }
    }
  }

  bool IsNotAfterIs(size_t i) const {
    return i > 0 && tokens_[i].kind == Kind::T_NOT && tokens_[i - 1].kind == Kind::T_IS;
  }
  // After "trim(both": then "both" was a column.
  static bool EndsName(const Token& next) { return next.kind == ')' || next.kind == ',' || next.kind == '.'; }

  // TIMESTAMP WITH TIME ZONE '...' is one type word in front of a string.
  void JoinZoneWords(size_t i) {
    if (i + 4 >= tokens_.size() || tokens_[i + 4].kind != Kind::T_STRING) return;
    const std::string with = LowerAscii(tokens_[i + 1].text);
    if ((with != "with" && with != "without") || LowerAscii(tokens_[i + 2].text) != "time" ||
        LowerAscii(tokens_[i + 3].text) != "zone") {
      return;
    }
    tokens_[i].kind = Kind::T_TYPED;
    tokens_[i].text = with == "with" ? "timestamptz" : "timestamp";
    tokens_.erase(tokens_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                  tokens_.begin() + static_cast<std::ptrdiff_t>(i) + 4);
  }

  Tree& tree_;
  std::string_view text_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::string LowerAscii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return lower;
}

std::string MessageAt(std::string_view text, size_t offset, std::string_view message) {
  constexpr size_t kShownBefore = 60;  // characters
  constexpr size_t kShownBehind = 40;
  offset = std::min(offset, text.size());
  const size_t line_begin = offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;
  const size_t line_end = std::min(text.find('\n', offset), text.size());
  const std::string_view line = text.substr(line_begin, line_end - line_begin);
  const size_t column = CountCharacters(line.substr(0, offset - line_begin));
  std::string result;
  if (line_begin != 0)
    result.append("line ")
        .append(std::to_string(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n') + 1))
        .append(", ");
  result.append("column ").append(std::to_string(column + 1)).append(": ").append(message);
  // Of a long line what is around the column.
  const size_t first = column > kShownBefore ? column - kShownBefore : 0;
  const size_t begin = CharacterOffset(line, first);
  const size_t end = CharacterOffset(line, column + kShownBehind);
  const std::string_view cut = begin > 0 ? "..." : "";
  result.append("\n  ").append(cut).append(line.substr(begin, end - begin)).append(end < line.size() ? "..." : "");
  result.append("\n  ").append(cut.size() + column - first, ' ').append("^");
  return result;
}

Result<std::vector<Token>> Tokenize(Tree& tree) { return Lexer(tree).Run(); }

}  // namespace weir::operators::expression
