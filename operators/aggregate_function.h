// What an aggregate computes for one group, without any state behind it: adding a value, taking one back, the result,
// and the bytes in which it is kept. Sums and averages are exact to 38 digits as PostgreSQL's numeric; only values that
// are doubles are added as doubles. Pure; any thread.
//
// Bytes of an accumulator: count (varint), and if it isn't 0, for sum and avg
//   flags (1 byte; 1: doubles, 2: not finite)   sum's digits as zigzag varint of 128 bits   scale (varint)
//   [doubles' number (varint), their sum (8 bytes, big-endian)]   [number of NaN, Infinity, -Infinity (varints)]
// for min and max the value as AppendExactValue writes it. A count has nothing more.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "operators/batch.h"
#include "operators/decimal.h"
#include "operators/value.h"

namespace weir::operators {

enum class AggregateFunction : uint8_t { kCount, kSum, kMin, kMax, kAvg };

// "count", "sum", ...
std::string_view AggregateFunctionName(AggregateFunction function);
std::optional<AggregateFunction> FindAggregateFunction(std::string_view name);

struct Accumulator {
  uint64_t count = 0;  // values that are not null
  Decimal sum;         // of the exact ones
  uint64_t doubles = 0;
  double double_sum = 0;
  uint64_t nan = 0, plus_infinity = 0, minus_infinity = 0;
  Value extreme;                   // min, max; absent: none
  std::optional<Decimal> average;  // of the exact values; computed when one is added, so that an overflow shows then
};

// Adds `value`, or takes it back. Null and absent count for nothing. Empty: done; else why not, in words that fit
// behind "sum of \"amount\": ", and the accumulator is undefined. For min and max only the count and the type are
// looked at.
std::string AddToAccumulator(AggregateFunction function, Accumulator& accumulator, const Value& value, bool retract);

// Empties what the function uses.
void ClearAccumulator(AggregateFunction function, Accumulator& accumulator);

// The result; null if no value was added (count: 0). Text is put into `arena`.
Value ResultOf(AggregateFunction function, const Accumulator& accumulator, Arena& arena);

void AppendAccumulator(std::string& out, AggregateFunction function, const Accumulator& accumulator);
// Takes one from the front; text points into `bytes`. False: these are no such bytes.
bool TakeAccumulator(std::string_view& bytes, AggregateFunction function, Accumulator& accumulator);

// -1, 0, 1. Both must be numbers, both strings, both bytes or of one temporal type; nothing otherwise. Numbers compare
// exactly whatever their types, strings by bytes.
std::optional<int> CompareForExtreme(const Value& a, const Value& b);

// Bytes whose order is that of CompareForExtreme, and for `descending` its reverse: equal values give the same bytes,
// and no value's bytes are the beginning of another's.
void AppendOrdered(std::string& out, const Value& value, bool descending);

}  // namespace weir::operators
