#include "tests/tidy/exceptions.h"

#include <algorithm>

namespace weir::tidy {

const std::vector<Exception>& Exceptions() {
  static const std::vector<Exception> exceptions = {
      {"file-size", "state/keyed_state.h", "keyed_state.h", 270, "the typed views are templates and belong together"},
      {"file-size", "tests/checkpoint/scenarios_test.cc", "scenarios_test.cc", 572,
       "the protocol's scenarios are one list, in its order"},
      {"file-size", "tests/operators/runtime/test_pieces.h", "test_pieces.h", 324,
       "small operators, sources and sinks of the runtime's tests, each of a few lines"},
  };
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
