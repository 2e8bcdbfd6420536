#include "operators/runtime/output_writer.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "state/key_groups.h"

namespace weir::operators {
namespace {

// A partial batch leaves after so many writes to its edge, so that a target with few rows waits for others only
// briefly.
constexpr uint32_t kPartialAgeMax = 16;
constexpr size_t kPartialRowsMin = 32;

bool SameSchema(const Batch& a, const Batch& b) {
  return a.schema() == b.schema() || (a.schema() != nullptr && b.schema() != nullptr && *a.schema() == *b.schema());
}

Element CopyControl(const Element& element) {
  if (const auto* watermark = std::get_if<Watermark>(&element)) return *watermark;
  if (const auto* barrier = std::get_if<checkpoint::CheckpointBarrier>(&element)) return *barrier;
  WEIR_CHECK(std::holds_alternative<EndOfInput>(element));
  return EndOfInput{};
}

}  // namespace

Batch CopyBatch(const Batch& batch) {
  Batch copy(batch.schema(), std::max<size_t>(batch.rows(), 1));
  for (size_t i = 0; i < batch.rows(); ++i) copy.AppendCopy(batch, i);
  return copy;
}

OutputWriter::OutputWriter(std::vector<OutputEdge> edges, uint32_t key_groups) : key_groups_(key_groups) {
  for (OutputEdge& edge : edges) {
    WEIR_CHECK(!edge.channels.empty());
    WEIR_CHECK(edge.partitioning != Partitioning::kForward || edge.channels.size() == 1);
    if (edge.tag.empty()) main_edges_.push_back(edges_.size());
    Edge made{std::move(edge.uid), std::move(edge.tag), edge.partitioning, {}, 0};
    for (Channel* channel : edge.channels) {
      WEIR_CHECK(channel != nullptr);
      made.targets.emplace_back().channel = channel;
    }
    edges_.push_back(std::move(made));
  }
}

void OutputWriter::Write(Batch batch) {
  if (batch.empty()) return;
  for (size_t i = 0; i < main_edges_.size(); ++i) {
    Edge& edge = edges_[main_edges_[i]];
    const bool last = i + 1 == main_edges_.size();
    if (edge.partitioning == Partitioning::kHash && edge.targets.size() > 1) {
      WriteHashed(edge, batch);
    } else {
      WriteTo(edge, last ? std::move(batch) : CopyBatch(batch));
    }
  }
}

void OutputWriter::WriteSide(std::string_view uid, std::string_view tag, const Batch& batch) {
  if (batch.empty()) return;
  for (Edge& edge : edges_) {
    if (edge.tag != tag || edge.uid != uid) continue;
    if (edge.partitioning == Partitioning::kHash && edge.targets.size() > 1) {
      WriteHashed(edge, batch);
    } else {
      WriteTo(edge, CopyBatch(batch));
    }
  }
}

bool OutputWriter::HasSide(std::string_view uid, std::string_view tag) const {
  return std::any_of(edges_.begin(), edges_.end(),
                     [&](const Edge& edge) { return edge.tag == tag && edge.uid == uid; });
}

void OutputWriter::WriteTo(Edge& edge, Batch batch) {
  switch (edge.partitioning) {
    case Partitioning::kForward:
    case Partitioning::kHash:  // one target
      Send(edge.targets.front(), std::move(batch));
      return;
    case Partitioning::kRebalance:
      Send(edge.targets[edge.next], std::move(batch));
      edge.next = (edge.next + 1) % edge.targets.size();
      return;
    case Partitioning::kBroadcast:
      for (size_t i = 0; i + 1 < edge.targets.size(); ++i) Send(edge.targets[i], CopyBatch(batch));
      Send(edge.targets.back(), std::move(batch));
      return;
  }
}

void OutputWriter::WriteHashed(Edge& edge, const Batch& batch) {
  WEIR_CHECK(batch.keyed());
  const auto parallelism = static_cast<uint32_t>(edge.targets.size());
  const size_t share = 2 * batch.rows() / edge.targets.size();
  const size_t capacity = std::clamp(share, kPartialRowsMin, Batch::kDefaultCapacity);
  for (Target& target : edge.targets) {
    if (!target.partial.empty() && (++target.age >= kPartialAgeMax || !SameSchema(target.partial, batch))) {
      SendPartial(target);
    }
  }
  for (size_t i = 0; i < batch.rows(); ++i) {
    Target& target = edge.targets[state::SubtaskOf(batch.key(i).hash, parallelism, key_groups_)];
    if (target.partial.capacity() == 0) {
      target.partial = Batch(batch.schema(), capacity);
      target.age = 0;
    }
    target.partial.AppendCopy(batch, i);
    if (target.partial.full()) SendPartial(target);
  }
}

void OutputWriter::SendPartial(Target& target) {
  Batch partial = std::exchange(target.partial, Batch());
  if (!partial.empty()) Send(target, std::move(partial));
}

void OutputWriter::Send(Target& target, Element element) {
  if (target.kept.empty() && target.channel->TryPush(element)) return;
  target.kept.push_back(std::move(element));
  ++kept_;
}

void OutputWriter::WriteControl(const Element& element) {
  Flush();
  for (Edge& edge : edges_) {
    for (Target& target : edge.targets) Send(target, CopyControl(element));
  }
}

void OutputWriter::Flush() {
  for (Edge& edge : edges_) {
    for (Target& target : edge.targets) SendPartial(target);
  }
}

bool OutputWriter::HasRoom() {
  if (kept_ == 0) return true;
  for (Edge& edge : edges_) {
    for (Target& target : edge.targets) {
      while (!target.kept.empty() && target.channel->TryPush(target.kept.front())) {
        target.kept.pop_front();
        --kept_;
      }
    }
  }
  return kept_ == 0;
}

}  // namespace weir::operators
