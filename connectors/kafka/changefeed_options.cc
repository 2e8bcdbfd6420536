#include "connectors/kafka/changefeed_options.h"

#include <array>
#include <string>
#include <string_view>

#include "connectors/format/hlc.h"
#include "operators/raw_value.h"

namespace weir::connectors {
namespace {

using operators::EventTime;
using operators::Options;
using operators::OptionSpec;
using operators::OptionType;
using operators::Problems;

bool IsChangefeed(const Options& options) { return options.String("format") == "cockroachdb"; }

// Of an option that may be absent.
std::optional<EventTime> TimeOf(const Options& options, std::string_view name, Problems* problems) {
  if (!options.Has(name)) return std::nullopt;
  const std::string& text = options.String(name);
  const std::optional<EventTime> time = ParseHlc(text);
  if (!time && problems != nullptr) {
    problems->push_back(
        {options.PathOf(name), text, "a changefeed's timestamp, \"1700000000123456789.0000000002\"",
         std::string(name) + " is " + operators::QuotedExcerpt(text) +
             ", which is not a changefeed's timestamp: nanoseconds, a point and ten digits of the logical part"});
  }
  return time;
}

// `name` says what `other` with its value says as well.
void CheckClash(const Options& options, const std::string& name, const std::string& other, std::string_view harmless,
                std::string_view what, Problems& problems) {
  if (!options.Has(name) || options.String(other) == harmless) return;
  problems.push_back({options.PathOf(name), options.String(name), name + " or " + other,
                      name + " and " + other + " " + options.String(other) + " both say where " + std::string(what)});
}

}  // namespace

// Without default texts, so that it shows whether they were given.
std::vector<OptionSpec> ChangefeedOptionSpecs() {
  return {
      {.name = "min-timestamp",
       .type = OptionType::kString,
       .doc =
           "Of a changefeed: the first time that is wanted, as in its messages (nanoseconds.logical). Rows before it "
           "are left out; a first start begins at the newest resolved message before it. Afterwards the checkpoint "
           "decides."},
      {.name = "max-timestamp",
       .type = OptionType::kString,
       .doc =
           "Of a changefeed: the first time that is not wanted. Rows from it on are left out, and each partition ends "
           "at its first resolved message that is not before it, which makes the job bounded."},
      {.name = "resolved-interval",
       .type = OptionType::kDuration,
       .doc = "With min-timestamp: how far before it the search for a resolved message begins; each further step back "
              "is twice as long. About the changefeed's own interval is best. Default 5s.",
       .min = 1},
      {.name = "stale-rows",
       .type = OptionType::kEnum,
       .doc = "Of a changefeed: what happens to rows of a time before the partition's newest resolved message, which "
              "have all been delivered before: drop (default) or keep.",
       .choices = {"drop", "keep"}},
  };
}

void CheckChangefeedOptions(const Options& options, Problems& problems) {
  constexpr std::array kNames = {"min-timestamp", "max-timestamp", "resolved-interval", "stale-rows"};
  for (const char* name : kNames) {
    if (!options.Has(name) || IsChangefeed(options)) continue;
    problems.push_back({options.PathOf(name), "", "a changefeed format",
                        std::string(name) + " belongs to changefeeds (format cockroachdb), the format here is " +
                            options.String("format")});
  }
  const std::optional<EventTime> min = TimeOf(options, "min-timestamp", &problems);
  const std::optional<EventTime> max = TimeOf(options, "max-timestamp", &problems);
  if (min && max && *min > *max) {
    problems.push_back({options.PathOf("min-timestamp"), options.String("min-timestamp"),
                        "a time that is not after max-timestamp",
                        "min-timestamp " + options.String("min-timestamp") + " is after max-timestamp " +
                            options.String("max-timestamp")});
  }
  CheckClash(options, "min-timestamp", "start", "earliest", "a first start begins", problems);
  CheckClash(options, "max-timestamp", "end", "none", "reading ends", problems);
}

ChangefeedOptions ParseChangefeedOptions(const Options& options) {
  ChangefeedOptions result;
  result.is_changefeed = IsChangefeed(options);
  if (!result.is_changefeed) return result;
  result.min_timestamp = TimeOf(options, "min-timestamp", nullptr);
  result.max_timestamp = TimeOf(options, "max-timestamp", nullptr);
  if (options.Has("resolved-interval")) result.resolved_interval = options.Time("resolved-interval");
  result.drop_stale = !options.Has("stale-rows") || options.String("stale-rows") == "drop";
  return result;
}

}  // namespace weir::connectors
