// The house rules (docs/decisions/0003-tidy-is-a-test.md) as functions from files to violations. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "tests/tidy/source_file.h"

namespace weir::tidy {

struct Violation {
  std::string rule;  // "function-size"
  std::string path;
  int line = 0;
  std::string subject;  // what broke the rule: a function, an include, a word
  int measure = 0;      // how long it is, for the rules about sizes
  std::string reason;   // what holds instead

  std::string ToString() const;
};
using Violations = std::vector<Violation>;

// rules_structure.cc
Violations CheckIncludeDirection(const SourceFile& file);
Violations CheckLibraries(const SourceFile& file);
Violations CheckPorts(const SourceFile& file);
Violations CheckHeaders(const SourceFile& file);
// Every source is named in a CMakeLists.txt or a .cmake file, relative to that or to PROJECT_SOURCE_DIR.
Violations CheckDeadFiles(const std::vector<SourceFile>& tree);
// Each FAULT_SITE is listed in base/fault_site.cc, and each listed name is reached somewhere.
Violations CheckFaultSites(const std::vector<SourceFile>& tree);

// rules_text.cc
Violations CheckSizes(const SourceFile& file);
Violations CheckNames(const SourceFile& file);
Violations CheckWords(const SourceFile& file);

// All of them.
Violations CheckTree(const std::vector<SourceFile>& tree);

}  // namespace weir::tidy
