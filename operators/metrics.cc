#include "operators/metrics.h"

#include <cmath>
#include <limits>

#include "base/check.h"

namespace weir::operators {

NamedMetrics::Metric& NamedMetrics::FindOrAdd(std::string_view uid, std::string_view name, const MetricLabels& labels,
                                              bool is_counter) {
  const std::lock_guard lock(mutex_);
  for (Metric& metric : metrics_) {
    if (metric.uid != uid || metric.name != name || metric.labels != labels) continue;
    WEIR_CHECK_EQ(metric.is_counter, is_counter);
    return metric;
  }
  Metric& metric = metrics_.emplace_back();
  metric.uid = uid;
  metric.name = name;
  metric.labels = labels;
  metric.is_counter = is_counter;
  metric.gauge = std::numeric_limits<double>::quiet_NaN();
  return metric;
}

std::atomic<uint64_t>& NamedMetrics::Counter(std::string_view uid, std::string_view name, const MetricLabels& labels) {
  return FindOrAdd(uid, name, labels, true).count;
}

std::atomic<double>& NamedMetrics::Gauge(std::string_view uid, std::string_view name, const MetricLabels& labels) {
  return FindOrAdd(uid, name, labels, false).gauge;
}

void NamedMetrics::ForEach(const std::function<void(const Shown&)>& visit) const {
  const std::lock_guard lock(mutex_);
  for (const Metric& metric : metrics_) {
    const double value = metric.is_counter ? static_cast<double>(metric.count.load(std::memory_order_relaxed))
                                           : metric.gauge.load(std::memory_order_relaxed);
    visit({metric.uid, metric.name, metric.labels, metric.is_counter, value});
  }
}

}  // namespace weir::operators
