// Counts allocations: rows have none of their own. A program of its own, because it replaces operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "connectors/blackhole/sink.h"
#include "connectors/format/format.h"
#include "connectors/format/json_writer.h"
#include "connectors/generator/source.h"
#include "connectors/kafka/row_encoder.h"
#include "tests/connectors/collected_output.h"
#include "tests/simulation/manual_clock.h"

namespace {
std::atomic<uint64_t> allocations = 0;
}

// The compiler sees through one of the two and not through the other where it inlines some.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace weir::connectors {
namespace {

constexpr double kPerRowMax = 0.01;
constexpr uint64_t kRows = 200'000;

// Hands batches straight to a sink writer.
class SinkOutput final : public operators::SourceOutput {
 public:
  explicit SinkOutput(operators::SinkWriter& writer) : writer_(writer) {}
  Status Emit(operators::Batch batch) override {
    rows += batch.rows();
    return writer_.Write(std::move(batch));
  }
  Status EmitSide(std::string_view, operators::Batch) override { return Status::Ok(); }
  bool HasSide(std::string_view) const override { return false; }
  void EmitWatermark(const std::string&, operators::Watermark) override {}

  uint64_t rows = 0;

 private:
  operators::SinkWriter& writer_;
};

std::unique_ptr<operators::SinkWriter> NewBlackhole() {
  return std::move(*std::move(*BlackholeSinkType().create({}))->CreateWriter());
}

TEST(AllocationTest, GeneratorToBlackhole) {
  const auto sink = NewBlackhole();
  SinkOutput output(*sink);
  GeneratorReader reader({.orders = {}, .rows = kRows});
  simulation::ManualClock clock;
  operators::ReaderContext context{.uid = "in", .clock = &clock, .send_event = {}};
  ASSERT_TRUE(reader.Open(context).ok());
  ASSERT_TRUE(reader.AddSplits({{"orders-0", R"({"row":0})"}, {"orders-1", R"({"row":0})"}}).ok());
  reader.NoMoreSplits();
  const uint64_t before = allocations;
  while (*reader.PollNext(output) != operators::PollStatus::kFinished) {
  }
  EXPECT_EQ(output.rows, kRows / 4);  // two of eight splits
  EXPECT_LE(static_cast<double>(allocations - before) / static_cast<double>(output.rows), kPerRowMax);
}

TEST(AllocationTest, RowsToKafkaRecordsWithKeysHeadersAndTopics) {
  KafkaSinkOptions options;
  options.topic_column = "to";
  options.headers = {{"name", "name"}};
  options.key = {"name"};
  KafkaRowEncoder encoder(options, std::make_unique<JsonWriter>(""));
  operators::Batch batch(std::make_shared<const operators::Schema>(std::vector<std::string>{"name", "to"}));
  constexpr const char* kTopics[] = {"orders-of-the-north", "orders-of-the-south", "orders-of-the-east"};
  while (!batch.full()) {
    operators::Value* row = batch.AddRow(operators::RowKind::kInsert, {});
    row[0] = operators::Value::Text(operators::ValueType::kString, "a name that is too long to be kept in place");
    row[1] = operators::Value::Text(operators::ValueType::kString, kTopics[batch.rows() % 3]);
  }
  ASSERT_EQ(encoder.Encode(batch)->size(), 3U);
  const uint64_t before = allocations;
  constexpr int kBatches = 20;
  for (int i = 0; i < kBatches; ++i) ASSERT_TRUE(encoder.Encode(batch).has_value());
  EXPECT_LE(static_cast<double>(allocations - before) / static_cast<double>(kBatches * batch.rows()), kPerRowMax);
}

TEST(AllocationTest, ChangefeedMessagesToRowsToJson) {
  const auto sink = NewBlackhole();
  SinkOutput output(*sink);
  operators::Problems problems;
  const auto deserializer =
      std::move(*NewDeserializer(OptionsOf(DeserializerOptions(), {{"format", RawText("cockroachdb")}}, problems)));
  std::vector<std::string> messages(1000);
  for (uint64_t n = 0; n < messages.size(); ++n) AppendOrderMessage(OrderAt({}, 0, n), messages[n]);
  RowCollector collector;
  const std::string split = "orders-0";
  uint64_t before = 0;
  for (uint64_t row = 0; row < kRows;) {
    if (row == 2000) before = allocations;  // warm by now
    collector.Begin(output, messages.size());
    collector.BeginSplit(split);
    for (const std::string& message : messages) {
      ASSERT_TRUE(deserializer->Deserialize({.topic = "t", .value = message}, collector).ok());
    }
    ASSERT_TRUE(collector.Flush().ok());
    row += messages.size();
  }
  EXPECT_EQ(output.rows, kRows);
  EXPECT_LE(static_cast<double>(allocations - before) / static_cast<double>(kRows - 2000), 2 * kPerRowMax);
}

}  // namespace
}  // namespace weir::connectors
