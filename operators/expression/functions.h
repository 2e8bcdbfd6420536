// The functions that an expression can call by name. Set up at compile time; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "operators/expression/ast.h"

namespace weir::operators::expression {

class Evaluator;

struct Call {
  Evaluator& evaluator;
  const Node& node;
  std::span<const Value> args;
};

struct Function {
  std::string_view name;
  size_t args_min = 0;
  size_t args_max = 0;  // at most kArgumentsMax, but for a function that takes nulls
  std::optional<ValueType> result;
  // Called with arguments none of which is null; false after Evaluator::Fail. Null for a function that takes nulls
  // itself (concat).
  bool (*evaluate)(const Call& call, Value* out) = nullptr;
};

inline constexpr size_t kArgumentsMax = 3;

// Null if there is none. `name` in lower case.
const Function* FindFunction(std::string_view name);
// The name that is nearest to a misspelled one, or empty.
std::string_view SuggestFunction(std::string_view name);

// text_functions.cc
bool Lower(const Call& call, Value* out);
bool Upper(const Call& call, Value* out);
bool Length(const Call& call, Value* out);
bool Substring(const Call& call, Value* out);
bool TrimBoth(const Call& call, Value* out);
bool TrimLeft(const Call& call, Value* out);
bool TrimRight(const Call& call, Value* out);
bool Replace(const Call& call, Value* out);
bool StrPos(const Call& call, Value* out);
bool Left(const Call& call, Value* out);
bool Right(const Call& call, Value* out);
bool SplitPart(const Call& call, Value* out);
bool KindOfRow(const Call& call, Value* out);

// number_functions.cc
bool Abs(const Call& call, Value* out);
bool Round(const Call& call, Value* out);
bool Trunc(const Call& call, Value* out);
bool Floor(const Call& call, Value* out);
bool Ceil(const Call& call, Value* out);
bool Mod(const Call& call, Value* out);
bool Sign(const Call& call, Value* out);
bool ToTimestamp(const Call& call, Value* out);

}  // namespace weir::operators::expression
