// A pattern is a sequence of items: a single-character class with or without a repetition, a capture's parenthesis, %b,
// %f, %1. Match walks along both texts and calls itself only where there is more than one way to go on.
#include "operators/script/pattern.h"

#include <cctype>

namespace weir::operators::script {
namespace {

constexpr int kDepthMax = 200;

bool InClass(unsigned char c, unsigned char name) {
  bool in = false;
  switch (std::tolower(name)) {
    case 'a': in = std::isalpha(c) != 0; break;
    case 'c': in = std::iscntrl(c) != 0; break;
    case 'd': in = std::isdigit(c) != 0; break;
    case 'g': in = std::isgraph(c) != 0; break;
    case 'l': in = std::islower(c) != 0; break;
    case 'p': in = std::ispunct(c) != 0; break;
    case 's': in = std::isspace(c) != 0; break;
    case 'u': in = std::isupper(c) != 0; break;
    case 'w': in = std::isalnum(c) != 0; break;
    case 'x': in = std::isxdigit(c) != 0; break;
    default: return name == c;
  }
  return std::isupper(name) != 0 ? !in : in;
}

unsigned char Byte(std::string_view text, size_t i) { return static_cast<unsigned char>(text[i]); }

}  // namespace

size_t PatternMatcher::Fail(Failure failure, const char* text) {
  if (failure_ == Failure::kNone) {
    failure_ = failure;
    text_ = text;
  }
  return kNone;
}

bool PatternMatcher::Step(size_t cost) {
  if (failure_ != Failure::kNone) return false;
  if (cost < until_question_) {
    until_question_ -= cost;
    return true;
  }
  until_question_ = kBetweenQuestions;
  if (stop_(context_)) Fail(Failure::kStopped, "stopped");
  return failure_ == Failure::kNone;
}

size_t PatternMatcher::MatchAt(size_t begin, size_t pattern_at) {
  if (pattern_.size() > kPatternBytesMax) return Fail(Failure::kTooComplex, "pattern too long");
  captures_ = 0;
  depth_ = 0;
  const size_t end = Match(begin, pattern_at);
  if (end == kNone) return kNone;
  for (size_t i = 0; i < captures_; ++i) {
    if (capture_[i].open) return Fail(Failure::kMalformed, "unfinished capture");
  }
  return end;
}

size_t PatternMatcher::Match(size_t s, size_t p) {
  if (depth_ >= kDepthMax) return Fail(Failure::kTooComplex, "pattern too complex");
  ++depth_;
  size_t result = kNone;
  while (Step()) {
    if (p == pattern_.size()) {
      result = s;
      break;
    }
    if (pattern_[p] == '$' && p + 1 == pattern_.size()) {
      result = s == subject_.size() ? s : kNone;
      break;
    }
    bool handled = false;
    result = MatchSpecial(s, p, &handled);
    if (handled) break;
    const size_t after = ItemEnd(p);
    if (after == kNone) break;
    const char repeat = after < pattern_.size() ? pattern_[after] : '\0';
    if (repeat == '*' || repeat == '+' || repeat == '-' || repeat == '?') {
      result = MatchItem(s, p, after);
      break;
    }
    if (!MatchesOne(s, p, after)) break;
    ++s;
    p = after;
  }
  --depth_;
  return failure_ == Failure::kNone ? result : kNone;
}

// What is no class: captures, %b, %f, back references.
size_t PatternMatcher::MatchSpecial(size_t s, size_t p, bool* handled) {
  *handled = true;
  const char c = pattern_[p];
  const char next = p + 1 < pattern_.size() ? pattern_[p + 1] : '\0';
  if (c == '(') return next == ')' ? OpenCapture(s, p + 2, true) : OpenCapture(s, p + 1, false);
  if (c == ')') return CloseCapture(s, p + 1);
  if (c == '%' && next == 'b') {
    const size_t end = MatchBalanced(s, p + 2);
    return end == kNone ? kNone : Match(end, p + 4);
  }
  if (c == '%' && next == 'f') {
    p += 2;
    if (p >= pattern_.size() || pattern_[p] != '[')
      return Fail(Failure::kMalformed, "missing '[' after '%f' in pattern");
    const size_t after = ItemEnd(p);
    if (after == kNone) return kNone;
    const unsigned char before = s == 0 ? 0 : Byte(subject_, s - 1);
    const unsigned char here = s < subject_.size() ? Byte(subject_, s) : 0;
    return !InSet(before, p, after - 1) && InSet(here, p, after - 1) ? Match(s, after) : kNone;
  }
  if (c == '%' && next >= '0' && next <= '9') {
    const size_t end = MatchBackReference(s, p + 1);
    return end == kNone ? kNone : Match(end, p + 2);
  }
  *handled = false;
  return kNone;
}

size_t PatternMatcher::MatchItem(size_t s, size_t p, size_t after) {
  switch (pattern_[after]) {
    case '?': {
      if (MatchesOne(s, p, after)) {
        const size_t end = Match(s + 1, after + 1);
        if (end != kNone) return end;
      }
      return Match(s, after + 1);
    }
    case '+': return Repeat(s, p, after, 1);
    case '*': return Repeat(s, p, after, 0);
    default: return RepeatShortest(s, p, after);
  }
}

size_t PatternMatcher::Repeat(size_t s, size_t p, size_t after, size_t least) {
  size_t count = 0;
  while (MatchesOne(s + count, p, after)) {
    if (!Step()) return kNone;
    ++count;
  }
  for (; count + 1 > least; --count) {
    const size_t end = Match(s + count, after + 1);
    if (end != kNone || failure_ != Failure::kNone) return end;
    if (count == 0) break;
  }
  return kNone;
}

size_t PatternMatcher::RepeatShortest(size_t s, size_t p, size_t after) {
  while (true) {
    const size_t end = Match(s, after + 1);
    if (end != kNone || failure_ != Failure::kNone) return end;
    if (!MatchesOne(s, p, after)) return kNone;
    ++s;
  }
}

size_t PatternMatcher::OpenCapture(size_t s, size_t p, bool position) {
  if (captures_ == kCapturesMax) return Fail(Failure::kMalformed, "too many captures");
  capture_[captures_++] = {s, 0, position, !position};
  const size_t end = Match(s, p);
  if (end == kNone) --captures_;
  return end;
}

size_t PatternMatcher::CloseCapture(size_t s, size_t p) {
  size_t i = captures_;
  while (i > 0 && !capture_[i - 1].open) --i;
  if (i == 0) return Fail(Failure::kMalformed, "invalid pattern capture");
  Capture& capture = capture_[i - 1];
  capture.open = false;
  capture.length = s - capture.begin;
  const size_t end = Match(s, p);
  if (end == kNone) capture.open = true;
  return end;
}

size_t PatternMatcher::MatchBalanced(size_t s, size_t p) {
  if (p + 1 >= pattern_.size()) return Fail(Failure::kMalformed, "missing arguments to '%b' in pattern");
  if (s >= subject_.size() || subject_[s] != pattern_[p]) return kNone;
  size_t depth = 1;
  while (++s < subject_.size()) {
    if (!Step()) return kNone;
    if (subject_[s] == pattern_[p + 1]) {
      if (--depth == 0) return s + 1;
    } else if (subject_[s] == pattern_[p]) {
      ++depth;
    }
  }
  return kNone;
}

size_t PatternMatcher::MatchBackReference(size_t s, size_t p) {
  const int number = pattern_[p] - '1';
  if (number < 0 || static_cast<size_t>(number) >= captures_ || capture_[static_cast<size_t>(number)].open) {
    return Fail(Failure::kMalformed, "invalid capture index in pattern");
  }
  const Capture& capture = capture_[static_cast<size_t>(number)];
  if (capture.position) return kNone;
  const std::string_view text = subject_.substr(capture.begin, capture.length);
  if (!Step(1 + text.size() / 16)) return kNone;
  return subject_.substr(s).starts_with(text) ? s + text.size() : kNone;
}

// One behind the class that begins at p.
size_t PatternMatcher::ItemEnd(size_t p) {
  if (pattern_[p] == '%') {
    return p + 1 < pattern_.size() ? p + 2 : Fail(Failure::kMalformed, "malformed pattern (ends with '%')");
  }
  if (pattern_[p] != '[') return p + 1;
  ++p;
  if (p < pattern_.size() && pattern_[p] == '^') ++p;
  do {  // a ']' that comes first stands for itself
    if (p >= pattern_.size()) return Fail(Failure::kMalformed, "malformed pattern (missing ']')");
    p += pattern_[p] == '%' ? 2U : 1U;
  } while (p >= pattern_.size() || pattern_[p] != ']');
  return p + 1;
}

bool PatternMatcher::MatchesOne(size_t s, size_t p, size_t after) const {
  if (s >= subject_.size()) return false;
  const unsigned char c = Byte(subject_, s);
  switch (pattern_[p]) {
    case '.': return true;
    case '%': return InClass(c, Byte(pattern_, p + 1));
    case '[': return InSet(c, p, after - 1);
    default: return Byte(pattern_, p) == c;
  }
}

// The set from '[' at p to ']' at `last`.
bool PatternMatcher::InSet(unsigned char c, size_t p, size_t last) const {
  bool found = true;
  ++p;
  if (pattern_[p] == '^') {
    found = false;
    ++p;
  }
  for (; p < last; ++p) {
    if (pattern_[p] == '%') {
      ++p;
      if (InClass(c, Byte(pattern_, p))) return found;
    } else if (p + 2 < last && pattern_[p + 1] == '-') {
      if (Byte(pattern_, p) <= c && c <= Byte(pattern_, p + 2)) return found;
      p += 2;
    } else if (Byte(pattern_, p) == c) {
      return found;
    }
  }
  return !found;
}

}  // namespace weir::operators::script
