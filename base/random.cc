#include "base/random.h"

#include <sys/random.h>

#include <array>
#include <cerrno>

#include "base/bytes.h"
#include "base/check.h"

namespace weir {
namespace {

// SplitMix64: the state counts up by an odd constant, the output mixes the bits of the state.
constexpr uint64_t kStep = 0x9e3779b97f4a7c15;

uint64_t Mix(uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

// Every number is entropy of the operating system, fetched a block at a time, so that 128-bit ids have 128 bits.
class SystemRandom final : public Random {
 public:
  uint64_t Next() override {
    if (next_ == block_.size()) Fill();
    return block_[next_++];
  }

  std::unique_ptr<Random> Split(std::string_view) const override { return std::make_unique<SystemRandom>(); }

 private:
  void Fill() {
    ssize_t got = 0;
    do {
      got = getrandom(block_.data(), sizeof(block_), 0);
    } while (got < 0 && errno == EINTR);
    // Up to 256 bytes come whole once the kernel has entropy; it has no other way to fail.
    WEIR_CHECK_EQ(got, static_cast<ssize_t>(sizeof(block_)));
    next_ = 0;
  }

  std::array<uint64_t, 32> block_{};
  size_t next_ = 32;
};

}  // namespace

uint64_t Random::Below(uint64_t bound) {
  WEIR_CHECK_GT(bound, uint64_t{0});
  // Numbers below 2^64 mod bound would make the small results more frequent: draw again.
  const uint64_t refused = (0 - bound) % bound;
  uint64_t number = Next();
  while (number < refused) number = Next();
  return number % bound;
}

UniqueId Random::NextId() {
  UniqueId id;
  while (id.empty()) {
    id.high = Next();
    id.low = Next();
  }
  return id;
}

uint64_t SeededRandom::Next() {
  state_ += kStep;
  return Mix(state_);
}

std::unique_ptr<Random> SeededRandom::Split(std::string_view name) const {
  return std::make_unique<SeededRandom>(Mix(seed_ + kStep) ^ Hash64(name));
}

std::unique_ptr<Random> NewSystemRandom() { return std::make_unique<SystemRandom>(); }

}  // namespace weir
