#include "tests/harness/chaos/call_sites.h"

#include <fstream>
#include <utility>

namespace weir::chaos {

namespace {

// Some transactions succeed in between: the applier waits longer after each that fails in a row.
constexpr uint64_t kPassesMax = 200;

}  // namespace

CallSites::CallSites(std::string report) : report_(std::move(report)) {}

CallSites::Fate CallSites::Reach(const std::string& site) {
  const std::lock_guard lock(mutex_);
  Site& the = sites_[site];
  uint64_t& passes = passes_[site.substr(0, site.find(':'))];
  if (passes > 0) --passes;
  if (passes > 0 || (the.before && the.after)) return Fate::kPasses;
  passes = 1 + random_->Below(kPassesMax);
  const bool before = the.after || (!the.before && random_->OneIn(2));
  (before ? the.before : the.after) = true;
  std::ofstream(report_, std::ios::app) << (before ? "before " : "after ") << site << "\n";
  return before ? Fate::kFailsBefore : Fate::kFailsAfter;
}

}  // namespace weir::chaos
