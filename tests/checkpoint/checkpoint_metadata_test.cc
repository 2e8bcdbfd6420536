#include "checkpoint/checkpoint_metadata.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/random.h"

namespace weir::checkpoint {
namespace {

CheckpointMetadata Example() {
  CheckpointMetadata metadata;
  metadata.job = "orders";
  metadata.storage = {.high = 1, .low = 2};
  metadata.attempt = {.high = 3, .low = 4};
  metadata.id = {.number = 12, .id = {.high = 5, .low = 6}};
  metadata.restored_from = {{.number = 4, .id = {.high = 7, .low = 8}}};
  metadata.ancestors = {{.number = 10, .id = {.high = 9, .low = 1}}, {.number = 11, .id = {.high = 9, .low = 2}}};
  metadata.key_groups = 128;
  VertexMetadata vertex{.vertex = 3, .uids = {"orders", "totals"}, .parallelism = 2, .subtasks = {}};
  for (uint32_t index = 0; index < 2; ++index) {
    SubtaskMetadata subtask;
    subtask.index = index;
    subtask.state.range = {.first = index * 0x80000000U, .last = 0x7fffffffU + index * 0x80000000U};
    subtask.state.files = {
        {.name = "CURRENT", .path = "shared/a" + std::to_string(index), .size_bytes = 16, .checksum = 99},
        {.name = "1.sst", .path = "shared/b", .size_bytes = 1U << 20U, .checksum = ~0ULL}};
    subtask.state.states = {{.uid = "totals", .name = "sum", .kind = "value", .codec = "decimal\xff", .id = 7}};
    subtask.state.entries_new = 5;
    subtask.state.bytes_new = 6;
    subtask.offsets["orders"] = R"({"0":42})";
    subtask.finished = index == 1;
    vertex.subtasks.push_back(subtask);
  }
  metadata.vertices = {vertex};
  metadata.enumerators = {{"orders", std::string("\0\x01", 2)}};
  metadata.assigned_splits = {{.uid = "orders", .id = "orders-0", .position = "{}"}};
  metadata.systems = {{.identity = "file:/out", .base = std::nullopt, .later = {}},
                      {.identity = "kafka:x",
                       .base = CheckpointId{.number = 9, .id = {.high = 1, .low = 1}},
                       .later = {{.checkpoint = {.number = 12, .id = {.high = 5, .low = 6}},
                                  .committables = {{.system = "kafka:x",
                                                    .uid = "sink",
                                                    .payload = R"({"name":"p"})",
                                                    .size_bytes = 100,
                                                    .rows = 3,
                                                    .segment = "s-1",
                                                    .checksum = 0xfeed}}}}}};
  metadata.created_wall_ns = 1'700'000'000'000'000'000;
  metadata.savepoint = true;
  metadata.claimed = {.folder = "/savepoints/one", .id = {.number = 3, .id = {.high = 7, .low = 7}}, .deleted = true};
  return metadata;
}

TEST(CheckpointMetadataTest, RoundTrips) {
  const CheckpointMetadata metadata = Example();
  const auto decoded = DecodeMetadata(EncodeMetadata(metadata), "_metadata");
  ASSERT_TRUE(decoded.has_value()) << decoded.error().ToString();
  EXPECT_EQ(*decoded, metadata);
}

TEST(CheckpointMetadataTest, EveryTruncationIsRefusedByName) {
  const std::string bytes = EncodeMetadata(Example());
  for (size_t length = 0; length < bytes.size(); ++length) {
    const auto decoded = DecodeMetadata(std::string_view(bytes).substr(0, length), "/s/chk-12/_metadata");
    ASSERT_FALSE(decoded.has_value()) << length;
    EXPECT_EQ(decoded.error().code(), StatusCode::kCorruption);
    EXPECT_NE(decoded.error().message().find("/s/chk-12/_metadata"), std::string::npos);
  }
}

TEST(CheckpointMetadataTest, EveryFlippedBitIsRefused) {
  const std::string bytes = EncodeMetadata(Example());
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_FALSE(DecodeMetadata(changed, "m").has_value()) << bit;
  }
}

TEST(CheckpointMetadataTest, AForeignFileANewerVersionAndATailAreRefused) {
  EXPECT_NE(DecodeMetadata("{\"some\": \"json, long enough to be a header\"}", "m").error().message().find("WEIRCKPT"),
            std::string::npos);
  CheckpointMetadata newer = Example();
  newer.format_version = 2;
  EXPECT_NE(DecodeMetadata(EncodeMetadata(newer), "m").error().message().find("version 2"), std::string::npos);
  EXPECT_FALSE(DecodeMetadata(EncodeMetadata(Example()) + "x", "m").has_value());
}

// Bytes that a careless writer could have made: the checksum fits.
TEST(CheckpointMetadataTest, RandomBytesUnderAFittingChecksumNeverCrash) {
  const std::string bytes = EncodeMetadata(Example());
  SeededRandom random(7);
  size_t accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string message = bytes.substr(20, bytes.size() - 28);
    for (uint64_t edits = 1 + random.Below(8); edits > 0; --edits) {
      const size_t at = random.Below(message.size());
      switch (random.Below(4)) {
        case 0: message[at] = static_cast<char>(random.Below(256)); break;
        case 1: message.erase(at, 1 + random.Below(5)); break;
        case 2: message.insert(at, 1 + random.Below(5), static_cast<char>(random.Below(256))); break;
        default: message.resize(at + 1); break;
      }
      if (message.empty()) message = "x";
    }
    std::string changed = bytes.substr(0, 12);
    AppendBigEndian64(changed, message.size());
    changed += message;
    AppendBigEndian64(changed, Hash64(changed));
    const auto decoded = DecodeMetadata(changed, "m");
    if (!decoded.has_value()) continue;
    ++accepted;
    EXPECT_TRUE(DecodeMetadata(EncodeMetadata(*decoded), "m").has_value());
  }
  EXPECT_GT(accepted, 0U);
}

TEST(CheckpointMetadataTest, AcceptsNoDisorderlyOutputs) {
  CheckpointMetadata metadata = Example();
  metadata.systems[1].later.push_back(metadata.systems[1].later[0]);
  EXPECT_FALSE(DecodeMetadata(EncodeMetadata(metadata), "m").has_value());
  metadata = Example();
  metadata.id.number = 0;
  EXPECT_FALSE(DecodeMetadata(EncodeMetadata(metadata), "m").has_value());
}

TEST(CheckpointMetadataTest, KnowsItsFilesItsLineAndItsUids) {
  const CheckpointMetadata metadata = Example();
  const auto files = metadata.StateFiles();
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[2].path, "shared/b");
  EXPECT_EQ(metadata.StateBytes(), 32U + (1U << 20U));
  EXPECT_EQ(metadata.StatefulUids(), (std::vector<std::string>{"orders", "totals"}));
  EXPECT_TRUE(metadata.IsOrDescendsFrom({.high = 7, .low = 8}));
  EXPECT_TRUE(metadata.IsOrDescendsFrom({.high = 9, .low = 1}));
  EXPECT_TRUE(metadata.IsOrDescendsFrom(metadata.id.id));
  EXPECT_FALSE(metadata.IsOrDescendsFrom({.high = 1, .low = 1}));
  EXPECT_EQ(metadata.systems[1].Target()->number, 12U);
  EXPECT_FALSE(metadata.systems[0].Target().has_value());
}

TEST(CheckpointMetadataTest, TheLineIsBoundedAndKeepsItsNewest) {
  CheckpointMetadata metadata = Example();
  for (uint64_t number = 13; number < 300; ++number) {
    metadata.ancestors = AncestorsOfChild(metadata);
    metadata.id = {.number = number, .id = {.high = 5, .low = number}};
  }
  EXPECT_EQ(metadata.ancestors.size(), kAncestorsMax);
  EXPECT_EQ(metadata.ancestors.back().number, 298U);
  EXPECT_TRUE(metadata.IsOrDescendsFrom({.high = 7, .low = 8}));
}

}  // namespace
}  // namespace weir::checkpoint
