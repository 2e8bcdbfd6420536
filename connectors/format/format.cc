#include "connectors/format/format.h"

#include <algorithm>
#include <utility>

#include "connectors/format/cockroachdb.h"
#include "connectors/format/json_format.h"
#include "connectors/format/json_writer.h"
#include "connectors/format/record_metadata.h"

namespace weir::connectors {
namespace {

using operators::Options;
using operators::OptionSpec;
using operators::OptionType;

// Formats that write differ: raw passes one column's bytes on.
class RawSerializer final : public Serializer {
 public:
  Status Append(const operators::Batch& batch, size_t row, std::string& out) override {
    if (batch.schema()->size() != 1) {
      return Status::InvalidArgument("format raw writes rows of one column, found " +
                                     std::to_string(batch.schema()->size()));
    }
    if (operators::IsRetraction(batch.kind(row))) {
      return Status::InvalidArgument("format raw can't write a row of kind " +
                                     std::string(operators::RowKindName(batch.kind(row))));
    }
    return AppendValue(batch.at(row, 0), out);
  }

  Status AppendValue(const operators::Value& value, std::string& out) override {
    if (value.has_text()) {
      out += value.text();
    } else {
      AppendJsonValue(value, out);
    }
    return Status::Ok();
  }
};

}  // namespace

std::vector<OptionSpec> DeserializerOptions() {
  return {
      {.name = "format",
       .type = OptionType::kEnum,
       .default_text = "json",
       .doc = "How a record's value is read: one JSON object, the bytes as they are (column value), or a CockroachDB "
              "changefeed message.",
       .choices = {"json", "raw", "cockroachdb"}},
      {.name = "envelope",
       .type = OptionType::kEnum,
       .default_text = "wrapped",
       .doc = "The changefeed's envelope (cockroachdb).",
       .choices = {"wrapped"}},
      {.name = "columns",
       .type = OptionType::kStringList,
       .default_text = "[]",
       .doc = "The members to read (json, cockroachdb); empty: all that turn up."},
      {.name = "key-columns",
       .type = OptionType::kStringList,
       .default_text = "[]",
       .doc = "Names of the record key's values, for deletions of a changefeed without diff (cockroachdb)."},
      MetadataOption()};
}

void CheckDeserializerOptions(const Options& options, operators::Problems& problems) {
  const std::string& format = options.String("format");
  CheckMetadata(options, format == "cockroachdb", problems);
  if (format == "raw" && !options.Strings("columns").empty()) {
    problems.push_back(
        {options.PathOf("columns"), "", "no columns", "format raw has one column, value: columns can't choose"});
  }
  if (format != "cockroachdb" && !options.Strings("key-columns").empty()) {
    problems.push_back({options.PathOf("key-columns"), "", "format cockroachdb",
                        "key-columns belongs to format cockroachdb, the format here is " + format});
  }
  for (const char* name : {"columns", "key-columns"}) {
    std::vector<std::string> names = options.Strings(name);
    std::sort(names.begin(), names.end());
    if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) {
      problems.push_back(
          {options.PathOf(name), *twice, "each name once", std::string(name) + " has \"" + *twice + "\" twice"});
    }
  }
}

Result<std::unique_ptr<Deserializer>> NewDeserializer(const Options& options) {
  const std::string& format = options.String("format");
  if (format == "cockroachdb") return std::make_unique<CockroachdbDeserializer>(options);
  if (format == "raw") return std::make_unique<RawDeserializer>(options);
  return std::make_unique<JsonDeserializer>(options);
}

std::vector<OptionSpec> SerializerOptions() {
  return {{.name = "format",
           .type = OptionType::kEnum,
           .default_text = "json",
           .doc = "How a row is written: one JSON object, or the text or bytes of its only column.",
           .choices = {"json", "raw"}},
          {.name = "row-kind-column",
           .type = OptionType::kString,
           .default_text = "",
           .doc = "A member that tells +I, -U, +U or -D (json). Without it -U is left out and -D is an error."}};
}

void CheckSerializerOptions(const Options& options, operators::Problems& problems) {
  if (options.String("format") == "raw" && options.Has("row-kind-column") &&
      !options.String("row-kind-column").empty()) {
    problems.push_back({options.PathOf("row-kind-column"), options.String("row-kind-column"), "format json",
                        "row-kind-column belongs to format json, the format here is raw"});
  }
}

Result<std::unique_ptr<Serializer>> NewSerializer(const Options& options) {
  if (options.String("format") == "raw") return std::make_unique<RawSerializer>();
  return std::make_unique<JsonWriter>(options.Has("row-kind-column") ? options.String("row-kind-column")
                                                                     : std::string());
}

}  // namespace weir::connectors
