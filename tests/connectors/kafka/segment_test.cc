// Kafka records in output segments: what goes in comes out, and damage is told.
#include "connectors/kafka/segment.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "tests/simulation/sim_file_system.h"

namespace weir::connectors {
namespace {

class KafkaSegmentTest : public testing::Test {
 protected:
  std::string Write(const std::string& bytes) {
    const std::string path = "/segment";
    auto file = fs_.OpenForWrite(path, WriteMode::kTruncate);
    EXPECT_TRUE(file.has_value());
    EXPECT_EQ((*file)->Append(bytes).ToString(), "ok");
    EXPECT_EQ((*file)->Close().ToString(), "ok");
    return path;
  }
  // "topic:key=value@timestamp name=header".
  Status Read(const std::string& bytes, std::vector<std::string>& rows) {
    rows.clear();
    return ReadSegment(fs_, Write(bytes), [&](const std::string& topic, std::span<const ProduceRow> some) {
      const auto text = [](std::string_view view) {
        return view.data() == nullptr ? std::string("null") : std::string(view);
      };
      for (const ProduceRow& row : some) {
        rows.push_back(topic + ":" + text(row.key) + "=" + text(row.value) + "@" + std::to_string(row.timestamp_ms));
        for (const KafkaHeader& header : row.headers) rows.back() += " " + text(header.name) + "=" + text(header.value);
      }
      return Status::Ok();
    });
  }

  simulation::SimFileSystem fs_{1};
};

TEST_F(KafkaSegmentTest, GivesBackWhatWasAppended) {
  std::string bytes;
  AppendSegmentTopic(bytes, "a");
  AppendSegmentRow(bytes, {.key = "k", .value = "v", .timestamp_ms = 1'700'000'000'123});
  AppendSegmentRow(bytes, {.key = "k"});
  AppendSegmentRow(bytes, {.value = ""});
  AppendSegmentTopic(bytes, "b");
  AppendSegmentRow(bytes, {.key = "", .value = "x"});
  AppendSegmentRow(bytes, {});
  AppendSegmentEnd(bytes);
  std::vector<std::string> rows;
  ASSERT_EQ(Read(bytes, rows).ToString(), "ok");
  EXPECT_EQ(rows,
            (std::vector<std::string>{"a:k=v@1700000000123", "a:k=null@0", "a:null=@0", "b:=x@0", "b:null=null@0"}));
}

TEST_F(KafkaSegmentTest, HeadersStayWithTheirRows) {
  const std::vector<KafkaHeader> two = {{"a", "1"}, {"b", ""}};
  const std::string large(3U << 20U, 'z');  // spans several pieces
  std::string bytes;
  std::vector<std::string> expected;
  AppendSegmentTopic(bytes, "t");
  for (const std::string& last : {std::string("x"), large}) {
    const std::vector<KafkaHeader> three = {{"c", "2"}, {"c", "3"}, {"d", last}};
    AppendSegmentRow(bytes, {.value = "v", .headers = two});
    AppendSegmentRow(bytes, {.value = "w"});
    AppendSegmentRow(bytes, {.key = "k", .timestamp_ms = 7, .headers = three});
    expected.insert(expected.end(), {"t:null=v@0 a=1 b=", "t:null=w@0", "t:k=null@7 c=2 c=3 d=" + last});
  }
  AppendSegmentEnd(bytes);
  std::vector<std::string> rows;
  ASSERT_EQ(Read(bytes, rows).ToString(), "ok");
  EXPECT_TRUE(rows == expected);
}

TEST_F(KafkaSegmentTest, ReadsFilesLargerThanAPiece) {
  SeededRandom random(1);
  std::string bytes;
  std::vector<std::string> expected;
  AppendSegmentTopic(bytes, "t");
  for (int i = 0; i < 3'000; ++i) {
    const std::string value(random.Below(2'000), static_cast<char>('a' + i % 26));
    AppendSegmentRow(bytes, {.value = value});
    expected.push_back("t:null=" + value + "@0");
  }
  const std::string large(3U << 20U, 'z');  // spans several pieces
  AppendSegmentRow(bytes, {.value = large});
  expected.push_back("t:null=" + large + "@0");
  AppendSegmentEnd(bytes);
  std::vector<std::string> rows;
  ASSERT_EQ(Read(bytes, rows).ToString(), "ok");
  EXPECT_TRUE(rows == expected);
}

TEST_F(KafkaSegmentTest, TellsWhereAFileIsCutOffOrForeign) {
  std::string bytes;
  AppendSegmentTopic(bytes, "t");
  const std::vector<KafkaHeader> headers = {{"h", "1"}, {"i", "2"}};
  AppendSegmentRow(bytes, {.key = "k", .value = "v", .headers = headers});
  AppendSegmentEnd(bytes);
  std::vector<std::string> rows;
  for (size_t length = 0; length < bytes.size(); ++length) {
    const Status status = Read(bytes.substr(0, length), rows);
    EXPECT_EQ(status.code(), StatusCode::kCorruption) << length;
    EXPECT_NE(status.message().find("segment"), std::string::npos) << status.message();
  }
  EXPECT_EQ(Read(bytes + "S", rows).code(), StatusCode::kCorruption);
  const Status foreign = Read("T\x01tX", rows);
  EXPECT_EQ(foreign.code(), StatusCode::kCorruption);
  EXPECT_NE(foreign.message().find("byte 3"), std::string::npos) << foreign.message();
  EXPECT_EQ(Read("T\x01tR\x10S", rows).code(), StatusCode::kCorruption);  // a flag of later times
}

TEST_F(KafkaSegmentTest, AnErrorOfTheTakerEndsTheReading) {
  std::string bytes;
  AppendSegmentTopic(bytes, "t");
  AppendSegmentRow(bytes, {.value = "v"});
  AppendSegmentEnd(bytes);
  const Status status = ReadSegment(fs_, Write(bytes), [](const std::string&, std::span<const ProduceRow>) {
    return Status::Unavailable("no broker");
  });
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "no broker");
}

}  // namespace
}  // namespace weir::connectors
