// Reads single records as format "cockroachdb" and keeps what comes out.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "connectors/format/cockroachdb.h"
#include "connectors/format/format.h"
#include "tests/connectors/collected_output.h"

namespace weir::connectors {

// The options of a source, checked; what is wrong with them as messages.
inline operators::Options ChangefeedOptions(RawMembers members, std::vector<std::string>* messages = nullptr) {
  members.emplace_back("format", RawText("cockroachdb"));
  operators::Problems problems;
  operators::Options options = OptionsOf(DeserializerOptions(), std::move(members), problems);
  CheckDeserializerOptions(options, problems);
  if (messages == nullptr && !problems.empty()) ADD_FAILURE() << problems[0].message;
  for (const operators::Problem& problem : problems) {
    if (messages != nullptr) messages->push_back(problem.path + ": " + problem.message);
  }
  return options;
}

class ChangefeedTest : public testing::Test {
 protected:
  using Rows = std::vector<std::string>;

  void Use(RawMembers members) { deserializer_ = std::move(*NewDeserializer(ChangefeedOptions(std::move(members)))); }
  void UseAvro(RawMembers members, std::unique_ptr<SchemaSource> schemas) {
    members.emplace_back("encoding", RawText("avro"));
    members.emplace_back("schema-registry", RawObject({{"url", RawText("http://registry")}}));
    deserializer_ =
        std::make_unique<CockroachdbDeserializer>(ChangefeedOptions(std::move(members)), std::move(schemas));
  }
  Status Read(const RawRecord& record) {
    if (deserializer_ == nullptr) Use({});
    collector_.Begin(output_, 1);
    collector_.BeginSplit(split_);
    const Status status = deserializer_->Deserialize(record, collector_);
    const Status flushed = collector_.Flush();
    return status.ok() ? flushed : status;
  }
  Status Read(std::string_view value) { return Read(RawRecord{.topic = "orders", .key = "[1]", .value = value}); }
  // What the records since the last call gave.
  Rows TakeRows() { return std::exchange(output_.rows, {}); }

  std::unique_ptr<Deserializer> deserializer_;
  RowCollector collector_;
  CollectedOutput output_;
  const std::string split_ = "orders-0";
};

}  // namespace weir::connectors
