#include "jobs/job_definition.h"

namespace weir::jobs {

std::string ToString(const DefinitionProblem& problem) {
  std::string text = problem.file;
  if (problem.line > 0) text += ":" + std::to_string(problem.line);
  text += ": ";
  if (problem.warning) text += "warning: ";
  if (!problem.problem.path.empty()) text += problem.problem.path + ": ";
  text += problem.problem.message;
  if (!problem.problem.value.empty() || !problem.problem.expected.empty()) {
    text += " (";
    if (!problem.problem.value.empty()) text += "value " + problem.problem.value;
    if (!problem.problem.value.empty() && !problem.problem.expected.empty()) text += ", ";
    if (!problem.problem.expected.empty()) text += "expected " + problem.problem.expected;
    text += ")";
  }
  return text;
}

}  // namespace weir::jobs
