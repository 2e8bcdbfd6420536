// Small sources, operators and sinks for tests of the engine. Rows have two columns: key (string) and seq (int64).
#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "operators/operator.h"
#include "operators/sink.h"
#include "operators/source.h"
#include "state/key_groups.h"

namespace weir::operators {

inline SchemaPtr KeySeqSchema() {
  static const SchemaPtr schema = std::make_shared<const Schema>(std::vector<std::string>{"key", "seq"});
  return schema;
}

inline void AddKeySeq(Batch& batch, std::string_view key, int64_t seq) {
  Value* row = batch.AddRow(RowKind::kInsert, EventTime{seq, 0});
  row[0] = Value::Text(ValueType::kString, batch.arena().Copy(key));
  row[1] = Value::Int64(seq);
}

inline Batch KeySeqBatch(const std::vector<std::pair<std::string, int64_t>>& rows) {
  Batch batch(KeySeqSchema(), std::max<size_t>(rows.size(), 1));
  for (const auto& [key, seq] : rows) AddKeySeq(batch, key, seq);
  return batch;
}

inline void SetKeys(Batch& batch) {
  for (size_t i = 0; i < batch.rows(); ++i) {
    const std::string_view key = batch.at(i, 0).text();
    batch.SetKey(i, {state::HashKey(key), key});
  }
}

using Rows = std::vector<std::pair<std::string, int64_t>>;

inline Rows RowsOf(const Batch& batch) {
  Rows rows;
  for (size_t i = 0; i < batch.rows(); ++i) rows.emplace_back(batch.at(i, 0).text(), batch.at(i, 1).int64_value());
  return rows;
}

inline int64_t ToInt(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// What a counting source gives: split "s<i>" has the rows seq 0..rows-1 with key "<split>/<seq mod keys>".
struct CountingOptions {
  int splits = 3;
  int64_t rows = 100;
  int64_t keys = 5;
  int64_t batch_rows = 7;
  bool bounded = true;
  bool watermarks = true;
  bool one_split_a_step = false;  // the enumerator assigns slowly
  std::string attempt = {};       // makes a reader's events unique
};

inline std::string CountingKey(const std::string& split, int64_t seq, int64_t keys) {
  return split + "/" + std::to_string(seq % keys);
}

class CountingReader final : public SourceReader {
 public:
  explicit CountingReader(CountingOptions options) : options_(std::move(options)) {}

  Status Open(ReaderContext& context) override {
    context_ = context;
    return Status::Ok();
  }
  Status AddSplits(std::vector<SourceSplit> splits) override {
    for (SourceSplit& split : splits) {
      const auto [at, added] = next_.emplace(split.id, ToInt(split.position));
      WEIR_CHECK(added);
      context_.send_event("got " + split.id + "#" + options_.attempt);
    }
    return Status::Ok();
  }
  void NoMoreSplits() override { last_ = true; }
  Result<PollStatus> PollNext(SourceOutput& output) override {
    bool more = false;
    for (auto& [id, seq] : next_) {
      if (seq >= options_.rows || id == turn_) continue;
      if (!more) WEIR_RETURN_IF_ERROR(EmitOne(id, seq, output));
      more = true;
    }
    if (more) return PollStatus::kMore;
    if (!turn_.empty()) {  // nobody else has rows
      turn_.clear();
      return PollStatus::kMore;
    }
    return last_ && options_.bounded ? PollStatus::kFinished : PollStatus::kIdle;
  }
  std::vector<SourceSplit> SnapshotState(CheckpointId) override {
    std::vector<SourceSplit> splits;
    for (const auto& [id, seq] : next_) splits.push_back({id, std::to_string(seq)});
    return splits;
  }
  Status NotifyCheckpointApplied(CheckpointId) override { return Status::Ok(); }

 private:
  Status EmitOne(const std::string& id, int64_t& seq, SourceOutput& output) {
    turn_ = id;
    const int64_t end = std::min(options_.rows, seq + options_.batch_rows);
    Batch batch(KeySeqSchema(), static_cast<size_t>(end - seq));
    for (; seq < end; ++seq) AddKeySeq(batch, CountingKey(id, seq, options_.keys), seq);
    SetKeys(batch);
    WEIR_RETURN_IF_ERROR(output.Emit(std::move(batch)));
    if (options_.watermarks) output.EmitWatermark(id, {EventTime{seq - 1, 0}});
    return Status::Ok();
  }

  const CountingOptions options_;
  ReaderContext context_;
  std::map<std::string, int64_t> next_;
  std::string turn_;  // whose turn it was
  bool last_ = false;
};

// What a CountingEnumerator knows at a checkpoint.
struct CountingSnapshot {
  std::map<std::string, std::string> unassigned;
  std::map<std::string, int> events;  // how often each has been handled
};

inline CountingSnapshot DecodeCounting(const std::string& text) {
  CountingSnapshot snapshot;
  bool events = false;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '|') {
      events = true;
      ++at;
      continue;
    }
    const size_t equals = text.find('=', at);
    const size_t end = text.find(';', equals);
    const std::string name = text.substr(at, equals - at);
    const std::string value = text.substr(equals + 1, end - equals - 1);
    if (events) {
      snapshot.events[name] = static_cast<int>(ToInt(value));
    } else {
      snapshot.unassigned[name] = value;
    }
    at = end + 1;
  }
  return snapshot;
}

// Its snapshot: unassigned splits as "id=position;", then "|" and the events of readers as "event=times;".
class CountingEnumerator final : public SplitEnumerator {
 public:
  explicit CountingEnumerator(CountingOptions options) : options_(std::move(options)) {}

  Status Start(EnumeratorContext context, std::optional<std::string> restored,
               std::vector<SourceSplit> splits) override {
    context_ = std::move(context);
    if (!restored.has_value()) {
      for (int i = 0; i < options_.splits; ++i) unassigned_["s" + std::to_string(i)] = "0";
    } else {
      CountingSnapshot snapshot = DecodeCounting(*restored);
      unassigned_ = std::move(snapshot.unassigned);
      confirmed_ = std::move(snapshot.events);
    }
    for (SourceSplit& split : splits) unassigned_[split.id] = split.position;
    return Status::Ok();
  }
  Status Step() override {
    while (!unassigned_.empty()) {
      const auto first = unassigned_.begin();
      context_.assign_splits(next_ % context_.parallelism, {{first->first, first->second}});
      unassigned_.erase(first);
      ++next_;
      if (!options_.one_split_a_step) continue;
      context_.wakeup->Wake();
      return Status::Ok();
    }
    if (std::exchange(said_last_, true)) return Status::Ok();
    for (uint32_t i = 0; i < context_.parallelism; ++i) context_.no_more_splits(i);
    return Status::Ok();
  }
  Status HandleEvent(uint32_t, const std::string& event) override {
    ++confirmed_[event];
    return Status::Ok();
  }
  bool ready() const override { return true; }
  Result<std::string> SnapshotState(CheckpointId) override {
    std::string text;
    for (const auto& [id, position] : unassigned_) text += id + "=" + position + ";";
    text += "|";
    for (const auto& [event, times] : confirmed_) text += event + "=" + std::to_string(times) + ";";
    return text;
  }

 private:
  const CountingOptions options_;
  EnumeratorContext context_;
  std::map<std::string, std::string> unassigned_;
  std::map<std::string, int> confirmed_;
  uint32_t next_ = 0;
  bool said_last_ = false;
};

// Emits for each row (key, sum of seq of that key so far). State: the sum as text.
class KeyedSum final : public Operator {
 public:
  Status Open(OperatorContext& context) override {
    state_ = context.state;
    WEIR_ASSIGN_OR_RETURN(id_, state_->Register({context.uid, "sum", "value", "int64", 0}));
    return Status::Ok();
  }
  Status ProcessBatch(int, Batch batch, Output& output) override {
    Batch sums(KeySeqSchema(), batch.rows());
    for (size_t i = 0; i < batch.rows(); ++i) {
      const RowKey& key = batch.key(i);
      const state::EntryKey entry{key.hash, key.bytes, {}};
      WEIR_ASSIGN_OR_RETURN(const std::optional<std::string_view> before, state_->Get(id_, entry));
      const int64_t sum = (before.has_value() ? ToInt(*before) : 0) + batch.at(i, 1).int64_value();
      WEIR_RETURN_IF_ERROR(state_->Put(id_, entry, std::to_string(sum)));
      AddKeySeq(sums, key.bytes, sum);
    }
    return output.Emit(std::move(sums));
  }

 private:
  state::SubtaskState* state_ = nullptr;
  state::StateId id_;
};

// Passes batches on; counts what it saw.
class Probe final : public Operator {
 public:
  struct Seen {
    std::mutex mutex;
    std::vector<Watermark> watermarks;
    std::map<int, uint64_t> rows_by_input;
    int finished = 0;
  };
  explicit Probe(std::shared_ptr<Seen> seen) : seen_(std::move(seen)) {}
  Status Open(OperatorContext&) override { return Status::Ok(); }
  Status ProcessBatch(int input, Batch batch, Output& output) override {
    {
      std::lock_guard lock(seen_->mutex);
      seen_->rows_by_input[input] += batch.rows();
    }
    return output.Emit(std::move(batch));
  }
  Status ProcessWatermark(Watermark watermark, Output&) override {
    std::lock_guard lock(seen_->mutex);
    seen_->watermarks.push_back(watermark);
    return Status::Ok();
  }
  Status Finish(Output&) override {
    std::lock_guard lock(seen_->mutex);
    ++seen_->finished;
    return Status::Ok();
  }

 private:
  std::shared_ptr<Seen> seen_;
};

// The outside world of collecting sinks: sealed pieces by name, and what slow sinks wait for.
struct SinkWorld {
  std::mutex mutex;
  std::map<std::string, Rows> sealed;
  int pieces = 0;
  std::function<bool()> can_write;          // empty: always
  std::function<bool()> ready_for_barrier;  // empty: always
  uint64_t written = 0;
  std::vector<std::pair<uint64_t, int64_t>> watermarks;  // rows written before each, and its nanoseconds
};

class CollectingWriter final : public SinkWriter {
 public:
  explicit CollectingWriter(std::shared_ptr<SinkWorld> world) : world_(std::move(world)) {}
  Status Open(WriterContext& context) override {
    uid_ = context.uid;
    return Status::Ok();
  }
  bool CanWrite() override { return !world_->can_write || world_->can_write(); }
  Status Write(Batch batch) override {
    Rows rows = RowsOf(batch);
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    std::lock_guard lock(world_->mutex);
    world_->written += batch.rows();
    return Status::Ok();
  }
  Status ProcessWatermark(Watermark watermark) override {
    std::lock_guard lock(world_->mutex);
    world_->watermarks.emplace_back(world_->written, watermark.time.wall_ns);
    return Status::Ok();
  }
  Result<bool> ReadyForBarrier() override { return !world_->ready_for_barrier || world_->ready_for_barrier(); }
  Result<std::vector<checkpoint::Committable>> PrepareCommit(CheckpointId) override {
    std::vector<checkpoint::Committable> sealed;
    if (rows_.empty()) return sealed;
    std::lock_guard lock(world_->mutex);
    const std::string name = "piece-" + std::to_string(world_->pieces++);
    sealed.push_back({"test:world", uid_, name, 0, rows_.size()});
    world_->sealed[name] = std::exchange(rows_, {});
    return sealed;
  }

 private:
  std::shared_ptr<SinkWorld> world_;
  std::string uid_;
  Rows rows_;
};

}  // namespace weir::operators
