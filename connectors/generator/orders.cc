#include "connectors/generator/orders.h"

#include <array>
#include <charconv>
#include <chrono>
#include <memory>
#include <vector>

#include "connectors/format/hlc.h"
#include "operators/value.h"

namespace weir::connectors {
namespace {

using operators::Value;
using operators::ValueType;

constexpr int64_t kFirstId = 100'000'000'000;
constexpr int64_t kFirstUs = 1'704'067'200'000'000;  // 2024-01-01T00:00:00Z
constexpr int64_t kUsPerRow = 1'000;
constexpr int64_t kNsPerUs = 1'000;
constexpr size_t kAmountDigitsMax = 24;

constexpr std::array<std::string_view, 5> kCurrencies = {"EUR", "USD", "GBP", "CHF", "JPY"};
constexpr std::array<std::string_view, 6> kRegions = {"eu-west", "eu-north", "us-east",
                                                      "us-west", "ap-south", "sa-east"};
constexpr std::array<std::string_view, 5> kStatuses = {"new", "paid", "packed", "shipped", "returned"};
constexpr std::array<std::string_view, 6> kNotes = {
    "please leave the parcel with the neighbours",   "ring twice, the bell is a little quiet",
    "gift wrapping, no invoice inside, thank you",   "deliver after six in the evening if possible",
    "fragile: porcelain, this side up, keep it dry", "call the customer an hour before delivery"};

// The finalizer of SplitMix64: every bit of the input reaches every bit of the result.
uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// The next of a row's numbers, below `bound`.
uint64_t Draw(uint64_t& state, uint64_t bound) {
  state = Mix(state);
  return state % bound;
}

char* PutNumber(char* to, int64_t number) { return std::to_chars(to, to + 20, number).ptr; }

size_t PutAmount(char* to, int64_t cents) {
  char* end = PutNumber(to, cents / 100);
  *end++ = '.';
  *end++ = static_cast<char>('0' + cents / 10 % 10);
  *end++ = static_cast<char>('0' + cents % 10);
  return static_cast<size_t>(end - to);
}

constexpr size_t kTimestampBytes = 27;  // 2024-01-01T00:00:00.000000Z

void PutDigits(char* to, int64_t number, int digits) {
  for (int i = digits - 1; i >= 0; --i, number /= 10) to[i] = static_cast<char>('0' + number % 10);
}

void PutTimestamp(char* to, int64_t us) {
  const std::chrono::sys_time<std::chrono::microseconds> time{std::chrono::microseconds(us)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const int64_t of_day = (time - day).count();
  constexpr std::string_view kForm = "0000-00-00T00:00:00.000000Z";
  static_assert(kForm.size() == kTimestampBytes);
  kForm.copy(to, kForm.size());
  PutDigits(to, static_cast<int>(date.year()), 4);
  PutDigits(to + 5, static_cast<unsigned>(date.month()), 2);
  PutDigits(to + 8, static_cast<unsigned>(date.day()), 2);
  PutDigits(to + 11, of_day / 3'600'000'000, 2);
  PutDigits(to + 14, of_day / 60'000'000 % 60, 2);
  PutDigits(to + 17, of_day / 1'000'000 % 60, 2);
  PutDigits(to + 20, of_day % 1'000'000, 6);
}

}  // namespace

Order OrderAt(const OrdersOptions& options, uint32_t split, uint64_t n) {
  uint64_t state = Mix(Mix(options.seed) ^ Mix(uint64_t{split} << 32 | 1) ^ n * 0xD6E8FEB86659FD93);
  const auto pick = [&](const auto& texts) { return texts[Draw(state, texts.size())]; };
  const auto row = static_cast<int64_t>(n);
  Order order;
  order.id = kFirstId + row * static_cast<int64_t>(options.splits) + static_cast<int64_t>(split);
  order.customer_id = static_cast<int64_t>(Draw(state, options.customers));
  order.amount_cents = static_cast<int64_t>(Draw(state, 100'000));
  order.created_us = kFirstUs + row * kUsPerRow;
  order.currency = pick(kCurrencies);
  order.note = pick(kNotes);
  order.region = pick(kRegions);
  order.status = pick(kStatuses);
  order.updated = {.wall_ns = order.created_us * kNsPerUs + static_cast<int64_t>(Draw(state, 1'000'000)),
                   .logical = static_cast<int32_t>(Draw(state, 3))};
  return order;
}

const operators::SchemaPtr& OrdersSchema() {
  static const operators::SchemaPtr schema = std::make_shared<const operators::Schema>(
      std::vector<std::string>{"amount", "created_at", "currency", "customer_id", "id", "note", "region", "status"});
  return schema;
}

void FillOrder(const Order& order, operators::Arena& arena, Value* row) {
  char* amount = arena.Allocate(kAmountDigitsMax);
  const size_t amount_size = PutAmount(amount, order.amount_cents);
  arena.Trim(amount, amount_size);
  char* created = arena.Allocate(kTimestampBytes);
  PutTimestamp(created, order.created_us);
  row[0] = Value::Text(ValueType::kDecimal, {amount, amount_size});
  row[1] = Value::Text(ValueType::kString, {created, kTimestampBytes});
  row[2] = Value::Text(ValueType::kString, order.currency);
  row[3] = Value::Int64(order.customer_id);
  row[4] = Value::Int64(order.id);
  row[5] = Value::Text(ValueType::kString, order.note);
  row[6] = Value::Text(ValueType::kString, order.region);
  row[7] = Value::Text(ValueType::kString, order.status);
}

void AppendOrderMessage(const Order& order, std::string& out) {
  std::array<char, kAmountDigitsMax> amount;
  out += R"({"after": {"amount": )";
  out.append(amount.data(), PutAmount(amount.data(), order.amount_cents));
  out += R"(, "created_at": ")";
  std::array<char, kTimestampBytes> created;
  PutTimestamp(created.data(), order.created_us);
  out.append(created.data(), created.size());
  out += R"(", "currency": ")";
  out += order.currency;
  out += R"(", "customer_id": )";
  out += std::to_string(order.customer_id);
  out += R"(, "id": )";
  out += std::to_string(order.id);
  out += R"(, "note": ")";
  out += order.note;
  out += R"(", "region": ")";
  out += order.region;
  out += R"(", "status": ")";
  out += order.status;
  out += R"("}, "updated": ")";
  AppendHlc(order.updated, out);
  out += "\"}";
}

void AppendOrderKey(const Order& order, std::string& out) {
  out += '[';
  out += std::to_string(order.id);
  out += ']';
}

void AppendResolvedMessage(operators::EventTime time, std::string& out) {
  out += R"({"resolved": ")";
  AppendHlc(time, out);
  out += "\"}";
}

}  // namespace weir::connectors
