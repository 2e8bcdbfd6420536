// Random expressions of a given type over the columns of the test's table, nested up to four levels, in both spellings:
// ours, and PostgreSQL's where the two differ on purpose (an integer literal is a bigint here; docs/expressions.md).
// The same seed gives the same expressions.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace weir::integration {

enum class Kind : uint8_t { kBool, kBigint, kNumeric, kDouble, kText, kDate, kTimestamp, kTimestampTz };
inline constexpr int kKinds = 8;

// One expression: `unfolded` is PostgreSQL's with every literal behind a subselect, so that nothing is evaluated at
// planning.
struct Spelled {
  std::string ours;
  std::string postgres;
  std::string unfolded;
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  Spelled Any() { return Make(static_cast<Kind>(Below(kKinds)), 4); }
  size_t Below(size_t bound) { return random_() % bound; }

 private:
  Spelled Make(Kind kind, int depth);
  Spelled Leaf(Kind kind);
  Spelled Literal(Kind kind);
  Spelled Bool(int depth);
  Spelled Comparison(int depth);
  Spelled Bigint(int depth);
  Spelled Integer(int depth);  // 32 bits in PostgreSQL: arguments of functions
  Spelled Numeric(int depth);
  Spelled Double(int depth);
  Spelled Text(int depth);
  Spelled Date(int depth);
  Spelled Timestamp(Kind kind, int depth);
  Spelled Shared(Kind kind, int depth);  // what every type has: CASE, COALESCE, ...
  // A string literal next to a column of another type.
  Spelled LiteralOfUnknownType();

  // "$1", "$2" stand for the parts; now and then in parentheses.
  Spelled Fill(std::string_view pattern, const std::vector<Spelled>& parts);
  Spelled Operator(std::string_view pattern, const std::vector<Spelled>& parts);
  std::string_view Pick(std::initializer_list<std::string_view> choices);

  std::mt19937_64 random_;
};

}  // namespace weir::integration
