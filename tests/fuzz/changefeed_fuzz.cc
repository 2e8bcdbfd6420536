// Any bytes as a changefeed record: read, or refused with a message; what was read is written as JSON again. The first
// byte chooses format and options, a NUL divides key and value. Without libFuzzer, changefeed_corpus_test.cc replays
// the corpus through the same function.
#include "tests/fuzz/changefeed_fuzz.h"

#include <string>

#include "base/check.h"
#include "connectors/format/format.h"
#include "connectors/format/json_text.h"
#include "tests/connectors/collected_output.h"

namespace weir::connectors {
namespace {

operators::Options ChosenOptions(uint8_t choice) {
  RawMembers members;
  members.emplace_back("format", RawText(choice % 2 == 0 ? "cockroachdb" : "json"));
  if (choice % 2 == 0 && (choice & 2) != 0) members.emplace_back("key-columns", RawList({"id", "region"}));
  if ((choice & 4) != 0) members.emplace_back("columns", RawList({"id", "total"}));
  operators::RawValue metadata = RawObject({{"key", RawText("k")}, {"offset", RawText("o")}});
  if ((choice & 8) != 0) members.emplace_back("metadata", std::move(metadata));
  operators::Problems problems;
  operators::Options options = OptionsOf(DeserializerOptions(), std::move(members), problems);
  CheckDeserializerOptions(options, problems);
  WEIR_CHECK(problems.empty());
  return options;
}

}  // namespace

void FuzzChangefeed(std::string_view input) {
  if (input.empty()) return;
  const auto deserializer = std::move(*NewDeserializer(ChosenOptions(static_cast<uint8_t>(input[0]))));
  input.remove_prefix(1);
  RawRecord record{.topic = "t", .partition = 1, .offset = 2, .timestamp_ms = 3};
  const size_t divider = input.find('\0');
  if (divider != std::string_view::npos) record.key = input.substr(0, divider);
  record.value = divider == std::string_view::npos ? input : input.substr(divider + 1);
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
