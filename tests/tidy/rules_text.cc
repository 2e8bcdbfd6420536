#include <algorithm>
#include <regex>
#include <utility>

#include "tests/tidy/rules.h"

namespace weir::tidy {
namespace {

constexpr int kFunctionLines = 70;
constexpr int kHeaderLines = 250;
constexpr int kSourceLines = 500;
constexpr int kLineCharacters = 120;

// A text that this file must not hold as one piece, because the rules look at it too.
std::string Joined(std::string_view a, std::string_view b) {
  std::string all(a);
  all += b;
  return all;
}

// Characters, not bytes, of UTF-8.
int CharactersOf(std::string_view line) {
  return static_cast<int>(
      std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string StripTemplateHead(std::string head) {
  while (head.starts_with("template")) {
    int depth = 0;
    size_t at = head.find('<');
    if (at == std::string::npos) return head;
    do {
      depth += head[at] == '<' ? 1 : head[at] == '>' ? -1 : 0;
      ++at;
    } while (depth > 0 && at < head.size());
    head.erase(0, std::min(head.find_first_not_of(" \n", at), head.size()));
  }
  return head;
}

// Is the brace behind `head`, at the level of a namespace or class, the body of a function?
bool OpensFunction(const std::string& head) {
  static const std::regex type_or_namespace(
      R"(^(inline\s+)?(namespace|class|struct|union|enum|extern|typedef|public|private)\b)");
  const std::string stripped = StripTemplateHead(head);
  return stripped.find(')') != std::string::npos && !std::regex_search(stripped, type_or_namespace);
}

// Is it the brace of a member in a constructor's list: "A::A(int x) : x_(x), y_" with {1} behind?
bool InitialisesMember(const std::string& head) {
  static const std::regex pattern(R"(\)\s*(noexcept\s*)?:\s[^]*[\w>]$)");
  return std::regex_search(head, pattern);
}

// The place of the brace that closes the one at `open`.
size_t ClosingBrace(const std::string& code, size_t open) {
  int depth = 0;
  for (size_t at = open; at < code.size(); ++at) {
    depth += code[at] == '{' ? 1 : code[at] == '}' ? -1 : 0;
    if (depth == 0) return at;
  }
  return code.size();
}

struct Function {
  int first_line = 0;
  int lines = 0;
  std::string name;
};

std::string NameOf(const std::string& head) {
  static const std::regex pattern(R"(([~A-Za-z_][\w:~]*)\s*\(\s*([\w]*)\s*,?\s*([\w]*))");
  const std::string stripped = StripTemplateHead(head);
  std::smatch match;
  if (!std::regex_search(stripped, match, pattern)) return "?";
  if (match[1].str().starts_with("TEST")) return match[2].str() + "." + match[3].str();
  return match[1];
}

// Finds bodies by matching braces: whatever opens one behind a ')' outside of any other function.
std::vector<Function> FunctionsOf(const std::string& text) {
  const std::string code = WithoutPreprocessor(CodeOnly(text));
  std::vector<Function> functions;
  size_t head_start = 0;
  for (size_t at = 0; at < code.size(); ++at) {
    const char c = code[at];
    if (c == '{') {
      const size_t begin = std::min(code.find_first_not_of(" \n", head_start), at);
      const size_t end = code.find_last_not_of(" \n", at - 1) + 1;
      const std::string head = end > begin ? code.substr(begin, end - begin) : "";
      if (OpensFunction(head)) {
        const size_t close = ClosingBrace(code, at);
        at = close;
        if (InitialisesMember(head)) continue;
        const int first = LineAt(code, begin);
        functions.push_back({first, LineAt(code, close) - first + 1, NameOf(head)});
      }
    }
    if (c == '{' || c == '}' || c == ';') head_start = at + 1;
  }
  return functions;
}

struct Word {
  std::string rule;
  std::vector<std::string> words;  // one of them is in whatever `pattern` matches
  std::regex pattern;
  std::string reason;
  bool code_only;  // of C++ code; otherwise of any text
};

const std::vector<Word>& Words() {
  static const std::vector<Word> words = {
      {"left-over",
       {Joined("TO", "DO"), Joined("FIX", "ME"), Joined("XX", "X")},
       std::regex(Joined("\\b(TO", "DO|FIX") + Joined("ME|XX", "X)\\b")),
       "finish it, or open an issue",
       false},
      {"machine-path",
       {Joined("/ho", "me"), Joined("/ro", "ot"), Joined("/wo", "rk"), Joined("/Us", "ers")},
       std::regex(Joined("(^|[^\\w.*/])/(home|ro", "ot|wo") + Joined("rk|Us", "ers)/[\\w.-]{2}")),
       "no file knows the machine it was written on",
       false},
      {"throw", {"throw"}, std::regex("\\bthrow\\b"), "failures are returned: Status and Result", true},
      {"using-namespace",
       {"using"},
       std::regex("\\busing\\s+namespace\\s+(?!std::(literals|chrono_literals))"),
       "names say where they are from",
       true},
      {"volatile",
       {"volatile"},
       std::regex("\\bvolatile\\b"),
       "threads meet in a mailbox, a channel or an atomic",
       true},
      {"skipped-test",
       {Joined("GTEST", "_SKIP"), Joined("DISA", "BLED_")},
       std::regex("\\bGTEST_SKIP\\b|\\bDISABLED_"),
       "a test runs or is deleted",
       true},
      {"no-lint",
       {Joined("NO", "LINT")},
       std::regex(Joined("NO", "LINT(NEXTLINE|BEGIN|END)?(?!(NEXTLINE|BEGIN|END|\\([a-z-]))")),
       "a silenced check is named, with a reason",
       false},
  };
  return words;
}

}  // namespace

Violations CheckSizes(const SourceFile& file) {
  Violations violations;
  if (!file.is_cpp()) return violations;
  const std::vector<std::string_view> lines = Lines(file.text);
  const int count = static_cast<int>(lines.size());
  const int limit = file.is_header() ? kHeaderLines : kSourceLines;
  if (count > limit) {
    violations.push_back(
        {"file-size", file.path, 1, file.name(), count,
         "a header has " + std::to_string(kHeaderLines) + " lines at most, a source " + std::to_string(kSourceLines)});
  }
  int number = 0;
  for (const std::string_view line : lines) {
    ++number;
    const int length = CharactersOf(line);
    if (length <= kLineCharacters) continue;
    violations.push_back({"line-length", file.path, number, "line " + std::to_string(number), length,
                          "a line has " + std::to_string(kLineCharacters) + " characters at most"});
  }
  for (const Function& function : FunctionsOf(file.text)) {
    if (function.lines <= kFunctionLines) continue;
    violations.push_back({"function-size", file.path, function.first_line, function.name, function.lines,
                          "a function has " + std::to_string(kFunctionLines) + " lines at most"});
  }
  return violations;
}

Violations CheckNames(const SourceFile& file) {
  static const std::regex banned("util|helper|common|misc|manager", std::regex::icase);
  static const std::regex type(R"(\b(?:class|struct|enum class|enum|using)\s+([A-Z]\w*))");
  Violations violations;
  if (std::regex_search(file.path, banned)) {
    violations.push_back({"banned-name", file.path, 1, file.path, 0, "a name says what a file is for"});
  }
  if (!file.is_cpp()) return violations;
  const std::string code = CodeOnly(file.text);
  for (auto match = std::sregex_iterator(code.begin(), code.end(), type); match != std::sregex_iterator(); ++match) {
    const std::string name = (*match)[1];
    if (!std::regex_search(name, banned)) continue;
    violations.push_back({"banned-name", file.path, LineAt(code, static_cast<size_t>(match->position())), name, 0,
                          "a name says what a type is for"});
  }
  return violations;
}

Violations CheckWords(const SourceFile& file) {
  Violations violations;
  const std::string code = file.is_cpp() ? CodeOnly(file.text) : "";
  for (const Word& word : Words()) {
    const std::string& text = word.code_only ? code : file.text;
    if (!HoldsOneOf(text, word.words)) continue;
    int number = 0;
    for (const std::string_view line : Lines(text)) {
      ++number;
      std::cmatch match;
      if (!HoldsOneOf(line, word.words)) continue;
      if (!std::regex_search(line.data(), line.data() + line.size(), match, word.pattern)) continue;
      violations.push_back({word.rule, file.path, number, match.str(), 0, word.reason});
    }
  }
  return violations;
}

std::string Violation::ToString() const {
  std::string text = path;
  text += ':';
  text += std::to_string(line);
  text += ": ";
  text += subject;
  if (measure > 0) text += " has " + std::to_string(measure);
  text += " [" + rule + "]: " + reason;
  return text;
}

Violations CheckTree(const std::vector<SourceFile>& tree) {
  Violations all;
  const auto add = [&all](Violations some) { std::ranges::move(some, std::back_inserter(all)); };
  for (const SourceFile& file : tree) {
    for (const auto check :
         {CheckIncludeDirection, CheckLibraries, CheckPorts, CheckHeaders, CheckSizes, CheckNames, CheckWords}) {
      add(check(file));
    }
  }
  add(CheckDeadFiles(tree));
  add(CheckFaultSites(tree));
  return all;
}

}  // namespace weir::tidy
