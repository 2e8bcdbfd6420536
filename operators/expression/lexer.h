// Cuts an expression's text into tokens. Words are told apart here: which are keywords, which stand in front of a
// parenthesis or a string and so begin a special form ("DATE '2024-01-01'", "position(a IN b)"), so that everything
// else, also "date" or "position", can be a column's name. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "operators/expression/ast.h"

namespace weir::operators::expression {

struct Token {
  int kind = 0;           // Grammar::token::...
  std::string_view text;  // as written; of a string or a quoted identifier: without quotes, doubled ones made one
  Range range;
};

// The last token is the end of the text. Errors name the column and show it. Made texts go to the tree's arena.
Result<std::vector<Token>> Tokenize(Tree& tree);

// "column 17: <message>" and below it the line with a caret; of a long line some 100 characters around it.
std::string MessageAt(std::string_view text, size_t offset, std::string_view message);

std::string LowerAscii(std::string_view text);

}  // namespace weir::operators::expression
