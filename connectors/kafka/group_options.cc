#include "connectors/kafka/group_options.h"

#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "operators/raw_value.h"

namespace weir::connectors {
namespace {

using operators::Options;
using operators::OptionSpec;
using operators::OptionType;
using operators::Problems;

struct Timing {
  const char* name;
  int64_t default_ms;
};

// A member that dies is missed after 10 s. The others hear of a rebalance within one heartbeat, so that this one, and
// not the client's 3 s, is what a rebalance takes. The polling never stops, so that the longest rebalance need not be 5
// m.
constexpr Timing kSession{"session.timeout.ms", 10'000};
constexpr Timing kHeartbeat{"heartbeat.interval.ms", 1'000};
constexpr Timing kMaxPoll{"max.poll.interval.ms", 60'000};

constexpr std::string_view kDefaultStrategy = "cooperative-sticky";

int64_t TimingOf(const Options& options, const Timing& timing) {
  int64_t value = timing.default_ms;
  if (!options.Has("properties")) return value;
  for (const auto& [name, text] : options.StringMap("properties")) {
    if (name == timing.name) std::from_chars(text.data(), text.data() + text.size(), value);
  }
  return value;
}

void CheckTimings(const Options& options, Problems& problems) {
  const auto check = [&](const Timing& shorter, const Timing& longer, bool may_be_equal) {
    const int64_t a = TimingOf(options, shorter);
    const int64_t b = TimingOf(options, longer);
    if (may_be_equal ? a <= b : a < b) return;
    problems.push_back({options.PathOf("properties") + "/" + shorter.name, "",
                        std::string(may_be_equal ? "at most " : "less than ") + longer.name,
                        std::string(shorter.name) + " is " + std::to_string(a) + " ms and " + longer.name + " " +
                            std::to_string(b) + " ms"});
  };
  check(kHeartbeat, kSession, false);
  check(kSession, kMaxPoll, true);
}

void Refuse(const Options& options, std::string_view name, const std::string& value, std::string expected,
            const std::string& reason, Problems& problems) {
  problems.push_back({options.PathOf(name), value, std::move(expected),
                      std::string(name) + " can't go with assignment group: " + reason});
}

void CheckWithGroup(const Options& options, Problems& problems) {
  if (!options.Has("group")) {
    problems.push_back({options.PathOf("group"), "", "the name of a consumer group",
                        "group is needed with assignment group: it assigns the partitions"});
  }
  const std::string& start = options.String("start");
  if (start != "earliest" && start != "latest") {
    Refuse(options, "start", operators::Quoted(start), "earliest or latest",
           "partitions go on from the group's committed offsets, and start says where one without begins", problems);
  }
  if (options.String("end") != "none") {
    Refuse(options, "end", operators::Quoted(options.String("end")), "none",
           "a partition may go to another process before it has come to its end", problems);
  }
  struct Refusal {
    const char* name;
    const char* reason;
  };
  constexpr std::array kRefusals = {
      Refusal{"frontier", "no process sees all partitions, so none knows the time that all have reached"},
      Refusal{"min-timestamp", "partitions go on from the group's committed offsets"},
      Refusal{"max-timestamp", "a partition may go to another process before it has come to its end"},
  };
  for (const Refusal& each : kRefusals) {
    if (options.Has(each.name)) Refuse(options, each.name, "", "no such member", each.reason, problems);
  }
  if (options.Has("group-instance-id") && !IsTopicName(options.String("group-instance-id"))) {
    const std::string& id = options.String("group-instance-id");
    problems.push_back({options.PathOf("group-instance-id"), operators::QuotedExcerpt(id),
                        "letters, digits, dots, underscores and dashes", "this can't be a group instance id"});
  }
  CheckTimings(options, problems);
}

}  // namespace

std::vector<OptionSpec> KafkaGroupOptionSpecs() {
  return {
      {.name = "assignment",
       .type = OptionType::kEnum,
       .default_text = "enumerator",
       .doc = "Who divides the partitions: the job, which keeps their offsets in its checkpoints (enumerator), or the "
              "consumer group among all processes that run the job as `weir run --instance NAME`, at least once, from "
              "the offsets committed to it (group).",
       .choices = {"enumerator", "group"}},
      {.name = "group-strategy",
       .type = OptionType::kEnum,
       .doc = "With assignment group: how the group divides; default cooperative-sticky, where partitions that stay "
              "with their member flow on during a rebalance. All members have the same.",
       .choices = {"cooperative-sticky", "range", "roundrobin"}},
      {.name = "group-instance-id",
       .type = OptionType::kString,
       .doc = "With assignment group: makes the members static, who keep their partitions over a restart within "
              "session.timeout.ms; the instance's name and the subtask's number are added. Default: dynamic members.",
       .min = 1},
  };
}

bool IsGroupAssigned(const Options& options) { return options.String("assignment") == "group"; }

void CheckKafkaGroupOptions(const Options& options, Problems& problems) {
  if (IsGroupAssigned(options)) {
    CheckWithGroup(options, problems);
    return;
  }
  for (const char* name : {"group-strategy", "group-instance-id"}) {
    if (!options.Has(name)) continue;
    problems.push_back(
        {options.PathOf(name), "", "no such member", std::string(name) + " has a meaning only with assignment group"});
  }
}

void ParseKafkaGroupOptions(const Options& options, KafkaSourceOptions& result) {
  if (!IsGroupAssigned(options)) return;
  KafkaGroupMembership membership;
  membership.group = result.group;
  membership.topics = result.topics;
  membership.topic_pattern = result.topic_pattern;
  membership.strategy = options.Has("group-strategy") ? options.String("group-strategy") : kDefaultStrategy;
  if (options.Has("group-instance-id")) membership.instance_id = options.String("group-instance-id");
  membership.start_latest = result.start == KafkaStart::kLatest;
  result.membership = std::move(membership);
  if (const operators::OptionValue* instance = options.Find("instance")) result.instance = instance->text;
  // In front of what the definition says, which counts.
  std::vector<std::pair<std::string, std::string>> properties;
  for (const Timing& timing : {kSession, kHeartbeat, kMaxPoll}) {
    properties.emplace_back(timing.name, std::to_string(timing.default_ms));
  }
  const int64_t look_ms = std::chrono::duration_cast<std::chrono::milliseconds>(result.discovery_interval).count();
  properties.emplace_back("topic.metadata.refresh.interval.ms", look_ms == 0 ? "-1" : std::to_string(look_ms));
  result.connection.properties.insert(result.connection.properties.begin(), properties.begin(), properties.end());
}

std::string GroupInstanceIdOf(const KafkaSourceOptions& options, uint32_t subtask) {
  const std::string& given = options.membership->instance_id;
  if (given.empty()) return given;
  return given + "-" + options.instance + "-" + std::to_string(subtask);
}

}  // namespace weir::connectors
