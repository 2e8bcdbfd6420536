#include "connectors/kafka/discovery.h"

#include <algorithm>

#include "connectors/format/hlc.h"
#include "connectors/kafka/topic_pattern.h"

namespace weir::connectors {
namespace {

std::string Describe(const TopicPartition& partition) {
  return "topic " + partition.topic + " partition " + std::to_string(partition.partition);
}

// Gaps are no loss: transaction markers and compaction leave them. Only an offset outside [low, high] is.
Status CheckInLog(const TopicPartition& partition, std::string_view what, int64_t offset, const Watermarks& marks) {
  if (offset > marks.high) {
    return Status::FailedPrecondition(Describe(partition) + ": " + std::string(what) + " " + std::to_string(offset) +
                                      " is beyond the end " + std::to_string(marks.high) +
                                      " of the log; was the topic deleted and made again?");
  }
  if (offset < marks.low) {
    return Status::FailedPrecondition(Describe(partition) + ": " + std::string(what) + " " + std::to_string(offset) +
                                      " is before the start " + std::to_string(marks.low) +
                                      " of the log; the records between were deleted before they were read");
  }
  return {};
}

// What was left out because of max-timestamp is behind the offset: a later one would leave a gap.
Status CheckUntil(const KafkaSplit& split, const std::optional<operators::EventTime>& max_timestamp) {
  if (!split.until || (max_timestamp && *max_timestamp <= *split.until)) return {};
  std::string until, now;
  AppendHlc(*split.until, until);
  if (max_timestamp) AppendHlc(*max_timestamp, now);
  return Status::FailedPrecondition(Describe(split.partition) + ": up to the checkpoint's offset " +
                                    std::to_string(split.offset) + " rows from max-timestamp " + until +
                                    " on were left out, and the definition now " +
                                    (max_timestamp ? "has max-timestamp " + now : "has none") +
                                    "; to read them begin anew with min-timestamp " + until + " and --restore none");
}

}  // namespace

Result<std::vector<TopicPartition>> KafkaDiscovery::ListPartitions() {
  std::vector<TopicMetadata> topics;
  if (options_.topic_pattern.empty()) {
    for (const std::string& topic : options_.topics) {
      WEIR_ASSIGN_OR_RETURN(TopicMetadata found, admin_.DescribeTopic(topic));
      topics.push_back(std::move(found));
    }
  } else {
    WEIR_ASSIGN_OR_RETURN(const TopicPattern pattern, TopicPattern::Compile(options_.topic_pattern));
    WEIR_ASSIGN_OR_RETURN(topics, admin_.ListTopics());
    // Topics of the cluster's own are read by name only.
    std::erase_if(topics, [&](const TopicMetadata& topic) {
      return topic.name.starts_with("__") || !pattern.Matches(topic.name);
    });
  }
  std::vector<TopicPartition> partitions;
  for (const TopicMetadata& topic : topics) {
    for (int32_t i = 0; i < topic.partitions; ++i) partitions.push_back({topic.name, i});
  }
  std::erase_if(partitions, [this](const TopicPartition& partition) { return options_.Retired(partition); });
  return partitions;
}

Status KafkaDiscovery::CheckNamed(const std::map<TopicPartition, int64_t>& offsets, std::string_view option,
                                  std::span<const TopicPartition> partitions) const {
  for (const auto& [partition, offset] : offsets) {
    if (std::ranges::find(partitions, partition) != partitions.end()) continue;
    return Status::InvalidArgument(std::string(option) + " names " + Describe(partition) +
                                   ", which this source does not have");
  }
  return {};
}

Result<std::vector<KafkaSplit>> KafkaDiscovery::StartOffsets(std::span<const TopicPartition> partitions,
                                                             std::span<const Watermarks> marks) {
  std::vector<std::optional<int64_t>> chosen(partitions.size());
  std::string_view what = "start";
  if (options_.start == KafkaStart::kGroupOffsets) {
    WEIR_ASSIGN_OR_RETURN(chosen, admin_.CommittedOffsets(options_.group, partitions));
    what = "committed offset";
  } else if (options_.start == KafkaStart::kTimestamp) {
    WEIR_ASSIGN_OR_RETURN(chosen, admin_.OffsetsForTime(partitions, options_.start_timestamp_ms));
  }
  std::vector<KafkaSplit> splits(partitions.size());
  for (size_t i = 0; i < partitions.size(); ++i) {
    splits[i].partition = partitions[i];
    // Between two answers of the broker the log may have moved on; what a time says is right by itself.
    const bool to_end = options_.start == KafkaStart::kLatest || options_.start == KafkaStart::kTimestamp;
    splits[i].offset = chosen[i].value_or(to_end ? marks[i].high : marks[i].low);
    const auto named = options_.start_offsets.find(partitions[i]);
    if (named != options_.start_offsets.end()) {
      splits[i].offset = named->second;
      what = "start-offsets";
    }
    if (options_.start == KafkaStart::kTimestamp) continue;
    WEIR_RETURN_IF_ERROR(CheckInLog(partitions[i], what, splits[i].offset, marks[i]));
  }
  return splits;
}

Status KafkaDiscovery::SetEnds(std::span<KafkaSplit> splits, std::span<const Watermarks> marks) const {
  if (options_.end == KafkaEnd::kNone) return {};
  for (size_t i = 0; i < splits.size(); ++i) {
    KafkaSplit& split = splits[i];
    if (options_.end == KafkaEnd::kLatest) {
      split.end = std::max(split.offset, marks[i].high);
      continue;
    }
    const auto named = options_.end_offsets.find(split.partition);
    split.end = named == options_.end_offsets.end() ? split.offset : named->second;
    if (*split.end < split.offset) {
      return Status::InvalidArgument("end-offsets ends " + Describe(split.partition) + " at " +
                                     std::to_string(*split.end) + ", before its start " + std::to_string(split.offset));
    }
  }
  return {};
}

Result<std::vector<KafkaSplit>> KafkaDiscovery::FirstStart() {
  WEIR_ASSIGN_OR_RETURN(const std::vector<TopicPartition> partitions, ListPartitions());
  WEIR_RETURN_IF_ERROR(CheckNamed(options_.start_offsets, "start-offsets", partitions));
  WEIR_RETURN_IF_ERROR(CheckNamed(options_.end_offsets, "end-offsets", partitions));
  WEIR_ASSIGN_OR_RETURN(const std::vector<Watermarks> marks, admin_.QueryWatermarks(partitions));
  WEIR_ASSIGN_OR_RETURN(std::vector<KafkaSplit> splits, StartOffsets(partitions, marks));
  WEIR_RETURN_IF_ERROR(SetEnds(splits, marks));
  return splits;
}

Result<std::vector<KafkaSplit>> KafkaDiscovery::Restore(std::vector<KafkaSplit> saved,
                                                        const std::set<TopicPartition>& known) {
  WEIR_ASSIGN_OR_RETURN(const std::vector<TopicPartition> partitions, ListPartitions());
  std::erase_if(saved, [this](const KafkaSplit& split) { return options_.Retired(split.partition); });
  std::vector<TopicPartition> open;
  for (KafkaSplit& split : saved) {
    WEIR_RETURN_IF_ERROR(CheckUntil(split, options_.changefeed.max_timestamp));
    if (options_.end == KafkaEnd::kNone) split.end.reset();
    // Ended is what has been resolved as far as the definition goes now.
    if (options_.changefeed.max_timestamp && split.watermark.Next() >= *options_.changefeed.max_timestamp) {
      split.end = split.offset;
    }
    if (std::ranges::find(partitions, split.partition) == partitions.end()) {
      return Error(
          Status::FailedPrecondition("the checkpoint holds offset " + std::to_string(split.offset) + " of " +
                                     Describe(split.partition) + ", which the cluster or the definition no longer has" +
                                     (options_.frontier ? "; if it is gone for good, frontier.retire drops it" : "")));
    }
    if (!split.finished()) open.push_back(split.partition);
  }
  WEIR_ASSIGN_OR_RETURN(const std::vector<Watermarks> marks, admin_.QueryWatermarks(open));
  size_t i = 0;
  for (KafkaSplit& split : saved) {
    if (split.finished()) continue;
    WEIR_RETURN_IF_ERROR(CheckInLog(split.partition, "saved offset", split.offset, marks[i]));
    if (!split.end) WEIR_RETURN_IF_ERROR(SetEnds({&split, 1}, {&marks[i], 1}));
    ++i;
  }
  if (options_.bounded()) return saved;
  WEIR_ASSIGN_OR_RETURN(const std::vector<KafkaSplit> fresh, FindNew(known));
  saved.insert(saved.end(), fresh.begin(), fresh.end());
  return saved;
}

Result<std::vector<KafkaSplit>> KafkaDiscovery::FindNew(const std::set<TopicPartition>& known) {
  WEIR_ASSIGN_OR_RETURN(std::vector<TopicPartition> partitions, ListPartitions());
  std::erase_if(partitions, [&](const TopicPartition& partition) { return known.contains(partition); });
  WEIR_ASSIGN_OR_RETURN(const std::vector<Watermarks> marks, admin_.QueryWatermarks(partitions));
  std::vector<KafkaSplit> splits(partitions.size());
  for (size_t i = 0; i < partitions.size(); ++i) {
    splits[i].partition = partitions[i];
    splits[i].offset = marks[i].low;
  }
  return splits;
}

}  // namespace weir::connectors
