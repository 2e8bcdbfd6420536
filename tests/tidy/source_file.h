// One file of the tree as the house rules look at it. Values; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::tidy {

struct SourceFile {
  std::string path;  // from the root of the tree: "base/status.h"
  std::string text;

  bool is_header() const { return path.ends_with(".h"); }
  bool is_cpp() const { return is_header() || path.ends_with(".cc"); }
  // "base" of "base/status.h"; empty for a file at the root.
  std::string folder() const;
  // "status.h"
  std::string name() const;
};

// The lines of a text, without their ends.
std::vector<std::string_view> Lines(std::string_view text);
// 1 for the first line.
int LineAt(std::string_view text, size_t offset);

// Cheap, to be asked before a regular expression is.
bool HoldsOneOf(std::string_view text, const std::vector<std::string>& words);

// C++ with comments and what stands in literals replaced by spaces. Same length, same lines.
std::string CodeOnly(std::string_view text);
// The same, and preprocessor lines are gone too.
std::string WithoutPreprocessor(std::string_view code);

// Everything under `root` that git would keep and a rule may look at: sources, build files, scripts, pages.
std::vector<SourceFile> ReadTree(const std::string& root);

}  // namespace weir::tidy
