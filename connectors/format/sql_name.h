// Names of tables and columns as CockroachDB writes them where not every character is legal, and the table's name in a
// Kafka topic. Each such character is its code point in hexadecimal: "caf_u00e9_" is "café", "a_u0021__u0021_" "a!!".
#pragma once

#include <string>
#include <string_view>

namespace weir::connectors {

// The SQL name behind a name for Kafka or Avro. What looks like an escape and is none - a digit too few or too many,
// no digits, no code point - stays as it is.
std::string UnescapeSqlName(std::string_view name);

// "db.schema.t", "schema.t" or "t": "t". Empty for a name that ends with a point.
std::string_view LastPart(std::string_view dotted);

// The table of each record's topic. One a deserializer; remembers the newest topic.
class TopicTables {
 public:
  // `prefix` (CockroachDB's topic_prefix) is taken off names that begin with it.
  explicit TopicTables(std::string prefix) : prefix_(std::move(prefix)) {}

  // Valid until the next call.
  const std::string& TableOf(std::string_view topic);

 private:
  const std::string prefix_;
  std::string topic_;
  std::string table_;  // of topic_
};

}  // namespace weir::connectors
