#include "connectors/format/debezium_json.h"

namespace weir::connectors {

Status DebeziumJsonWriter::Append(const operators::Batch& batch, size_t row, std::string& out) {
  const bool old = operators::IsRetraction(batch.kind(row));
  out += old ? R"({"before":)" : R"({"before":null,"after":)";
  rows_.AppendObject(batch, row, out);
  out += old ? R"(,"after":null,"op":"d"})" : R"(,"op":"c"})";
  return {};
}

}  // namespace weir::connectors
