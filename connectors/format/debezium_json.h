// Rows as Flink's format debezium-json writes them, so that its reader and others of Debezium's envelope take them:
//
//   +I, +U    {"before":null,"after":{"id":1},"op":"c"}
//   -U, -D    {"before":{"id":1},"after":null,"op":"d"}
//
// An update is a "d" of the old row and a "c" of the new one: a row alone does not know the other. Members as in
// json_writer.h; source and ts_ms are left out. One writer a sink, on its task's thread.
#pragma once

#include <string>

#include "connectors/format/format.h"
#include "connectors/format/json_writer.h"

namespace weir::connectors {

class DebeziumJsonWriter final : public Serializer {
 public:
  Status Append(const operators::Batch& batch, size_t row, std::string& out) override;

 private:
  JsonWriter rows_{""};
};

}  // namespace weir::connectors
