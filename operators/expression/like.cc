// LIKE with one point of return: after a % the text is tried from each of its characters on; a later % makes the
// earlier one final, so the work is at most text times pattern.
#include "operators/expression/evaluate.h"

namespace weir::operators::expression {
namespace {

size_t CharacterBytes(std::string_view text) {
  size_t n = 1;
  while (n < text.size() && (static_cast<unsigned char>(text[n]) & 0xC0U) == 0x80U) ++n;
  return n;
}

char Fold(char c, bool ignore_case) { return ignore_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

class Matcher {
 public:
  Matcher(std::string_view text, std::string_view pattern, std::string_view escape, bool ignore_case)
      : text_(text), pattern_(pattern), escape_(escape), ignore_case_(ignore_case) {}

  // False: the pattern ends in its escape.
  bool Run(bool* matches) {
    *matches = false;
    while (!text_.empty()) {
      if (AtWildcard()) {
        const Step step = TakeWildcards();
        if (step == Step::kBroken) return false;
        if (step != Step::kGoOn) {
          *matches = step == Step::kMatch;
          return true;
        }
        continue;
      }
      const Step step = TakeOne();
      if (step == Step::kBroken) return false;
      if (step == Step::kGoOn) continue;
      if (!have_return_ || return_text_.empty()) return true;
      return_text_.remove_prefix(CharacterBytes(return_text_));
      if (return_text_.empty()) return true;
      text_ = return_text_;
      pattern_ = return_pattern_;
    }
    while (AtWildcard()) pattern_.remove_prefix(1);
    *matches = pattern_.empty();
    return true;
  }

 private:
  enum class Step { kGoOn, kMatch, kNoMatch, kBroken };

  bool AtEscape() const { return !escape_.empty() && pattern_.starts_with(escape_); }
  bool AtWildcard() const { return !AtEscape() && pattern_.starts_with('%'); }

  // A run of % and _ that begins with %.
  Step TakeWildcards() {
    while (!pattern_.empty() && !AtEscape() && (pattern_.front() == '%' || pattern_.front() == '_')) {
      if (pattern_.front() == '_') {
        if (text_.empty()) return Step::kNoMatch;
        text_.remove_prefix(CharacterBytes(text_));
      }
      pattern_.remove_prefix(1);
    }
    if (pattern_.empty()) return Step::kMatch;
    if (AtEscape() && pattern_.size() == escape_.size()) return Step::kBroken;
    if (text_.empty()) return Step::kNoMatch;
    have_return_ = true;
    return_text_ = text_;
    return_pattern_ = pattern_;
    return Step::kGoOn;
  }

  // One character of both.
  Step TakeOne() {
    if (pattern_.empty()) return Step::kNoMatch;
    bool literal = false;
    if (AtEscape()) {
      if (pattern_.size() == escape_.size()) return Step::kBroken;
      pattern_.remove_prefix(escape_.size());
      literal = true;
    }
    if (!literal && pattern_.front() == '_') {
      pattern_.remove_prefix(1);
      text_.remove_prefix(CharacterBytes(text_));
      return Step::kGoOn;
    }
    if (Fold(pattern_.front(), ignore_case_) != Fold(text_.front(), ignore_case_)) return Step::kNoMatch;
    pattern_.remove_prefix(1);
    text_.remove_prefix(1);
    return Step::kGoOn;
  }

  std::string_view text_;
  std::string_view pattern_;
  std::string_view escape_;
  bool ignore_case_;
  bool have_return_ = false;
  std::string_view return_text_;
  std::string_view return_pattern_;
};

}  // namespace

bool MatchLike(std::string_view text, std::string_view pattern, std::string_view escape, bool ignore_case,
               bool* matches) {
  return Matcher(text, pattern, escape, ignore_case).Run(matches);
}

}  // namespace weir::operators::expression
