#include "operators/temporal.h"

#include <array>
#include <cctype>
#include <cstring>

namespace weir::operators {
namespace {

constexpr int64_t kDateMin = -2440588;            // 4714-11-24 BC
constexpr int64_t kDateMax = 2145042541;          // 5874897-12-31
constexpr int64_t kTimestampDaysMax = 106751991;  // 294277-01-01, exclusive

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool empty() const { return rest_.empty(); }
  bool Take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void SkipBlanks() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0) rest_.remove_prefix(1);
  }
  // Between `min` and `max` digits.
  bool Number(size_t min, size_t max, int64_t* value) {
    size_t n = 0;
    *value = 0;
    while (n < rest_.size() && n < max && rest_[n] >= '0' && rest_[n] <= '9') {
      *value = *value * 10 + (rest_[n] - '0');
      ++n;
    }
    rest_.remove_prefix(n);
    return n >= min;
  }
  // Digits behind the seconds' point, rounded to microseconds.
  bool Fraction(int64_t* micros) {
    int64_t value = 0;
    int digits = 0;
    bool up = false;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      if (digits < 6) value = value * 10 + (rest_.front() - '0');
      if (digits == 6) up = rest_.front() >= '5';
      ++digits;
      rest_.remove_prefix(1);
    }
    for (int i = digits; i < 6; ++i) value *= 10;
    *micros = value + (up ? 1 : 0);
    return true;
  }
  char Peek() const { return rest_.empty() ? '\0' : rest_.front(); }

 private:
  std::string_view rest_;
};

int DaysInMonth(int64_t year, int64_t month) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : kDays[static_cast<size_t>(month - 1)];
}

std::optional<TemporalError> ReadDate(Reader& in, int64_t* days) {
  int64_t year = 0;
  int64_t month = 0;
  int64_t day = 0;
  if (!in.Number(4, 7, &year) || !in.Take('-') || !in.Number(1, 2, &month) || !in.Take('-') || !in.Number(1, 2, &day)) {
    return TemporalError::kSyntax;
  }
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > DaysInMonth(year, month))
    return TemporalError::kOutOfRange;
  *days = DaysFromCivil({year, static_cast<int>(month), static_cast<int>(day)});
  return std::nullopt;
}

std::optional<TemporalError> ReadClock(Reader& in, int64_t* micros) {
  int64_t hour = 0;
  int64_t minute = 0;
  int64_t second = 0;
  int64_t fraction = 0;
  if (!in.Number(1, 2, &hour) || !in.Take(':') || !in.Number(2, 2, &minute)) return TemporalError::kSyntax;
  if (in.Take(':')) {
    if (!in.Number(2, 2, &second)) return TemporalError::kSyntax;
    if (in.Take('.') && !in.Fraction(&fraction)) return TemporalError::kSyntax;
  }
  if (minute > 59 || second > 60 || hour > 24) return TemporalError::kOutOfRange;
  if (hour == 24 && (minute != 0 || second != 0 || fraction != 0)) return TemporalError::kOutOfRange;
  *micros = ((hour * 60 + minute) * 60 + second) * kMicrosPerSecond + fraction;
  return std::nullopt;
}

// "Z", "+02", "-0230", "+02:30", "UTC"; nothing is zone 0.
std::optional<TemporalError> ReadZone(Reader& in, int64_t* micros) {
  *micros = 0;
  in.SkipBlanks();
  if (in.Take('Z') || in.Take('z')) return std::nullopt;
  if (in.Take('U')) return in.Take('T') && in.Take('C') ? std::nullopt : std::optional(TemporalError::kSyntax);
  const char sign = in.Peek();
  if (sign != '+' && sign != '-') return std::nullopt;
  in.Take(sign);
  int64_t hours = 0;
  int64_t minutes = 0;
  if (!in.Number(1, 2, &hours)) return TemporalError::kSyntax;
  const bool colon = in.Take(':');
  if ((colon || in.Peek() != '\0') && !in.Number(2, 2, &minutes)) return TemporalError::kSyntax;
  if (hours > 15 || minutes > 59) return TemporalError::kOutOfRange;
  *micros = (hours * 60 + minutes) * 60 * kMicrosPerSecond * (sign == '-' ? -1 : 1);
  return std::nullopt;
}

char* PutNumber(char* out, int64_t value, int width) {
  std::array<char, 20> digits{};
  int count = 0;
  for (; value != 0 || count < width; value /= 10)
    digits[static_cast<size_t>(count++)] = static_cast<char>('0' + value % 10);
  while (count > 0) *out++ = digits[static_cast<size_t>(--count)];
  return out;
}

char* PutDate(char* out, const CivilDate& date) {
  out = PutNumber(out, date.year > 0 ? date.year : 1 - date.year, 4);
  *out++ = '-';
  out = PutNumber(out, date.month, 2);
  *out++ = '-';
  return PutNumber(out, date.day, 2);
}

char* PutClock(char* out, int64_t micros) {
  const int64_t seconds = micros / kMicrosPerSecond;
  out = PutNumber(out, seconds / 3600, 2);
  *out++ = ':';
  out = PutNumber(out, seconds / 60 % 60, 2);
  *out++ = ':';
  out = PutNumber(out, seconds % 60, 2);
  if (const int64_t fraction = micros % kMicrosPerSecond; fraction != 0) {
    *out++ = '.';
    out = PutNumber(out, fraction, 6);
    while (out[-1] == '0') --out;
  }
  return out;
}

}  // namespace

int64_t DaysFromCivil(CivilDate date) {
  // Years that begin in March: the leap day comes last (Howard Hinnant's algorithm).
  const int64_t year = date.year - (date.month <= 2 ? 1 : 0);
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const int64_t year_of_era = year - era * 400;
  const int64_t day_of_year = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

CivilDate CivilFromDays(int64_t days) {
  days += 719468;
  const int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const int64_t day_of_era = days - era * 146097;
  const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t shifted_month = (5 * day_of_year + 2) / 153;
  const int month = static_cast<int>(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month,
          static_cast<int>(day_of_year - (153 * shifted_month + 2) / 5 + 1)};
}

bool IsDateInRange(int64_t days) { return days >= kDateMin && days <= kDateMax; }

bool IsTimestampInRange(int64_t micros) {
  return micros >= kDateMin * kMicrosPerDay && micros / kMicrosPerDay < kTimestampDaysMax;
}

DayAndTime SplitTimestamp(int64_t micros) {
  int64_t days = micros / kMicrosPerDay;
  int64_t rest = micros % kMicrosPerDay;
  if (rest < 0) {
    rest += kMicrosPerDay;
    --days;
  }
  return {days, rest};
}

TemporalText ParseTemporal(ValueType type, std::string_view text) {
  Reader in(text);
  in.SkipBlanks();
  int64_t days = 0;
  int64_t clock = 0;
  int64_t zone = 0;
  if (type != ValueType::kTime) {
    if (const auto error = ReadDate(in, &days); error) return {0, error};
    const bool t = in.Take('T') || in.Take('t');
    in.SkipBlanks();
    const bool digit = in.Peek() >= '0' && in.Peek() <= '9';
    if (t && !digit) return {0, TemporalError::kSyntax};
    if (digit) {
      if (const auto error = ReadClock(in, &clock); error) return {0, error};
    }
  } else if (const auto error = ReadClock(in, &clock); error) {
    return {0, error};
  }
  if (const auto error = ReadZone(in, &zone); error) return {0, error};
  in.SkipBlanks();
  if (!in.empty()) return {0, TemporalError::kSyntax};
  if (type == ValueType::kTime) return {clock, std::nullopt};
  if (type == ValueType::kDate) {
    if (!IsDateInRange(days)) return {0, TemporalError::kOutOfRange};
    return {days, std::nullopt};
  }
  if (days >= kTimestampDaysMax) return {0, TemporalError::kOutOfRange};
  const int64_t micros = days * kMicrosPerDay + clock - (type == ValueType::kTimestampTz ? zone : 0);
  if (!IsTimestampInRange(micros)) return {0, TemporalError::kOutOfRange};
  return {micros, std::nullopt};
}

size_t TemporalToText(ValueType type, int64_t units, char* out) {
  char* p = out;
  if (type == ValueType::kTime) return static_cast<size_t>(PutClock(p, units) - out);
  const bool date_only = type == ValueType::kDate;
  const DayAndTime parts = date_only ? DayAndTime{units, 0} : SplitTimestamp(units);
  const CivilDate date = CivilFromDays(parts.days);
  p = PutDate(p, date);
  if (!date_only) {
    *p++ = ' ';
    p = PutClock(p, parts.micros);
  }
  if (type == ValueType::kTimestampTz) {
    std::memcpy(p, "+00", 3);
    p += 3;
  }
  if (date.year <= 0) {
    std::memcpy(p, " BC", 3);
    p += 3;
  }
  return static_cast<size_t>(p - out);
}

}  // namespace weir::operators
