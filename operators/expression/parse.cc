#include "operators/expression/parse.h"

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "operators/expression/builder.h"
#include "operators/expression/grammar.tab.h"
#include "operators/expression/lexer.h"

namespace weir::operators::expression {
namespace {

using Symbol = Grammar::symbol_kind;

bool Contains(const std::vector<Grammar::symbol_kind_type>& kinds, Grammar::symbol_kind_type kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

// The tokens that may come next, in a person's words: not thirty tokens but "an expression" or "an operator".
std::string Expectation(const std::vector<Grammar::symbol_kind_type>& kinds) {
  struct Word {
    Grammar::symbol_kind_type kind;
    std::string_view text;
  };
  constexpr auto kWords = std::to_array<Word>({{Symbol::S_AND, "AND"},
                                               {Symbol::S_THEN, "THEN"},
                                               {Symbol::S_WHEN, "WHEN"},
                                               {Symbol::S_ELSE, "ELSE"},
                                               {Symbol::S_END, "END"},
                                               {Symbol::S_AS, "AS"},
                                               {Symbol::S_FROM, "FROM"},
                                               {Symbol::S_IN, "IN"},
                                               {Symbol::S_DISTINCT, "DISTINCT FROM"},
                                               {Symbol::S_NOT, "NOT"},
                                               {Symbol::S_BETWEEN, "BETWEEN"},
                                               {Symbol::S_LIKE, "LIKE"},
                                               {Symbol::S_NULL, "NULL"},
                                               {Symbol::S_TRUE, "TRUE"},
                                               {Symbol::S_FALSE, "FALSE"},
                                               {Symbol::S_UNKNOWN, "UNKNOWN"}});
  std::vector<std::string> words;
  const bool expression = Contains(kinds, Symbol::S_NUMBER) && Contains(kinds, Symbol::S_CASE);
  const bool operators = Contains(kinds, Symbol::S_CONCAT);
  if (expression) words.emplace_back("an expression");
  if (operators) words.emplace_back("an operator");
  if (!expression && Contains(kinds, Symbol::S_IDENTIFIER)) words.emplace_back("a name");
  if (!expression && Contains(kinds, Symbol::S_STRING)) words.emplace_back("a string");
  if (!expression && Contains(kinds, Symbol::S_NUMBER)) words.emplace_back("a number");
  for (const Grammar::symbol_kind_type kind : kinds) {
    const std::string name = Grammar::symbol_name(kind);
    if (name == "'('" && !expression) words.emplace_back("(");
    if (name == "')'") words.emplace_back(")");
    if (name == "','") words.emplace_back(",");
  }
  for (const Word& word : kWords) {
    const bool part_of_operator = operators && word.kind != Symbol::S_THEN && word.kind != Symbol::S_WHEN &&
                                  word.kind != Symbol::S_ELSE && word.kind != Symbol::S_END &&
                                  word.kind != Symbol::S_AS && word.kind != Symbol::S_FROM;
    if (!expression && !part_of_operator && Contains(kinds, word.kind)) words.emplace_back(word.text);
  }
  if (Contains(kinds, Symbol::S_YYEOF)) words.emplace_back("the end");
  std::string result;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) result.append(i + 1 == words.size() ? " or " : ", ");
    result.append(words[i]);
  }
  return result.empty() ? "something else" : result;
}

}  // namespace

// Called by the generated parser.
void Grammar::report_syntax_error(const context& found_context) const {
  const Range range = found_context.lookahead().location;
  std::array<symbol_kind_type, symbol_kind::YYNTOKENS> buffer{};
  const int count = found_context.expected_tokens(buffer.data(), static_cast<int>(buffer.size()));
  std::string message = "expected " + Expectation({buffer.begin(), buffer.begin() + count}) + ", found ";
  const std::string_view found = builder.text().substr(range.begin, range.end - range.begin);
  if (found.empty()) {
    message.append("the end");
  } else {
    message.append(found.front() == '\'' || found.front() == '"' ? "" : "\"").append(found.substr(0, 40));
    message.append(found.front() == '\'' || found.front() == '"' ? "" : "\"");
  }
  builder.Problem(range, message);
}

void Grammar::error(const Range& range, const std::string& message) { builder.Problem(range, message); }

Result<std::unique_ptr<Tree>> ParseTree(std::string_view text) {
  auto tree = std::make_unique<Tree>();
  tree->text = text;
  WEIR_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(*tree));
  Builder builder(*tree, std::move(tokens));
  try {
    Grammar grammar(builder);
    const int failed = grammar.parse();
    if (failed != 0 && !builder.problem()) return Error(Status::InvalidArgument("not an expression"));
  } catch (const std::exception& exception) {
    return Error(Status::Internal(std::string("the parser failed: ") + exception.what()));
  }
  if (builder.problem()) return Error(Status::InvalidArgument(*builder.problem()));
  return tree;
}

}  // namespace weir::operators::expression
