// An external system in memory that outlives every crash of a job, and a committer for it. Its rows are integers: each
// committable is a range "<first>-<last>", and the system must hold 1, 2, 3, ... without gap or repeat.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/committer.h"

namespace weir::checkpoint {

struct FakeSystem {
  explicit FakeSystem(std::string name) : identity(std::move(name)) {}

  std::string identity;
  std::vector<uint64_t> rows;
  std::optional<Marker> marker;
  UniqueId owner;  // the attempt that fenced last
  bool up = true;
  uint32_t lose_answers = 0;     // so many applies happen and answer kUnavailable
  uint32_t lose_applies = 0;     // so many applies do not happen and answer kUnavailable
  uint32_t lose_signs = 0;       // so many markers are signed and answer kUnavailable
  std::optional<Status> refuse;  // every apply answers this
  Status verify;                 // what Verify answers
  std::string broken;            // what went wrong with the rows; empty: nothing
  uint64_t next = 1;             // the row that has to come next
  uint32_t fences = 0;
  uint32_t applies = 0;

  void Write(uint64_t first, uint64_t last);
};

inline Committable RangeOf(const std::string& system, uint64_t first, uint64_t last) {
  return {.system = system,
          .uid = "sink",
          .payload = std::to_string(first) + "-" + std::to_string(last),
          .size_bytes = 10 * (last - first + 1),
          .rows = last - first + 1};
}

class FakeCommitter final : public Committer {
 public:
  // `dead`: the process has died, nothing that it does reaches the system.
  FakeCommitter(FakeSystem& system, UniqueId attempt, std::function<bool()> dead)
      : system_(system), attempt_(attempt), dead_(std::move(dead)) {}

  Result<std::optional<Marker>> Peek() override;
  Status Fence() override;
  Result<std::optional<Marker>> ReadMarker() override;
  Status Verify(std::span<const Committable> listed) override;
  Status Sign(const Marker& marker, std::span<const Committable> listed) override;
  Status Apply(const Marker& marker, std::span<const Committable> committables) override;

 private:
  Status Reach() const;

  FakeSystem& system_;
  const UniqueId attempt_;
  const std::function<bool()> dead_;
};

}  // namespace weir::checkpoint
