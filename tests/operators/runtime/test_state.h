// A subtask's state in one ordered map, for tests of the engine: every snapshot is a full copy, and a "file" of it is a
// string in a TestStateStorage.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "state/key_groups.h"
#include "state/subtask_state.h"

namespace weir::operators {

struct TestStateContent {
  std::map<std::tuple<uint32_t, std::string, std::string>, std::string> keyed;  // hash, key, namespace
  std::map<std::pair<std::string, std::string>, std::string> entries;           // uid, name
};

// Any thread.
class TestStateStorage {
 public:
  std::string Store(TestStateContent content) {
    std::lock_guard lock(mutex_);
    const std::string path = "state-" + std::to_string(contents_.size());
    contents_[path] = std::move(content);
    return path;
  }
  TestStateContent Load(const std::string& path) const {
    std::lock_guard lock(mutex_);
    return contents_.at(path);
  }
  void FailNextWrite() {
    std::lock_guard lock(mutex_);
    fail_next_ = true;
  }
  bool TakeFailure() {
    std::lock_guard lock(mutex_);
    return std::exchange(fail_next_, false);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, TestStateContent> contents_;
  bool fail_next_ = false;
};

class TestState final : public state::SubtaskState {
 public:
  explicit TestState(TestStateStorage& storage) : storage_(storage) {}

  void Restore(const std::vector<state::SubtaskStateHandle>& handles, state::HashRange range) {
    for (const state::SubtaskStateHandle& handle : handles) {
      for (const state::StateFile& file : handle.files) {
        TestStateContent content = storage_.Load(file.path);
        for (auto& [key, value] : content.keyed) {
          if (std::get<0>(key) >= range.first && std::get<0>(key) <= range.last) content_.keyed[key] = value;
        }
        for (auto& [key, value] : content.entries) content_.entries[key] = value;
      }
    }
  }

  Result<state::StateId> Register(const state::StateDescription&) override { return state::StateId{0}; }
  Status Prefetch(state::StateId, std::span<const state::EntryKey>) override { return Status::Ok(); }
  Result<std::optional<std::string_view>> Get(state::StateId, const state::EntryKey& key) override {
    const auto at = content_.keyed.find(Key(key));
    if (at == content_.keyed.end()) return std::nullopt;
    return std::optional<std::string_view>(at->second);
  }
  Status Put(state::StateId, const state::EntryKey& key, std::string_view value) override {
    content_.keyed[Key(key)] = value;
    ++unwritten_;
    return Status::Ok();
  }
  Status Delete(state::StateId, const state::EntryKey& key) override {
    content_.keyed.erase(Key(key));
    return Status::Ok();
  }
  Status ScanKey(state::StateId, const state::EntryKey&, Visitor) override { return Status::Ok(); }
  Status ScanKeyRange(state::StateId, const state::EntryKey&, std::string_view, Visitor) override {
    return Status::Ok();
  }
  Status ScanAll(state::StateId, Visitor) override { return Status::Ok(); }
  Status PutOperatorEntry(std::string_view uid, std::string_view name, std::string_view value) override {
    content_.entries[{std::string(uid), std::string(name)}] = value;
    return Status::Ok();
  }
  Status DeleteOperatorEntry(std::string_view uid, std::string_view name) override {
    content_.entries.erase({std::string(uid), std::string(name)});
    return Status::Ok();
  }
  Result<std::vector<OperatorEntry>> OperatorEntries(std::string_view uid) override {
    std::vector<OperatorEntry> entries;
    for (const auto& [key, value] : content_.entries) {
      if (key.first == uid) entries.push_back({key.second, value});
    }
    return entries;
  }

  // A budget in puts; 0: none.
  void set_flush_after(size_t puts) { flush_after_ = puts; }
  bool blocked() const override { return NeedsFlush() && pending_; }
  bool NeedsFlush() const override { return flush_after_ > 0 && unwritten_ >= flush_after_; }
  std::unique_ptr<state::PendingSnapshot> Freeze(std::optional<CheckpointId> checkpoint) override {
    WEIR_CHECK(!pending_);
    pending_ = true;
    unwritten_ = 0;
    ++(checkpoint.has_value() ? snapshots_ : flushes_);
    return std::make_unique<Pending>(storage_, content_);
  }
  void SnapshotWritten(const Status&) override {
    WEIR_CHECK(pending_);
    pending_ = false;
  }
  bool snapshot_pending() const override { return pending_; }
  void CheckpointAborted(CheckpointId) override {}
  Usage usage() const override { return {}; }

  size_t flushes() const { return flushes_; }
  size_t snapshots() const { return snapshots_; }
  const TestStateContent& content() const { return content_; }

 private:
  class Pending final : public state::PendingSnapshot {
   public:
    Pending(TestStateStorage& storage, TestStateContent content) : storage_(storage), content_(std::move(content)) {}
    Result<state::SubtaskStateHandle> Write() override {
      if (storage_.TakeFailure()) return Error(Status::IoError("disk full"));
      state::SubtaskStateHandle handle;
      handle.files.push_back({"all", storage_.Store(std::move(content_)), 0, 0});
      return handle;
    }

   private:
    TestStateStorage& storage_;
    TestStateContent content_;
  };
  static std::tuple<uint32_t, std::string, std::string> Key(const state::EntryKey& key) {
    return {key.hash, std::string(key.key), std::string(key.name_space)};
  }

  TestStateStorage& storage_;
  TestStateContent content_;
  bool pending_ = false;
  size_t unwritten_ = 0;
  size_t flush_after_ = 0;
  size_t flushes_ = 0;
  size_t snapshots_ = 0;
};

}  // namespace weir::operators
