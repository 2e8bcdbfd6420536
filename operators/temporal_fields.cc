// extract and date_trunc. Weeks are ISO's: they begin on Monday, week 1 holds the year's first Thursday.
#include <algorithm>
#include <array>
#include <string>

#include "operators/temporal.h"

namespace weir::operators {
namespace {

struct FieldName {
  std::string_view name;
  TimeField field;
};
constexpr auto kFieldNames = std::to_array<FieldName>({
    {"microseconds", TimeField::kMicroseconds},
    {"microsecond", TimeField::kMicroseconds},
    {"us", TimeField::kMicroseconds},
    {"usec", TimeField::kMicroseconds},
    {"milliseconds", TimeField::kMilliseconds},
    {"millisecond", TimeField::kMilliseconds},
    {"ms", TimeField::kMilliseconds},
    {"msec", TimeField::kMilliseconds},
    {"second", TimeField::kSecond},
    {"seconds", TimeField::kSecond},
    {"sec", TimeField::kSecond},
    {"s", TimeField::kSecond},
    {"minute", TimeField::kMinute},
    {"minutes", TimeField::kMinute},
    {"min", TimeField::kMinute},
    {"m", TimeField::kMinute},
    {"hour", TimeField::kHour},
    {"hours", TimeField::kHour},
    {"h", TimeField::kHour},
    {"hr", TimeField::kHour},
    {"day", TimeField::kDay},
    {"days", TimeField::kDay},
    {"d", TimeField::kDay},
    {"dow", TimeField::kDow},
    {"isodow", TimeField::kIsoDow},
    {"doy", TimeField::kDoy},
    {"week", TimeField::kWeek},
    {"weeks", TimeField::kWeek},
    {"w", TimeField::kWeek},
    {"month", TimeField::kMonth},
    {"months", TimeField::kMonth},
    {"mon", TimeField::kMonth},
    {"quarter", TimeField::kQuarter},
    {"qtr", TimeField::kQuarter},
    {"year", TimeField::kYear},
    {"years", TimeField::kYear},
    {"y", TimeField::kYear},
    {"yr", TimeField::kYear},
    {"isoyear", TimeField::kIsoYear},
    {"decade", TimeField::kDecade},
    {"decades", TimeField::kDecade},
    {"century", TimeField::kCentury},
    {"centuries", TimeField::kCentury},
    {"c", TimeField::kCentury},
    {"millennium", TimeField::kMillennium},
    {"millennia", TimeField::kMillennium},
    {"epoch", TimeField::kEpoch},
});

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// 1 is Monday, 7 is Sunday. 1970-01-01 was a Thursday.
int64_t IsoDayOfWeek(int64_t days) { return (((days + 3) % 7) + 7) % 7 + 1; }
int64_t Monday(int64_t days) { return days - (IsoDayOfWeek(days) - 1); }

struct IsoWeek {
  int64_t year;
  int64_t week;
};
IsoWeek IsoWeekOf(int64_t days) {
  const int64_t thursday = Monday(days) + 3;
  const int64_t year = CivilFromDays(thursday).year;
  return {year, (thursday - DaysFromCivil({year, 1, 1})) / 7 + 1};
}

// Years without a zero: 1 BC is -1.
int64_t HistoricYear(int64_t year) { return year > 0 ? year : year - 1; }
int64_t PeriodOf(int64_t year, int64_t length) {
  return year > 0 ? (year + length - 1) / length : -((length - 1 - (year - 1)) / length);
}

std::optional<FieldValue> ExtractDay(TimeField field, int64_t days) {
  const CivilDate date = CivilFromDays(days);
  switch (field) {
    case TimeField::kDay: return FieldValue{date.day, 0};
    case TimeField::kDow: return FieldValue{IsoDayOfWeek(days) % 7, 0};
    case TimeField::kIsoDow: return FieldValue{IsoDayOfWeek(days), 0};
    case TimeField::kDoy: return FieldValue{days - DaysFromCivil({date.year, 1, 1}) + 1, 0};
    case TimeField::kWeek: return FieldValue{IsoWeekOf(days).week, 0};
    case TimeField::kMonth: return FieldValue{date.month, 0};
    case TimeField::kQuarter: return FieldValue{(date.month - 1) / 3 + 1, 0};
    case TimeField::kYear: return FieldValue{HistoricYear(date.year), 0};
    case TimeField::kIsoYear: return FieldValue{HistoricYear(IsoWeekOf(days).year), 0};
    case TimeField::kDecade: return FieldValue{FloorDivide(date.year, 10), 0};
    case TimeField::kCentury: return FieldValue{PeriodOf(date.year, 100), 0};
    case TimeField::kMillennium: return FieldValue{PeriodOf(date.year, 1000), 0};
    default: return std::nullopt;
  }
}

int64_t StartOfYear(int64_t year) { return DaysFromCivil({year, 1, 1}); }

// The first year of the century or millennium that holds `year`.
int64_t PeriodStart(int64_t year, int64_t length) {
  return year > 0 ? (year - 1) / length * length + 1 : -((length - 1 - (year - 1)) / length) * length + 1;
}

std::optional<int64_t> TruncateDays(TimeField field, int64_t days) {
  const CivilDate date = CivilFromDays(days);
  switch (field) {
    case TimeField::kDay: return days;
    case TimeField::kWeek: return Monday(days);
    case TimeField::kMonth: return DaysFromCivil({date.year, date.month, 1});
    case TimeField::kQuarter: return DaysFromCivil({date.year, (date.month - 1) / 3 * 3 + 1, 1});
    case TimeField::kYear: return StartOfYear(date.year);
    case TimeField::kDecade: return StartOfYear(FloorDivide(date.year, 10) * 10);
    case TimeField::kCentury: return StartOfYear(PeriodStart(date.year, 100));
    case TimeField::kMillennium: return StartOfYear(PeriodStart(date.year, 1000));
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<TimeField> FindTimeField(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  for (const FieldName& entry : kFieldNames) {
    if (entry.name == lower) return entry.field;
  }
  return std::nullopt;
}

std::optional<FieldValue> ExtractField(TimeField field, ValueType type, int64_t units) {
  if (type == ValueType::kDate) {
    if (field == TimeField::kEpoch) return FieldValue{units * 86'400, 0};
    return ExtractDay(field, units);
  }
  const DayAndTime parts = SplitTimestamp(units);
  switch (field) {
    case TimeField::kEpoch: return FieldValue{units, 6};
    case TimeField::kMicroseconds: return FieldValue{parts.micros % (60 * kMicrosPerSecond), 0};
    case TimeField::kMilliseconds: return FieldValue{parts.micros % (60 * kMicrosPerSecond), 3};
    case TimeField::kSecond: return FieldValue{parts.micros % (60 * kMicrosPerSecond), 6};
    case TimeField::kMinute: return FieldValue{parts.micros / (60 * kMicrosPerSecond) % 60, 0};
    case TimeField::kHour: return FieldValue{parts.micros / (3600 * kMicrosPerSecond), 0};
    default: return ExtractDay(field, parts.days);
  }
}

std::optional<int64_t> TruncateTimestamp(TimeField field, int64_t micros) {
  const DayAndTime parts = SplitTimestamp(micros);
  int64_t unit = 0;
  switch (field) {
    case TimeField::kMicroseconds: return micros;
    case TimeField::kMilliseconds: unit = 1000; break;
    case TimeField::kSecond: unit = kMicrosPerSecond; break;
    case TimeField::kMinute: unit = 60 * kMicrosPerSecond; break;
    case TimeField::kHour: unit = 3600 * kMicrosPerSecond; break;
    default: {
      const std::optional<int64_t> days = TruncateDays(field, parts.days);
      if (!days) return std::nullopt;
      return *days * kMicrosPerDay;
    }
  }
  return parts.days * kMicrosPerDay + parts.micros / unit * unit;
}

}  // namespace weir::operators
