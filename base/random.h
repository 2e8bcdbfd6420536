// Random numbers come in through this port only. One root, split by name, so that a new consumer of random numbers
// does not shift the others: a simulation with the same seed takes the same course. A Random belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/ids.h"

namespace weir {

class Random {
 public:
  virtual ~Random() = default;
  virtual uint64_t Next() = 0;
  // A source of its own whose numbers depend on this one's seed and `name` alone.
  virtual std::unique_ptr<Random> Split(std::string_view name) const = 0;

  // Uniform in [0, bound); `bound` > 0.
  uint64_t Below(uint64_t bound);
  // True with probability `numerator` / `denominator`.
  bool OneIn(uint64_t denominator) { return Below(denominator) == 0; }
  UniqueId NextId();
};

// Same seed, same numbers (SplitMix64).
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(uint64_t seed) : seed_(seed), state_(seed) {}
  uint64_t Next() override;
  std::unique_ptr<Random> Split(std::string_view name) const override;

 private:
  uint64_t seed_;
  uint64_t state_;
};

// Seeded from the operating system's entropy.
std::unique_ptr<Random> NewSystemRandom();

}  // namespace weir
