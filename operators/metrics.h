// Counters of one subtask. Written by the task's thread with relaxed atomics, read by the status line and by tests from
// any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::operators {

// {"topic", "orders"}: what tells metrics of one name apart.
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// Metrics that only some operators have, by uid, name (snake_case, its unit last) and labels. Found or made at Open and
// kept by reference, which holds as long as this object; any thread.
class NamedMetrics {
 public:
  // Only rises.
  std::atomic<uint64_t>& Counter(std::string_view uid, std::string_view name, const MetricLabels& labels = {});
  // Goes both ways; NaN until it is set.
  std::atomic<double>& Gauge(std::string_view uid, std::string_view name, const MetricLabels& labels = {});

  struct Shown {
    const std::string& uid;
    const std::string& name;
    const MetricLabels& labels;
    bool is_counter;
    double value;
  };
  void ForEach(const std::function<void(const Shown&)>& visit) const;

 private:
  struct Metric {
    std::string uid, name;
    MetricLabels labels;
    bool is_counter = false;
    std::atomic<uint64_t> count{0};
    std::atomic<double> gauge{0};
  };
  Metric& FindOrAdd(std::string_view uid, std::string_view name, const MetricLabels& labels, bool is_counter);

  mutable std::mutex mutex_;
  std::deque<Metric> metrics_;  // guarded by mutex_; an element stays where it is
};

struct SubtaskMetrics {
  std::atomic<uint64_t> rows_in{0};   // rows that the chain's head took (a source: emitted)
  std::atomic<uint64_t> rows_out{0};  // rows that left the chain's end (a sink: written)
  std::atomic<uint64_t> bytes_in{0};
  std::atomic<uint64_t> bad_records{0};  // skipped or dead-lettered by policy
  std::atomic<uint64_t> late_rows{0};
  std::atomic<int64_t> lag_records{-1};     // sources: records between position and end; -1 unknown
  std::atomic<uint64_t> unsealed_bytes{0};  // sinks, exactly once: output since the last barrier
  std::atomic<uint64_t> blocked{0};         // steps that could not go on because of a full output
  NamedMetrics named;
};

}  // namespace weir::operators
