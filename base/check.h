// Broken invariants: a failed check prints where, what and both values, and aborts, in release too.
// Never used for what input, disk or network can cause: that is a Status (base/status.h).
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

namespace weir::check_internal {

[[noreturn]] void Fail(const char* file, int line, const char* expression, const std::string& values);

template <class T>
std::string Print(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<long long>(value));
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    return std::string(std::string_view(value));
  } else {
    return "?";
  }
}

template <class A, class B>
[[noreturn]] void FailCompare(const char* file, int line, const char* expression, const A& a, const B& b) {
  std::string values = Print(a);
  values += " against ";
  values += Print(b);
  Fail(file, line, expression, values);
}

}  // namespace weir::check_internal

#define WEIR_CHECK(condition)                                           \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      ::weir::check_internal::Fail(__FILE__, __LINE__, #condition, {}); \
  } while (false)

#define WEIR_CHECK_COMPARE(a, op, b)                                                                \
  do {                                                                                              \
    const auto& weir_a_ = (a);                                                                      \
    const auto& weir_b_ = (b);                                                                      \
    if (!(weir_a_ op weir_b_)) [[unlikely]]                                                         \
      ::weir::check_internal::FailCompare(__FILE__, __LINE__, #a " " #op " " #b, weir_a_, weir_b_); \
  } while (false)

#define WEIR_CHECK_EQ(a, b) WEIR_CHECK_COMPARE(a, ==, b)
#define WEIR_CHECK_NE(a, b) WEIR_CHECK_COMPARE(a, !=, b)
#define WEIR_CHECK_LT(a, b) WEIR_CHECK_COMPARE(a, <, b)
#define WEIR_CHECK_LE(a, b) WEIR_CHECK_COMPARE(a, <=, b)
#define WEIR_CHECK_GT(a, b) WEIR_CHECK_COMPARE(a, >, b)
#define WEIR_CHECK_GE(a, b) WEIR_CHECK_COMPARE(a, >=, b)
