// A row on its way into librdkafka's queue, for both producers. Included by rdkafka_*.cc files only; any thread.
#pragma once

#include <librdkafka/rdkafka.h>

#include <string>

#include "base/status.h"
#include "connectors/kafka/client.h"

namespace weir::connectors {

// Copies the row into the client's queue.
rd_kafka_resp_err_t EnqueueRow(rd_kafka_t* client, rd_kafka_topic_t* topic, const ProduceRow& row);

// The row of a message that was not delivered.
ProduceRow RowOf(const rd_kafka_message_t& message);

// What it means that client or broker did not take a row. `bytes_max`: the client's message.max.bytes.
Status RefusedRow(const std::string& address, const std::string& bytes_max, const std::string& topic,
                  const ProduceRow& row, rd_kafka_resp_err_t error);

}  // namespace weir::connectors
