// The input of the Kafka benchmarks: CockroachDB changefeed rows of 277 bytes. Row i is the same in every run.
#pragma once

#include <cstdint>
#include <string>

namespace weir::bench {

inline constexpr size_t kChangefeedRowBytes = 277;

// The record's value into `value`, its key ("[42]") into `key`. Of 17 rows one is cancelled, which the jobs filter out.
// The note is one letter again and again, or with `random_note` text that hardly compresses.
inline void BuildChangefeedRow(uint64_t i, uint64_t accounts, std::string& key, std::string& value,
                               bool random_note = false) {
  const uint64_t mixed = (i * 0x9e3779b97f4a7c15ULL) >> 20;
  const std::string number = std::to_string(i);
  key = "[" + number + "]";
  value = R"({"after": {"account_id": )" + std::to_string(mixed % accounts) + R"(, "amount": )" +
          std::to_string(mixed % 100'000) + R"(, "currency": "EUR", "id": )" + number +
          R"(, "region": "eu-west-1", "status": ")" + (i % 17 == 0 ? "cancelled" : "completed") +
          R"(", "updated_at": "2026-11-30T12:00:00.123456", "note": ")";
  const std::string tail =
      R"("}, "updated": "17000000001234)" + std::to_string(10'000 + i % 90'000) + R"(.0000000000"})";
  if (value.size() + tail.size() < kChangefeedRowBytes) {
    uint64_t state = i * 2 + 1;
    for (size_t left = kChangefeedRowBytes - value.size() - tail.size(); left > 0; --left) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      value += random_note ? "abcdefghijklmnopqrstuvwxyz012345"[state >> 59] : 'n';
    }
  }
  value += tail;
}

}  // namespace weir::bench
