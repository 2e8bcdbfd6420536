// Which calls to the outside fail: each distinct call site twice, once before the call has had its effect and once
// after it, in either order. What a call site is, the decorators beside this say. Between two failures of one port a
// few calls pass, so that some of what is tried again succeeds in between. Counts for the life of the process.
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>

#include "base/random.h"
#include "base/status.h"

namespace weir::chaos {

class CallSites {
 public:
  enum class Fate { kPasses, kFailsBefore, kFailsAfter };

  // Each failure is a line of the file `report`: "before SITE" or "after SITE".
  explicit CallSites(std::string report);

  // `site`: "PORT: what is called".
  Fate Reach(const std::string& site);

  // The answer of `call`, a Status or a Result, or an error of `code` in its place.
  template <class Call>
  std::invoke_result_t<Call> Through(const std::string& site, StatusCode code, Call call) {
    using Answer = std::invoke_result_t<Call>;
    const Fate fate = Reach(site);
    if (fate == Fate::kPasses) return call();
    if (fate == Fate::kFailsAfter) (void)call();
    Status error = Injected(site, code);
    if constexpr (std::is_same_v<Answer, Status>) {
      return error;
    } else {
      return Answer(Error(std::move(error)));
    }
  }
  static Status Injected(const std::string& site, StatusCode code) { return {code, "injected at " + site}; }

 private:
  struct Site {
    bool before = false;  // has failed so
    bool after = false;
  };

  const std::string report_;
  std::mutex mutex_;
  const std::unique_ptr<Random> random_ = NewSystemRandom();
  std::map<std::string, Site> sites_;
  std::map<std::string, uint64_t> passes_;  // by port: how many calls more
};

}  // namespace weir::chaos
