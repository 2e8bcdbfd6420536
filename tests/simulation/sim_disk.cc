#include "tests/simulation/sim_disk.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"

namespace weir::simulation {
namespace {

constexpr uint64_t kSectorBytes = 512;

using Slot = std::pair<uint64_t, std::string>;  // a folder and a name in it

void ApplyWrite(std::string& image, uint64_t offset, std::string_view data) {
  if (image.size() < offset + data.size()) image.resize(offset + data.size(), '\0');
  image.replace(offset, data.size(), data);
}

void Apply(std::string& image, const SimNode::Change& change) {
  if (change.truncation) {
    image.resize(change.offset, '\0');
  } else {
    ApplyWrite(image, change.offset, change.data);
  }
}

// Each sector that a write touches reaches the disk or not; the length may grow without the bytes.
void ApplySectors(std::string& image, const SimNode::Change& change, Random& random) {
  if (change.truncation) {
    if (random.OneIn(2)) Apply(image, change);
    return;
  }
  const uint64_t end = change.offset + change.data.size();
  for (uint64_t at = change.offset; at < end;) {
    const uint64_t next = std::min(end, (at / kSectorBytes + 1) * kSectorBytes);
    if (random.OneIn(2)) {
      ApplyWrite(image, at, std::string_view(change.data).substr(at - change.offset, next - at));
    }
    at = next;
  }
  if (image.size() < end && random.OneIn(2)) image.resize(end, '\0');
}

void ApplyUnsynced(SimNode& file, UnsyncedData model, Random& random) {
  const size_t count = file.unsynced.size();
  if (count == 0) return;
  size_t whole = count;
  switch (model) {
    case UnsyncedData::kDropped: whole = 0; break;
    case UnsyncedData::kPrefix: whole = random.Below(count + 1); break;
    case UnsyncedData::kSectors:
      for (const SimNode::Change& change : file.unsynced) ApplySectors(file.durable, change, random);
      return;
    case UnsyncedData::kTornLast: whole = count - 1; break;
    case UnsyncedData::kKept: break;
  }
  for (size_t i = 0; i < whole; ++i) Apply(file.durable, file.unsynced[i]);
  const SimNode::Change& last = file.unsynced.back();
  if (model == UnsyncedData::kTornLast && !last.truncation && !last.data.empty()) {
    const std::string_view data = last.data;
    ApplyWrite(file.durable, last.offset, data.substr(0, random.Below(data.size())));
  }
}

// Links are counted anew after a power loss. `seen`: folders that have been gone through.
void ClearLinks(SimNode& node, std::set<uint64_t>& seen) {
  node.links = 0;
  if (!seen.insert(node.id).second) return;
  for (const auto& [name, entry] : node.entries) ClearLinks(*entry, seen);
  for (const auto& [name, entry] : node.durable_entries) ClearLinks(*entry, seen);
}

}  // namespace

SimDisk::SimDisk() : root_(NewNode(true)) { root_->links = 1; }

SimDisk::SimDisk(const SimDisk& other)
    : next_id_(other.next_id_), used_bytes_(other.used_bytes_), operations_(other.operations_) {
  std::map<const SimNode*, SimNodePtr> copies;
  const auto copy = [&copies](const auto& self, const SimNodePtr& node) -> SimNodePtr {
    if (node == nullptr || copies.contains(node.get())) return copies[node.get()];
    SimNodePtr made = copies[node.get()] = std::make_shared<SimNode>(*node);
    for (auto& [name, entry] : made->entries) entry = self(self, entry);
    for (auto& [name, entry] : made->durable_entries) entry = self(self, entry);
    return made;
  };
  root_ = copy(copy, other.root_);
  for (NameOperation& operation : operations_) {
    for (NameChange& change : operation.changes) {
      change.folder = copy(copy, change.folder);
      change.node = copy(copy, change.node);
    }
  }
}

SimNodePtr SimDisk::NewNode(bool directory) {
  auto node = std::make_shared<SimNode>();
  node->id = next_id_++;
  node->directory = directory;
  return node;
}

void SimDisk::AddLinks(const SimNodePtr& node, int64_t by) {
  if (node == nullptr) return;
  const bool was_there = node->links > 0;
  WEIR_CHECK_GE(static_cast<int64_t>(node->links) + by, int64_t{0});
  node->links = static_cast<uint32_t>(static_cast<int64_t>(node->links) + by);
  const bool is_there = node->links > 0;
  if (was_there && !is_there) used_bytes_ -= node->content.size();
  if (!was_there && is_there) used_bytes_ += node->content.size();
}

void SimDisk::ChangeNames(std::vector<NameChange> changes) {
  // What gets a name first, so that a renamed file is not counted as gone in between.
  for (const NameChange& change : changes) AddLinks(change.node, 1);
  for (const NameChange& change : changes) {
    const auto found = change.folder->entries.find(change.name);
    if (found != change.folder->entries.end()) AddLinks(found->second, -1);
    if (change.node == nullptr) {
      change.folder->entries.erase(change.name);
    } else {
      change.folder->entries[change.name] = change.node;
    }
  }
  operations_.push_back({std::move(changes), false});
}

void SimDisk::Write(SimNode& file, uint64_t offset, std::string_view data) {
  const uint64_t before = file.content.size();
  ApplyWrite(file.content, offset, data);
  if (file.links > 0) used_bytes_ += file.content.size() - before;
  file.unsynced.push_back({.truncation = false, .offset = offset, .data = std::string(data)});
}

void SimDisk::Truncate(SimNode& file, uint64_t length) {
  if (file.content.size() == length) return;
  if (file.links > 0) used_bytes_ = used_bytes_ - file.content.size() + length;
  file.content.resize(length, '\0');
  file.unsynced.push_back({.truncation = true, .offset = length, .data = {}});
}

void SimDisk::SyncFile(SimNode& file) {
  for (const SimNode::Change& change : file.unsynced) Apply(file.durable, change);
  file.unsynced.clear();
}

void SimDisk::FailSyncFile(SimNode& file) { file.unsynced.clear(); }

// The operations that a sync of `folder` makes durable: all that touch it, and earlier ones on the same names as these.
std::vector<bool> SimDisk::OperationsOf(const SimNode& folder) const {
  std::vector<bool> chosen(operations_.size(), false);
  std::set<Slot> needed;
  for (size_t i = operations_.size(); i-- > 0;) {
    bool take = false;
    for (const NameChange& change : operations_[i].changes) {
      take = take || (change.folder->id == folder.id && !operations_[i].sync_failed) ||
             needed.contains({change.folder->id, change.name});
    }
    if (!take) continue;
    chosen[i] = true;
    for (const NameChange& change : operations_[i].changes) needed.insert({change.folder->id, change.name});
  }
  return chosen;
}

void SimDisk::MakeDurable(const std::vector<bool>& chosen) {
  std::vector<NameOperation> rest;
  for (size_t i = 0; i < operations_.size(); ++i) {
    if (!chosen[i]) {
      rest.push_back(std::move(operations_[i]));
      continue;
    }
    for (const NameChange& change : operations_[i].changes) {
      if (change.node == nullptr) {
        change.folder->durable_entries.erase(change.name);
      } else {
        change.folder->durable_entries[change.name] = change.node;
      }
    }
  }
  operations_ = std::move(rest);
}

void SimDisk::SyncFolder(const SimNode& folder) { MakeDurable(OperationsOf(folder)); }

void SimDisk::FailSyncFolder(const SimNode& folder) {
  const std::vector<bool> chosen = OperationsOf(folder);
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) operations_[i].sync_failed = true;
  }
}

std::vector<bool> SimDisk::DrawNames(Random& random, UnsyncedNames names) const {
  const size_t count = operations_.size();
  std::vector<bool> kept(count, false);
  switch (names) {
    case UnsyncedNames::kDropped: break;
    case UnsyncedNames::kKept: kept.assign(count, true); break;
    case UnsyncedNames::kPrefix: std::fill_n(kept.begin(), random.Below(count + 1), true); break;
    case UnsyncedNames::kSubset: {
      std::set<Slot> lost;  // names of which an operation is lost: later ones go too
      for (size_t i = 0; i < count; ++i) {
        bool keep = random.OneIn(2);
        for (const NameChange& change : operations_[i].changes) {
          keep = keep && !lost.contains({change.folder->id, change.name});
        }
        kept[i] = keep;
        if (keep) continue;
        for (const NameChange& change : operations_[i].changes) lost.insert({change.folder->id, change.name});
      }
      break;
    }
  }
  return kept;
}

void SimDisk::ShowDurable(SimNode& folder, Random& random, std::optional<UnsyncedData> data) {
  folder.entries = folder.durable_entries;
  for (const auto& [name, node] : folder.entries) {
    if (node->links++ > 0) continue;  // a second name of a file that has been seen to
    if (node->directory) {
      ShowDurable(*node, random, data);
      continue;
    }
    const auto model = data.has_value() ? *data : static_cast<UnsyncedData>(random.Below(5));
    ApplyUnsynced(*node, model, random);
    node->unsynced.clear();
    node->content = node->durable;
    used_bytes_ += node->content.size();
  }
}

void SimDisk::PowerLoss(Random& random, std::optional<UnsyncedData> data, std::optional<UnsyncedNames> names) {
  std::set<uint64_t> seen;
  ClearLinks(*root_, seen);
  for (const NameOperation& operation : operations_) {
    for (const NameChange& change : operation.changes) {
      if (change.node != nullptr) ClearLinks(*change.node, seen);
    }
  }
  MakeDurable(DrawNames(random, names.has_value() ? *names : static_cast<UnsyncedNames>(random.Below(4))));
  operations_.clear();
  used_bytes_ = 0;
  root_->links = 1;
  ShowDurable(*root_, random, data);
}

void SimDisk::Overwrite(SimNode& file, std::string content) {
  if (file.links > 0) used_bytes_ = used_bytes_ - file.content.size() + content.size();
  file.unsynced.clear();
  file.content = content;
  file.durable = std::move(content);
}

}  // namespace weir::simulation
