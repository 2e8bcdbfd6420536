// What breaks a house rule for a reason. The list only gets shorter: an entry that excuses nothing is an error, and an
// excused size must not grow.
#pragma once

#include <string>
#include <vector>

#include "tests/tidy/rules.h"

namespace weir::tidy {

struct Exception {
  std::string rule;
  std::string path;
  std::string subject;
  int measure = 0;  // the greatest that is excused
  std::string reason;
};

const std::vector<Exception>& Exceptions();

// The violations that no exception excuses, and the exceptions that excuse nothing.
struct Judgement {
  Violations violations;
  std::vector<Exception> unused;
};
Judgement Judge(const Violations& violations, const std::vector<Exception>& exceptions);

}  // namespace weir::tidy
