#include "state/ordered_map_store.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"

namespace weir::state {
namespace {

constexpr std::string_view kRunsName = "RUNS";
constexpr size_t kRunsMax = 8;
constexpr size_t kChecksumSize = 8;

using Entries = std::map<std::string, std::string, std::less<>>;

void AppendEntry(std::string& out, std::string_view key, std::optional<std::string_view> value) {
  AppendLengthPrefixed(out, key);
  out.push_back(value.has_value() ? '\1' : '\0');
  if (value.has_value()) AppendLengthPrefixed(out, *value);
}

// Applies a run's bytes; false if they are damaged.
bool ApplyRun(std::string_view bytes, Entries& entries) {
  if (bytes.size() < kChecksumSize) return false;
  const std::string_view body = bytes.substr(0, bytes.size() - kChecksumSize);
  if (ReadBigEndian64(bytes.substr(body.size())) != Hash64(body)) return false;
  std::string_view rest = body;
  while (!rest.empty()) {
    const std::optional<std::string_view> key = ReadLengthPrefixed(rest);
    if (!key.has_value() || rest.empty()) return false;
    const bool present = rest.front() != '\0';
    rest.remove_prefix(1);
    if (!present) {
      if (const auto found = entries.find(*key); found != entries.end()) entries.erase(found);
      continue;
    }
    const std::optional<std::string_view> value = ReadLengthPrefixed(rest);
    if (!value.has_value()) return false;
    entries.insert_or_assign(std::string(*key), std::string(*value));
  }
  return true;
}

// Keeps its place by key, so that the map may change under it.
class OrderedMapCursor final : public StoreCursor {
 public:
  OrderedMapCursor(const Entries& entries, std::string_view from) : entries_(entries) {
    Take(entries_.lower_bound(from));
  }
  bool valid() const override { return valid_; }
  Status status() const override { return Status::Ok(); }
  std::string_view key() const override { return key_; }
  std::string_view value() const override { return value_; }
  void Next() override { Take(entries_.upper_bound(key_)); }

 private:
  void Take(Entries::const_iterator at) {
    valid_ = at != entries_.end();
    if (!valid_) return;
    key_ = at->first;
    value_ = at->second;
  }

  const Entries& entries_;
  bool valid_ = false;
  std::string key_;
  std::string value_;
};

class OrderedMapStore final : public LocalStore {
 public:
  OrderedMapStore(FileSystem& fs, std::string folder) : fs_(fs), folder_(std::move(folder)) {}

  Status Load() {
    WEIR_ASSIGN_OR_RETURN(const std::string names, ReadFile(fs_, JoinPath(folder_, kRunsName)));
    for (size_t at = 0; at < names.size();) {
      const size_t end = names.find('\n', at);
      if (end == std::string::npos) return Status::Corruption(JoinPath(folder_, kRunsName) + " is cut short");
      runs_.push_back(names.substr(at, end - at));
      at = end + 1;
      const std::string path = JoinPath(folder_, runs_.back());
      WEIR_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(fs_, path));
      if (!ApplyRun(bytes, entries_)) return Status::Corruption(path + " is no whole run of entries");
      const unsigned long number = std::strtoul(runs_.back().c_str(), nullptr, 10);
      next_number_ = std::max<uint64_t>(next_number_, number + 1);
    }
    return Status::Ok();
  }

  Status MultiGet(std::span<const std::string_view> keys, std::vector<std::optional<std::string>>& values) override {
    values.clear();
    for (const std::string_view key : keys) {
      const auto found = entries_.find(key);
      values.push_back(found == entries_.end() ? std::nullopt : std::optional<std::string>(found->second));
    }
    return Status::Ok();
  }

  Status WriteRun(SortedRun run) override {
    std::string bytes;
    std::string last;
    RunEntry entry;
    while (run(entry)) {
      WEIR_CHECK(last.empty() || last < entry.key);
      last.assign(entry.key);
      AppendEntry(bytes, entry.key, entry.value);
    }
    if (bytes.empty()) return Status::Ok();
    WEIR_RETURN_IF_ERROR(AddFile(std::move(bytes)));
    return runs_.size() > kRunsMax ? Compact() : Status::Ok();
  }

  Status DropRange(std::string_view first, std::string_view behind) override {
    entries_.erase(entries_.lower_bound(first), entries_.lower_bound(behind));
    return Compact();
  }

  Result<std::unique_ptr<StoreCursor>> Scan(std::string_view from) override {
    return std::make_unique<OrderedMapCursor>(entries_, from);
  }

  Status VisitFiles(FileVisitor visit) override {
    std::string names;
    for (const std::string& run : runs_) {
      WEIR_RETURN_IF_ERROR(visit({.name = run, .path = JoinPath(folder_, run), .content = std::nullopt}));
      names += run;
      names += '\n';
    }
    return visit({.name = std::string(kRunsName), .path = {}, .content = std::move(names)});
  }

 private:
  // Writes the file of a run and applies it.
  Status AddFile(std::string bytes) {
    AppendBigEndian64(bytes, Hash64(bytes));
    char name[32];
    std::snprintf(name, sizeof name, "%06llu.run", static_cast<unsigned long long>(next_number_++));
    WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file,
                          fs_.OpenForWrite(JoinPath(folder_, name), WriteMode::kCreateNew));
    WEIR_RETURN_IF_ERROR(file->Append(bytes));
    WEIR_RETURN_IF_ERROR(file->Close());
    runs_.emplace_back(name);
    WEIR_CHECK(ApplyRun(bytes, entries_));
    return Status::Ok();
  }

  // One run with everything in place of all.
  Status Compact() {
    std::string bytes;
    for (const auto& [key, value] : entries_) AppendEntry(bytes, key, value);
    const std::vector<std::string> former = std::exchange(runs_, {});
    if (Status status = AddFile(std::move(bytes)); !status.ok()) {
      runs_ = former;
      return status;
    }
    for (const std::string& name : former) WEIR_RETURN_IF_ERROR(fs_.Remove(JoinPath(folder_, name)));
    return Status::Ok();
  }

  FileSystem& fs_;
  const std::string folder_;
  Entries entries_;
  std::vector<std::string> runs_;
  uint64_t next_number_ = 1;
};

class OrderedMapStoreFactory final : public LocalStoreFactory {
 public:
  explicit OrderedMapStoreFactory(FileSystem& fs) : fs_(fs) {}

  Result<std::unique_ptr<LocalStore>> Open(const std::string& folder, Mode mode) override {
    auto store = std::make_unique<OrderedMapStore>(fs_, folder);
    if (mode != Mode::kCreate) WEIR_RETURN_IF_ERROR(store->Load());
    return store;
  }

 private:
  FileSystem& fs_;
};

}  // namespace

std::unique_ptr<LocalStoreFactory> NewOrderedMapStoreFactory(FileSystem& fs) {
  return std::make_unique<OrderedMapStoreFactory>(fs);
}

}  // namespace weir::state
