// What keyed state costs. state_bench CASE [ARGUMENT...]; each case prints one line a figure.
//
//   memory KEYS DIR             read-modify-write of entries that stay in memory, 8-byte keys, 100-byte values
//   budget KEYS BUDGET_MB DIR   KEYS entries of 100 bytes under a budget, two checkpoints a million; then 20
//   checkpoints
//                               with 1 % of the keys changed each, a restore, and a check of every entry
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/worker.h"
#include "bench/own_cost.h"
#include "state/key_groups.h"
#include "state/rocksdb_store.h"
#include "state/table_state.h"

namespace weir::state {
namespace {

using bench::CpuSeconds;
using bench::Must;
using bench::PeakResidentMb;
using bench::WallSeconds;

constexpr size_t kValueSize = 100;
constexpr size_t kBatch = 1000;

struct Key {
  char bytes[8];
  EntryKey entry() const { return {.hash = HashKey({bytes, 8}), .key = {bytes, 8}, .name_space = {}}; }
};
Key KeyOf(uint64_t number) {
  Key key;
  std::memcpy(key.bytes, &number, 8);
  return key;
}

// What `times` updates make of the key's value: the count in front, then bytes that follow from both.
std::string ValueOf(uint64_t number, uint64_t times) {
  std::string value(kValueSize, '\0');
  std::memcpy(value.data(), &times, 8);
  SeededRandom random(number * 31 + times);
  for (size_t at = 8; at + 8 <= kValueSize; at += 8) {
    const uint64_t bits = random.Next() & 0x0f0f0f0f0f0f0f0full;
    std::memcpy(value.data() + at, &bits, 8);
  }
  return value;
}

class Bench {
 public:
  Bench(uint64_t budget_bytes, std::string folder) : budget_(budget_bytes), folder_(std::move(folder)) {
    stores_ = NewRocksDbStoreFactory(budget_);
    Open({});
  }

  void Memory(uint64_t keys) {
    std::string value(kValueSize, 'v');
    for (uint64_t i = 0; i < keys; ++i) Must(state_->Put(id_, KeyOf(i).entry(), value));
    SeededRandom random(1);
    const uint64_t operations = 10'000'000;
    const double start = CpuSeconds();
    for (uint64_t i = 0; i < operations; i += kBatch) {
      for (size_t j = 0; j < kBatch; ++j) numbers_[j] = random.Below(keys);
      Prefetch();
      for (size_t j = 0; j < kBatch; ++j) {
        const Key key = KeyOf(numbers_[j]);
        const std::optional<std::string_view> found = Must(state_->Get(id_, key.entry()));
        std::memcpy(value.data(), found->data(), kValueSize);
        ++value[i % kValueSize];
        Must(state_->Put(id_, key.entry(), value));
      }
    }
    std::printf("memory keys=%llu read-modify-write s/M=%.3f peak_rss_mb=%ld table_mb=%llu\n",
                static_cast<unsigned long long>(keys), (CpuSeconds() - start) / static_cast<double>(operations) * 1e6,
                PeakResidentMb(), static_cast<unsigned long long>(state_->usage().table_bytes >> 20));
  }

  void Budget(uint64_t keys) {
    std::vector<uint8_t> times(keys);
    SeededRandom random(2);
    double cpu = CpuSeconds();
    double wall = WallSeconds();
    for (uint64_t i = 0; i < keys; i += kBatch) {
      for (size_t j = 0; j < kBatch; ++j) numbers_[j] = i + j;
      Update(times);
      if (i % (keys / 20) == 0) Snapshot();
    }
    const uint64_t full = Snapshot();
    std::printf("budget keys=%llu load cpu_s=%.1f wall_s=%.1f last_checkpoint_new_mb=%llu peak_rss_mb=%ld\n",
                static_cast<unsigned long long>(keys), CpuSeconds() - cpu, WallSeconds() - wall,
                static_cast<unsigned long long>(full >> 20), PeakResidentMb());
    cpu = CpuSeconds();
    uint64_t bytes = 0;
    uint64_t state_bytes = 0;
    for (int checkpoint = 0; checkpoint < 20; ++checkpoint) {
      for (uint64_t i = 0; i < keys / 100; i += kBatch) {
        for (size_t j = 0; j < kBatch; ++j) numbers_[j] = random.Below(keys);
        Update(times);
      }
      bytes += Snapshot();
      state_bytes = 0;
      for (const StateFile& file : newest_.files) state_bytes += file.size_bytes;
    }
    const uint64_t dump = keys * (kValueSize + 8);
    std::printf(
        "budget 20 checkpoints of 1%%: new_mb=%llu full_dumps_mb=%llu share=%.3f store_mb=%llu cpu_s=%.1f "
        "peak_rss_mb=%ld\n",
        static_cast<unsigned long long>(bytes >> 20), static_cast<unsigned long long>(dump * 20 >> 20),
        static_cast<double>(bytes) / static_cast<double>(dump * 20), static_cast<unsigned long long>(state_bytes >> 20),
        CpuSeconds() - cpu, PeakResidentMb());
    wall = WallSeconds();
    state_.reset();
    Open({newest_});
    std::printf("budget restore wall_s=%.2f\n", WallSeconds() - wall);
    Check(times);
    std::printf("budget exact: %llu entries, peak_rss_mb=%ld\n", static_cast<unsigned long long>(keys),
                PeakResidentMb());
  }

 private:
  void Open(const std::vector<SubtaskStateHandle>& restored) {
    SubtaskStateOptions options{.fs = fs_.get(),
                                .stores = stores_.get(),
                                .budget = &budget_,
                                .range = {},
                                .local_dir = folder_ + "/local",
                                .job_dir = folder_ + "/job",
                                .unique_prefix = "bench" + std::to_string(++attempts_) + "-0-0-"};
    state_ = Must(OpenSubtaskState(options, restored));
    id_ = Must(state_->Register({.uid = "bench", .name = "value", .kind = "value", .codec = "bytes"}));
  }

  void Prefetch() {
    for (size_t j = 0; j < kBatch; ++j) {
      keys_[j] = KeyOf(numbers_[j]);
      entries_[j] = keys_[j].entry();
    }
    Must(state_->Prefetch(id_, entries_));
  }

  // A read-modify-write of each of `numbers_`; what is read must be what was written last.
  void Update(std::vector<uint8_t>& times) {
    while (state_->blocked()) Finish();
    if (state_->NeedsFlush()) Start(std::nullopt);
    if (done_.load(std::memory_order_acquire)) Finish();
    Prefetch();
    for (size_t j = 0; j < kBatch; ++j) {
      const uint64_t number = numbers_[j];
      const std::optional<std::string_view> found = Must(state_->Get(id_, entries_[j]));
      ExpectValue(number, times[number], found);
      Must(state_->Put(id_, entries_[j], ValueOf(number, ++times[number])));
    }
  }

  static void ExpectValue(uint64_t number, uint8_t times, std::optional<std::string_view> found) {
    if (times == 0 ? !found.has_value() : found.has_value() && *found == ValueOf(number, times)) return;
    std::fprintf(stderr, "key %llu is wrong\n", static_cast<unsigned long long>(number));
    std::exit(1);
  }

  void Check(const std::vector<uint8_t>& times) {
    for (uint64_t i = 0; i < times.size(); i += kBatch) {
      for (size_t j = 0; j < kBatch; ++j) numbers_[j] = i + j;
      Prefetch();
      for (size_t j = 0; j < kBatch; ++j) ExpectValue(i + j, times[i + j], Must(state_->Get(id_, entries_[j])));
    }
  }

  void Start(std::optional<CheckpointId> checkpoint) {
    done_.store(false, std::memory_order_relaxed);
    worker_->Submit([this, pending = state_->Freeze(checkpoint), checkpoint] {
      SubtaskStateHandle handle = Must(pending->Write());
      written_bytes_ = handle.bytes_new;
      if (checkpoint.has_value()) newest_ = std::move(handle);
      done_.store(true, std::memory_order_release);
      done_.notify_all();
    });
  }
  void Finish() {
    done_.wait(false, std::memory_order_acquire);
    if (state_->snapshot_pending()) state_->SnapshotWritten(Status::Ok());
    done_.store(false, std::memory_order_relaxed);
  }
  // The new bytes of a checkpoint.
  uint64_t Snapshot() {
    if (state_->snapshot_pending()) Finish();
    Start(CheckpointId{.number = ++checkpoints_, .id = {}});
    Finish();
    return written_bytes_;
  }

  StateBudget budget_;
  const std::string folder_;
  const std::unique_ptr<FileSystem> fs_ = NewPosixFileSystem();
  std::unique_ptr<LocalStoreFactory> stores_;
  std::unique_ptr<SubtaskState> state_;
  StateId id_;
  int attempts_ = 0;
  uint64_t checkpoints_ = 0;
  std::vector<uint64_t> numbers_ = std::vector<uint64_t>(kBatch);
  std::vector<Key> keys_ = std::vector<Key>(kBatch);
  std::vector<EntryKey> entries_ = std::vector<EntryKey>(kBatch);
  SubtaskStateHandle newest_;
  uint64_t written_bytes_ = 0;
  std::atomic<bool> done_ = false;
  std::unique_ptr<Worker> worker_ = NewThreadWorkerFactory()->NewWorker("snapshot");
};

int Main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string what = count > 1 ? arguments[1] : "";
  if (what == "memory" && count == 4) {
    Bench(uint64_t{64} << 30, arguments[3]).Memory(std::strtoull(arguments[2], nullptr, 10));
    return 0;
  }
  if (what == "budget" && count == 5) {
    Bench(std::strtoull(arguments[3], nullptr, 10) << 20, arguments[4])
        .Budget(std::strtoull(arguments[2], nullptr, 10));
    return 0;
  }
  std::fprintf(stderr, "usage: state_bench memory KEYS DIR | budget KEYS BUDGET_MB DIR\n");
  return 2;
}

}  // namespace
}  // namespace weir::state

int main(int count, char** arguments) { return weir::state::Main(count, arguments); }
