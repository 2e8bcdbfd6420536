#include "tests/tidy/exceptions.h"

#include <algorithm>

namespace weir::tidy {

const std::vector<Exception>& Exceptions() {
  static const std::vector<Exception> exceptions = {};
  return exceptions;
}

Judgement Judge(const Violations& violations, const std::vector<Exception>& exceptions) {
  Judgement judgement;
  std::vector<bool> used(exceptions.size(), false);
  for (const Violation& violation : violations) {
    bool excused = false;
    for (size_t i = 0; i < exceptions.size(); ++i) {
      const Exception& exception = exceptions[i];
      if (exception.rule != violation.rule || exception.path != violation.path ||
          exception.subject != violation.subject || violation.measure > exception.measure) {
        continue;
      }
      used[i] = true;
      excused = true;
    }
    if (!excused) judgement.violations.push_back(violation);
  }
  for (size_t i = 0; i < exceptions.size(); ++i) {
    if (!used[i]) judgement.unused.push_back(exceptions[i]);
  }
  return judgement;
}

}  // namespace weir::tidy
