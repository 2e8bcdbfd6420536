#include "connectors/format/format.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "connectors/format/cockroachdb.h"
#include "connectors/format/cockroachdb_options.h"
#include "connectors/format/debezium_json.h"
#include "connectors/format/json_format.h"
#include "connectors/format/json_writer.h"
#include "connectors/format/record_metadata.h"
#include "connectors/format/schema_registry.h"

namespace weir::connectors {
namespace {

using operators::Options;
using operators::OptionSpec;
using operators::OptionType;

// One column's text or bytes: the named one, or the only one.
class RawSerializer final : public Serializer {
 public:
  explicit RawSerializer(std::string column) : column_(std::move(column)) {}

  Status Append(const operators::Batch& batch, size_t row, std::string& out) override {
    if (batch.schema() != schema_) WEIR_RETURN_IF_ERROR(UseSchema(batch.schema()));
    if (operators::IsRetraction(batch.kind(row))) {
      return Status::InvalidArgument("format raw can't write a row of kind " +
                                     std::string(operators::RowKindName(batch.kind(row))));
    }
    const operators::Value& value = batch.at(row, index_);
    if (value.missing()) {
      return Status::InvalidArgument("format raw: column \"" + schema_->columns()[index_] +
                                     "\" is null: expected a text, bytes or another value");
    }
    AppendPlainValue(value, out);
    return Status::Ok();
  }

 private:
  Status UseSchema(const operators::SchemaPtr& schema) {
    if (column_.empty() && schema->size() != 1) {
      return Status::InvalidArgument("format raw writes rows of one column, found " + std::to_string(schema->size()) +
                                     ": name the column to write in value-column");
    }
    const std::optional<size_t> index = column_.empty() ? 0 : schema->Find(column_);
    if (!index.has_value()) return NoSuchColumn("value-column", column_, *schema);
    index_ = *index;
    schema_ = schema;
    return Status::Ok();
  }

  const std::string column_;
  operators::SchemaPtr schema_;
  size_t index_ = 0;  // in schema_
};

std::string GivenText(const Options& options, std::string_view name) {
  return options.Has(name) ? options.String(name) : std::string();
}

}  // namespace

Status NoSuchColumn(std::string_view option, std::string_view column, const operators::Schema& schema) {
  std::string text(option);
  text += " names column \"";
  text += column;
  text += "\", which is not among the row's: ";
  for (const std::string& one : schema.columns()) text += (&one == schema.columns().data() ? "" : ", ") + one;
  return Status::InvalidArgument(text);
}

std::vector<OptionSpec> DeserializerOptions() {
  std::vector<OptionSpec> specs = {
      {.name = "format",
       .type = OptionType::kEnum,
       .default_text = "json",
       .doc = "How a record's value is read: one JSON object, the bytes as they are (column value), or a CockroachDB "
              "changefeed message.",
       .choices = {"json", "raw", "cockroachdb"}},
      {.name = "columns",
       .type = OptionType::kStringList,
       .default_text = "[]",
       .doc = "The members to read (json, cockroachdb); empty: all that turn up."},
      MetadataOption()};
  std::ranges::move(CockroachdbOptionSpecs(), std::back_inserter(specs));
  return specs;
}

void CheckDeserializerOptions(const Options& options, operators::Problems& problems) {
  const std::string& format = options.String("format");
  CheckMetadata(options, format == "cockroachdb", problems);
  CheckCockroachdbOptions(options, format == "cockroachdb", problems);
  std::vector<std::string> columns = options.Strings("columns");
  if (format == "raw" && !columns.empty()) {
    problems.push_back(
        {options.PathOf("columns"), "", "no columns", "format raw has one column, value: columns can't choose"});
  }
  std::ranges::sort(columns);
  if (const auto twice = std::ranges::adjacent_find(columns); twice != columns.end()) {
    problems.push_back({options.PathOf("columns"), *twice, "each name once", "columns has \"" + *twice + "\" twice"});
  }
}

Result<std::unique_ptr<Deserializer>> NewDeserializer(const Options& options) {
  const std::string& format = options.String("format");
  if (format == "raw") return std::make_unique<RawDeserializer>(options);
  if (format == "json") return std::make_unique<JsonDeserializer>(options);
  std::unique_ptr<SchemaSource> schemas;
  if (options.Has("schema-registry")) {
    schemas = NewSchemaRegistry(ParseSchemaRegistryOptions(options.Object("schema-registry")));
  }
  return std::make_unique<CockroachdbDeserializer>(options, std::move(schemas));
}

std::vector<OptionSpec> SerializerOptions() {
  return {{.name = "format",
           .type = OptionType::kEnum,
           .default_text = "json",
           .doc = "How a row is written: one JSON object, the text or bytes of one column, or Debezium's envelope as "
                  "Flink writes it (+I and +U op c, -U and -D op d).",
           .choices = {"json", "raw", "debezium-json"}},
          {.name = "row-kind-column",
           .type = OptionType::kString,
           .doc = "A member that tells +I, -U, +U or -D (json). Without it -U is left out and -D is an error."},
          {.name = "value-column",
           .type = OptionType::kString,
           .doc = "The column to write (raw); without it rows have one column."}};
}

void CheckSerializerOptions(const Options& options, operators::Problems& problems) {
  const std::string& format = options.String("format");
  const auto belongs_to = [&](const std::string& name, const std::string& owner) {
    if (GivenText(options, name).empty() || format == owner) return;
    problems.push_back({options.PathOf(name), options.String(name), "format " + owner,
                        name + " belongs to format " + owner + ", the format here is " + format});
  };
  belongs_to("row-kind-column", "json");
  belongs_to("value-column", "raw");
}

bool WritesRowKinds(const Options& options) {
  return options.String("format") == "debezium-json" || !GivenText(options, "row-kind-column").empty();
}

Result<std::unique_ptr<Serializer>> NewSerializer(const Options& options) {
  const std::string& format = options.String("format");
  if (format == "raw") return std::make_unique<RawSerializer>(GivenText(options, "value-column"));
  if (format == "debezium-json") return std::make_unique<DebeziumJsonWriter>();
  return std::make_unique<JsonWriter>(GivenText(options, "row-kind-column"));
}

}  // namespace weir::connectors
