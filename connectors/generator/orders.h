// The preset "orders": rows of an order table as a CockroachDB changefeed would send them, about 277 bytes a message.
// Row n of a split is a pure function of (seed, splits, split, n), so that any part of the stream can be made again at
// any time, e.g. by an oracle. Two forms of the same row: typed values, and the changefeed's message and key. Pure.
//
//   key    [100000000042]
//   value  {"after": {"amount": 431.07, "created_at": "2024-01-01T00:00:00.042000Z", "currency": "EUR",
//          "customer_id": 9017, "id": 100000000042, "note": "...", "region": "eu-west", "status": "paid"},
//          "updated": "1704067200042000000.0000000000"}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "operators/batch.h"
#include "operators/event_time.h"
#include "operators/schema.h"

namespace weir::connectors {

struct Order {
  int64_t id = 0;           // no two rows have the same
  int64_t customer_id = 0;  // from 0, below OrdersOptions::customers
  int64_t amount_cents = 0;
  int64_t created_us = 0;                           // since 1970-01-01T00:00:00Z; rises within a split
  std::string_view currency, note, region, status;  // constants
  operators::EventTime updated;                     // rises within a split
};

struct OrdersOptions {
  uint64_t seed = 1;
  uint32_t splits = 8;
  uint64_t customers = 100'000;
};

Order OrderAt(const OrdersOptions& options, uint32_t split, uint64_t n);

// amount, created_at, currency, customer_id, id, note, region, status: as the changefeed's reader gives them.
const operators::SchemaPtr& OrdersSchema();
// Fills a row of that schema; text that is no constant goes to `arena`.
void FillOrder(const Order& order, operators::Arena& arena, operators::Value* row);

// Append the changefeed's message and its key.
void AppendOrderMessage(const Order& order, std::string& out);
void AppendOrderKey(const Order& order, std::string& out);
// What the changefeed sends once in a while: no later row has a time below `time`.
void AppendResolvedMessage(operators::EventTime time, std::string& out);

}  // namespace weir::connectors
