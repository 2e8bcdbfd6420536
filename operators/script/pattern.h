// Lua's patterns ("^(%d+)-(%a*)$") matched with a bound: the interpreter's own matcher backtracks in C, where nothing
// can stop it. Same language, same results; every step is counted and the caller is asked now and then whether to go
// on. Pure but for that question; any thread. Nothing here allocates or knows of Lua.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::operators::script {

class PatternMatcher {
 public:
  static constexpr size_t kCapturesMax = 32;
  static constexpr size_t kPatternBytesMax = 8192;
  static constexpr size_t kNone = static_cast<size_t>(-1);

  enum class Failure : uint8_t { kNone, kMalformed, kTooComplex, kStopped };
  struct Capture {
    size_t begin = 0;
    size_t length = 0;
    bool position = false;  // "()": the place itself
    bool open = false;
  };
  // True: give up.
  using Stop = bool (*)(void* context);

  PatternMatcher(std::string_view subject, std::string_view pattern, Stop stop, void* context)
      : subject_(subject), pattern_(pattern), stop_(stop), context_(context) {}

  // The end of the match of the pattern (from `pattern_at` on) that begins at `begin`; kNone: there is none, or
  // failure() says why nobody knows.
  size_t MatchAt(size_t begin, size_t pattern_at);
  Failure failure() const { return failure_; }
  const char* failure_text() const { return text_; }
  size_t captures() const { return captures_; }
  const Capture& capture(size_t i) const { return capture_[i]; }

 private:
  static constexpr size_t kBetweenQuestions = 4096;

  size_t Match(size_t s, size_t p);
  size_t MatchItem(size_t s, size_t p, size_t after);
  size_t Repeat(size_t s, size_t p, size_t after, size_t least);
  size_t RepeatShortest(size_t s, size_t p, size_t after);
  size_t OpenCapture(size_t s, size_t p, bool position);
  size_t CloseCapture(size_t s, size_t p);
  size_t MatchBalanced(size_t s, size_t p);
  size_t MatchBackReference(size_t s, size_t p);
  size_t MatchSpecial(size_t s, size_t p, bool* handled);
  size_t ItemEnd(size_t p);
  bool MatchesOne(size_t s, size_t p, size_t after) const;
  bool InSet(unsigned char c, size_t p, size_t last) const;
  // False: give up. `cost` is in characters looked at.
  bool Step(size_t cost = 1);
  size_t Fail(Failure failure, const char* text);

  const std::string_view subject_;
  const std::string_view pattern_;
  const Stop stop_;
  void* const context_;
  std::array<Capture, kCapturesMax> capture_ = {};
  size_t captures_ = 0;
  int depth_ = 0;
  size_t until_question_ = kBetweenQuestions;
  Failure failure_ = Failure::kNone;
  const char* text_ = "";
};

}  // namespace weir::operators::script
