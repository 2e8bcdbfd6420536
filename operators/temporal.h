// Dates and timestamps in the proleptic Gregorian calendar: days or microseconds since 1970-01-01, without zones other
// than UTC. Reads ISO 8601 as PostgreSQL reads it, prints as PostgreSQL does with DateStyle ISO and TimeZone UTC. Pure
// functions; any thread; no clock is read here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "operators/value.h"

namespace weir::operators {

inline constexpr int64_t kMicrosPerSecond = 1'000'000;
inline constexpr int64_t kMicrosPerDay = 86'400 * kMicrosPerSecond;

struct CivilDate {
  int64_t year = 1970;  // astronomical: 0 is 1 BC
  int month = 1;
  int day = 1;
};

int64_t DaysFromCivil(CivilDate date);
CivilDate CivilFromDays(int64_t days);

// Within what PostgreSQL can hold: dates up to 5874897-12-31, timestamps up to 294276-12-31, both from 4714-11-24 BC.
bool IsDateInRange(int64_t days);
bool IsTimestampInRange(int64_t micros);

enum class TemporalError : uint8_t { kSyntax, kOutOfRange };
struct TemporalText {
  int64_t units = 0;
  std::optional<TemporalError> error;
};

// "2024-02-29", "2024-02-29 12:34", "2024-02-29T12:34:56.789012", each also with "Z" or "+02", "+02:30"; blanks around.
// `type` is kDate, kTime, kTimestamp or kTimestampTz. A zone in the text counts for kTimestampTz only, as in
// PostgreSQL.
TemporalText ParseTemporal(ValueType type, std::string_view text);

// Writes at most kTemporalTextMax bytes and returns their number.
inline constexpr size_t kTemporalTextMax = 48;
size_t TemporalToText(ValueType type, int64_t units, char* out);

// Floor division: days and the microseconds into the day.
struct DayAndTime {
  int64_t days = 0;
  int64_t micros = 0;
};
DayAndTime SplitTimestamp(int64_t micros);

enum class TimeField : uint8_t {
  kMicroseconds,
  kMilliseconds,
  kSecond,
  kMinute,
  kHour,
  kDay,
  kDow,
  kIsoDow,
  kDoy,
  kWeek,
  kMonth,
  kQuarter,
  kYear,
  kIsoYear,
  kDecade,
  kCentury,
  kMillennium,
  kEpoch,
};
// By name in any case; PostgreSQL's plurals and short forms included ("seconds", "sec").
std::optional<TimeField> FindTimeField(std::string_view name);

// A field of a date, timestamp or timestamptz (in UTC). The field's value is `unscaled` * 10^-`scale`. Nothing if the
// type has no such field (the hour of a date).
struct FieldValue {
  int64_t unscaled = 0;
  int scale = 0;
};
std::optional<FieldValue> ExtractField(TimeField field, ValueType type, int64_t units);
// The timestamp's start of the year, month, ...; nothing for a field that one can't truncate to (dow).
std::optional<int64_t> TruncateTimestamp(TimeField field, int64_t micros);

}  // namespace weir::operators
