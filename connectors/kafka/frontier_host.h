// The enumerator's side of the frontier: hears what the readers have read, announces each step to all of them, the next
// when all have passed on the one before, and tells them which partitions wait. A step is announced only after a look
// at the cluster that began when the step's rows were read has shown no partition that isn't known: what a new
// partition holds can't be older than that. The control thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "connectors/kafka/frontier.h"
#include "connectors/kafka/frontier_event.h"
#include "connectors/kafka/options.h"
#include "connectors/kafka/split.h"
#include "operators/source.h"

namespace weir::connectors {

class FrontierHost {
 public:
  // `looks`: new partitions are looked for while the job runs. Tells all readers that a new epoch has begun, and what
  // was announced before. `context` outlives the host.
  FrontierHost(const KafkaFrontierOptions& options, bool looks, const operators::EnumeratorContext& context,
               const FrontierState& restored);

  // Before they are assigned. At a first start and a restore all together, so that none is passed over.
  void Ensure(const std::vector<KafkaSplit>& splits);
  // There will be no splits but those that are there: without any, all is read.
  void NoMoreSplits();
  Status HandleEvent(uint32_t subtask, const std::string& event);

  // A step waits for a look at the cluster that is not under way.
  bool WantsLook() const;
  void LookBegins();
  // `seen`: it has brought all that there is, and Ensure was called with it. Otherwise it is to be repeated.
  void LookEnds(bool seen);

  std::string SnapshotState() const;

 private:
  void Update();
  void Announce(operators::EventTime time);
  void Send(const FrontierCommand& command);
  void ShowMetrics();

  struct Gauges {
    std::atomic<double>& announced;
    std::atomic<double>& proposed;
    std::atomic<double>& waiting_rows;
    std::atomic<double>& waiting_bytes;
    std::atomic<double>& paused;
  };

  const operators::EnumeratorContext& context_;
  const FrontierEpoch epoch_;
  Frontier frontier_;
  std::set<uint32_t> awaited_;       // readers that have not passed on what is announced
  operators::EventTime looked_;      // up to here no unknown partition has rows
  operators::EventTime looking_;     // the same once the look under way ends
  std::set<TopicPartition> paused_;  // as the readers were told
  std::optional<Gauges> gauges_;     // none: nobody looks
};

}  // namespace weir::connectors
