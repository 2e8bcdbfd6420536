// The text that a Prometheus server reads (exposition format 0.0.4): metrics of one name together, each name once with
// its HELP and TYPE. Pure; one thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::jobs {

inline constexpr const char* kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

class MetricsText {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  // A counter's name ends in _total. What can't stand in a name becomes '_'. The first call for a name says its help
  // and type. A value that is no number is left out: it is not known yet.
  void Counter(std::string_view name, std::string_view help, Labels labels, double value);
  void Gauge(std::string_view name, std::string_view help, Labels labels, double value);
  std::string Text() const;

 private:
  struct Family {
    std::string help;
    std::string_view type;
    std::vector<std::string> samples;
  };
  void Add(std::string_view name, std::string_view help, std::string_view type, const Labels& labels, double value);

  std::map<std::string, Family> families_;
};

}  // namespace weir::jobs
