#include "jobs/definition_restart.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::jobs {
namespace {

using operators::OptionSpec;
using operators::OptionType;

constexpr int64_t kTimesMax = 1'000'000;

struct Strategy {
  RestartKind kind;
  std::vector<std::string_view> options;
};

std::span<const Strategy> Strategies() {
  static const std::vector<Strategy> kStrategies = {
      {RestartKind::kNone, {}},
      {RestartKind::kFixedDelay, {"delay", "attempts-max"}},
      {RestartKind::kExponentialDelay, {"delay", "attempts-max", "delay-max", "reset-after"}},
      {RestartKind::kFailureRate, {"delay", "failures-max", "failures-interval"}}};
  return kStrategies;
}

OptionSpec Times(std::string name, std::string default_text, std::string doc) {
  OptionSpec spec{std::move(name), OptionType::kInteger, false, std::move(default_text), std::move(doc)};
  spec.min = 1;
  spec.max = kTimesMax;
  return spec;
}

OptionSpec Time(std::string name, std::string default_text, std::string doc) {
  OptionSpec spec{std::move(name), OptionType::kDuration, false, std::move(default_text), std::move(doc)};
  spec.min = 1;
  return spec;
}

}  // namespace

OptionSpec RestartSpec() {
  OptionSpec strategy{"strategy", OptionType::kEnum, false, "exponential-delay",
                      "When a job that has failed starts again, in the same process, from its newest checkpoint."};
  for (const Strategy& known : Strategies()) strategy.choices.emplace_back(RestartKindName(known.kind));
  OptionSpec spec{"restart", OptionType::kObject, false, "{}", "What happens when the job fails."};
  spec.members = {
      std::move(strategy),
      Time("delay", "1s", "Before a restart; exponential-delay: before the first of a row."),
      Times("attempts-max", "100", "fixed-delay, exponential-delay: after so many restarts in a row the process ends."),
      Time("delay-max", "1m", "exponential-delay: each delay of a row is half as long again as the last, up to this."),
      Time("reset-after", "10m", "exponential-delay: after an attempt that ran so long a new row begins."),
      Times("failures-max", "3", "failure-rate: more failures than this within failures-interval end the process."),
      Time("failures-interval", "1m", "failure-rate: see failures-max."),
  };
  return spec;
}

RestartSettings ReadRestart(const operators::Options& options, const operators::RawValue* written,
                            operators::Problems& warnings) {
  RestartSettings restart;
  restart.delay = options.Time("delay");
  restart.attempts_max = static_cast<uint32_t>(options.Integer("attempts-max"));
  restart.delay_max = options.Time("delay-max");
  restart.reset_after = options.Time("reset-after");
  restart.failures_max = static_cast<uint32_t>(options.Integer("failures-max"));
  restart.failures_interval = options.Time("failures-interval");
  const std::string& name = options.String("strategy");
  const Strategy& strategy =
      *std::ranges::find(Strategies(), name, [](const Strategy& known) { return RestartKindName(known.kind); });
  restart.kind = strategy.kind;
  if (written == nullptr) return restart;
  for (const auto& [option, value] : written->members) {
    if (option == "strategy" || std::ranges::find(strategy.options, option) != strategy.options.end()) continue;
    warnings.push_back(
        {value.path, value.Printed(), "no " + option, "the restart strategy \"" + name + "\" does not use " + option});
  }
  return restart;
}

}  // namespace weir::jobs
