// From an expression's text to its checked tree. Pure; any thread.
#pragma once

#include <memory>
#include <string_view>

#include "base/status.h"
#include "operators/expression/ast.h"

namespace weir::operators::expression {

// Invalid argument with the column, what was expected and what was found, and the line with a caret.
Result<std::unique_ptr<Tree>> ParseTree(std::string_view text);

}  // namespace weir::operators::expression
