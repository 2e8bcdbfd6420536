#include "connectors/format/cockroachdb_options.h"

#include <algorithm>
#include <utility>

#include "connectors/format/schema_registry.h"

namespace weir::connectors {
namespace {

using operators::Options;
using operators::OptionSpec;
using operators::OptionType;
using operators::Problems;

bool Is(const Options& options, std::string_view name, std::string_view choice) {
  return options.Has(name) && options.String(name) == choice;
}

Envelope EnvelopeOf(const Options& options) {
  if (Is(options, "envelope", "bare")) return Envelope::kBare;
  if (Is(options, "envelope", "row")) return Envelope::kRow;
  if (Is(options, "envelope", "key_only")) return Envelope::kKeyOnly;
  return Is(options, "envelope", "enriched") ? Envelope::kEnriched : Envelope::kWrapped;
}

// In the envelope row nothing else is a deletion.
bool TombstonesDelete(const Options& options) {
  if (options.Has("tombstones")) return options.String("tombstones") == "delete";
  return EnvelopeOf(options) == Envelope::kRow;
}

void CheckNamesOnce(const Options& options, const std::string& option, Problems& problems) {
  std::vector<std::string> names = options.Strings(option);
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
    problems.push_back({options.PathOf(option), *twice, "each name once", option + " has \"" + *twice + "\" twice"});
  }
}

void CheckUnused(const Options& options, Problems& problems) {
  const auto refuse = [&](const std::string& name) {
    problems.push_back({options.PathOf(name), "", "format cockroachdb",
                        name + " belongs to format cockroachdb, the format here is " + options.String("format")});
  };
  for (const char* name : {"topic-prefix", "tombstones", "schema-registry"}) {
    if (options.Has(name)) refuse(name);
  }
  if (!Is(options, "envelope", "wrapped")) refuse("envelope");
  if (!Is(options, "encoding", "json")) refuse("encoding");
  if (!options.Strings("key-columns").empty()) refuse("key-columns");
  if (!options.ObjectMap("tables").empty()) refuse("tables");
  if (options.Bool("json-null-object")) refuse("json-null-object");
}

void CheckEncoding(const Options& options, Problems& problems) {
  const bool avro = Is(options, "encoding", "avro");
  if (avro && EnvelopeOf(options) == Envelope::kRow) {
    problems.push_back({options.PathOf("envelope"), "row", "wrapped, bare, key_only or enriched",
                        "CockroachDB writes no Avro in the envelope row: the one without a wrapper is bare"});
  }
  if (avro != options.Has("schema-registry")) {
    problems.push_back({options.PathOf("schema-registry"), "", avro ? "the registry's url" : "no such member",
                        avro ? "encoding avro needs schema-registry, where the schemas are"
                             : "schema-registry has a meaning only with encoding avro"});
  }
  if (options.Has("schema-registry")) CheckSchemaRegistryOptions(options.Object("schema-registry"), problems);
}

// Avro and the envelope enriched name the key's columns in the key.
void CheckKeyColumns(const Options& options, Problems& problems) {
  const Envelope envelope = EnvelopeOf(options);
  if (Is(options, "encoding", "avro") || envelope == Envelope::kEnriched) return;
  if (!options.Strings("key-columns").empty() || !options.ObjectMap("tables").empty()) return;
  if (envelope != Envelope::kKeyOnly && !TombstonesDelete(options)) return;
  const std::string reason = envelope == Envelope::kKeyOnly ? "envelope key_only" : "a tombstone that deletes";
  problems.push_back({options.PathOf("key-columns"), "", "the names of the primary key's columns",
                      reason + " takes its row from the record's key, which has no names: give key-columns or tables"});
}

}  // namespace

std::vector<OptionSpec> CockroachdbOptionSpecs() {
  const OptionSpec key_columns{.name = "key-columns",
                               .type = OptionType::kStringList,
                               .default_text = "[]",
                               .doc = "The table's primary key, in the order of the record's key."};
  return {
      {.name = "envelope",
       .type = OptionType::kEnum,
       .default_text = "wrapped",
       .doc = "The changefeed's envelope, as it was created (cockroachdb).",
       .choices = {"wrapped", "bare", "row", "key_only", "enriched"}},
      {.name = "encoding",
       .type = OptionType::kEnum,
       .default_text = "json",
       .doc = "The changefeed's format: JSON, or Avro with schemas in a registry (cockroachdb).",
       .choices = {"json", "avro"}},
      {.name = "key-columns",
       .type = OptionType::kStringList,
       .default_text = "[]",
       .doc = "Names of the record key's values, for deletions of a changefeed without diff and for envelope "
              "key_only (cockroachdb)."},
      {.name = "tables",
       .type = OptionType::kObjectMap,
       .default_text = "{}",
       .doc = "The same for a changefeed of several tables, by the table's name; key-columns is for those that are "
              "not named (cockroachdb).",
       .members = {key_columns}},
      {.name = "topic-prefix",
       .type = OptionType::kString,
       .doc = "The changefeed's topic_prefix, which is taken off a topic's name to get the table's (cockroachdb).",
       .min = 1},
      {.name = "tombstones",
       .type = OptionType::kEnum,
       .doc = "What a record with a null value is: nothing, or the deletion of its key's row. Without it delete for "
              "envelope row, where a deletion is nothing else, and ignore for all others (cockroachdb).",
       .choices = {"ignore", "delete"}},
      {.name = "json-null-object",
       .type = OptionType::kBool,
       .default_text = "false",
       .doc = "The changefeed has encode_json_value_null_as_object: {\"__crdb_json_null__\": true} in a column is a "
              "JSON null, which differs from an SQL NULL (cockroachdb)."},
      {.name = "schema-registry",
       .type = OptionType::kObject,
       .doc = "Where the schemas are (cockroachdb with encoding avro).",
       .members = SchemaRegistryOptionSpecs()}};
}

void CheckCockroachdbOptions(const Options& options, bool used, Problems& problems) {
  CheckNamesOnce(options, "key-columns", problems);
  for (const auto& [table, of_table] : options.ObjectMap("tables")) CheckNamesOnce(of_table, "key-columns", problems);
  if (!used) {
    CheckUnused(options, problems);
    return;
  }
  CheckEncoding(options, problems);
  CheckKeyColumns(options, problems);
}

CockroachdbOptions ParseCockroachdbOptions(const Options& options) {
  CockroachdbOptions parsed{
      .envelope = EnvelopeOf(options),
      .avro = Is(options, "encoding", "avro"),
      .key_columns = options.Strings("key-columns"),
      .tables = {},
      .topic_prefix = options.Has("topic-prefix") ? options.String("topic-prefix") : std::string(),
      .tombstones_delete = TombstonesDelete(options),
      .json_null_object = options.Bool("json-null-object")};
  for (const auto& [table, of_table] : options.ObjectMap("tables"))
    parsed.tables[table] = of_table.Strings("key-columns");
  return parsed;
}

}  // namespace weir::connectors
