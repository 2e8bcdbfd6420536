// Any bytes as a changefeed record: read, or refused with a message; what was read is written as JSON again. The first
// byte chooses format, options, envelope and encoding. In JSON a NUL divides key and value; before Avro stands the
// key's length. The byte 0xff: the rest is an Avro schema. Without libFuzzer, changefeed_corpus_test.cc replays the
// corpus through the same function.
#include "tests/fuzz/changefeed_fuzz.h"

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "base/check.h"
#include "connectors/format/avro_schema.h"
#include "connectors/format/cockroachdb.h"
#include "connectors/format/format.h"
#include "connectors/format/json_text.h"
#include "tests/connectors/collected_output.h"

namespace weir::connectors {
namespace {

constexpr uint8_t kSchema = 0xff;

struct Feed {
  const char* envelope;
  bool avro = false;
};

// By bits 4 to 6 of the first byte.
constexpr std::array<Feed, 8> kFeeds = {{{"wrapped"},
                                         {"bare"},
                                         {"row"},
                                         {"key_only"},
                                         {"enriched"},
                                         {"wrapped", true},
                                         {"bare", true},
                                         {"enriched", true}}};

// One schema with every type, whatever the id.
class OneSchema final : public SchemaSource {
 public:
  Result<std::string> Fetch(uint32_t) override {
    return std::string(R"({"type":"record","name":"e","fields":[
      {"name":"before","type":["null",{"type":"record","name":"r","fields":[
        {"name":"id","type":["null","long"]},{"name":"doc","type":["null","string"],"__crdb__":"doc JSONB NULL"},
        {"name":"total","type":["null",{"type":"bytes","logicalType":"decimal","scale":2},"string"]},
        {"name":"at","type":{"type":"long","logicalType":"timestamp-micros"}},
        {"name":"day","type":{"type":"int","logicalType":"date"}},
        {"name":"list","type":{"type":"array","items":["null","r"]}},
        {"name":"map","type":{"type":"map","values":"double"}},
        {"name":"kind","type":{"type":"enum","name":"k","symbols":["a","b"]}},
        {"name":"fixed","type":{"type":"fixed","name":"f","size":2}},
        {"name":"ok","type":"boolean"},{"name":"f","type":"float"},{"name":"raw","type":"bytes"}]}]},
      {"name":"after","type":["null","r"]},{"name":"record","type":["null","r"]},
      {"name":"updated","type":["null","string"]},{"name":"resolved","type":["null","string"]},
      {"name":"op","type":["null","string"]}]})");
  }
};

operators::Options ChosenOptions(uint8_t choice) {
  RawMembers members;
  const Feed& feed = kFeeds[choice >> 4 & 7];
  RawMembers metadata = {{"key", RawText("k")}, {"offset", RawText("o")}};
  members.emplace_back("format", RawText(choice % 2 == 0 ? "cockroachdb" : "json"));
  if (choice % 2 == 0) {
    const bool all = (choice & 0x80) != 0;
    members.emplace_back("envelope", RawText(feed.envelope));
    if ((choice & 2) != 0 || choice >= 0x20) members.emplace_back("key-columns", RawList({"id", "region"}));
    if (all) members.emplace_back("tombstones", RawText("delete"));
    if (all) metadata.emplace_back("table", RawText("t"));
    members.emplace_back("json-null-object", RawBool(all));
    if (feed.avro) members.emplace_back("encoding", RawText("avro"));
    if (feed.avro) members.emplace_back("schema-registry", RawObject({{"url", RawText("http://nowhere")}}));
  }
  if ((choice & 4) != 0) members.emplace_back("columns", RawList({"id", "total"}));
  if ((choice & 8) != 0) members.emplace_back("metadata", RawObject(std::move(metadata)));
  operators::Problems problems;
  operators::Options options = OptionsOf(DeserializerOptions(), std::move(members), problems);
  CheckDeserializerOptions(options, problems);
  WEIR_CHECK(problems.empty());
  return options;
}

std::unique_ptr<Deserializer> Chosen(uint8_t choice) {
  const operators::Options options = ChosenOptions(choice);
  if (!options.Has("schema-registry")) return std::move(*NewDeserializer(options));
  return std::make_unique<CockroachdbDeserializer>(options, std::make_unique<OneSchema>());
}

RawRecord RecordIn(std::string_view input, bool avro) {
  RawRecord record{.topic = "t", .partition = 1, .offset = 2, .timestamp_ms = 3};
  const size_t divider = avro && !input.empty() ? static_cast<uint8_t>(input[0]) + 1 : input.find('\0');
  if (avro && divider <= input.size()) {
    record.key = input.substr(1, divider - 1);
    record.value = input.substr(divider);
  } else if (!avro && divider != std::string_view::npos) {
    record.key = input.substr(0, divider);
    record.value = input.substr(divider + 1);
  } else {
    record.value = input;
  }
  return record;
}

}  // namespace

void FuzzChangefeed(std::string_view input) {
  if (input.empty()) return;
  const auto choice = static_cast<uint8_t>(input[0]);
  input.remove_prefix(1);
  if (choice == kSchema) {
    const auto schema = AvroSchema::Parse(input);
    WEIR_CHECK(schema.has_value() || !schema.error().message().empty());
    return;
  }
  const std::unique_ptr<Deserializer> deserializer = Chosen(choice);
  const RawRecord record = RecordIn(input, choice % 2 == 0 && kFeeds[choice >> 4 & 7].avro);
  RowCollector collector;
  CollectedOutput output;
  const std::string split = "t-1";
  // Twice, so that the second one meets the first one's predictions.
  for (int i = 0; i < 2; ++i) {
    collector.Begin(output, 1);
    collector.BeginSplit(split);
    const Status status = deserializer->Deserialize(record, collector);
    WEIR_CHECK(status.ok() || (status.code() == StatusCode::kInvalidArgument && !status.message().empty()));
    WEIR_CHECK(collector.Flush().ok());
  }
  for (const std::string& row : output.rows) {
    WEIR_CHECK(!FindJsonProblem(std::string_view(row).substr(3)).has_value());
  }
}

}  // namespace weir::connectors
