#include "jobs/status_line.h"

#include <algorithm>
#include <cstdio>

#include "base/log.h"
#include "base/process.h"

namespace weir::jobs {
namespace {

constexpr Duration kLogInterval = std::chrono::seconds(10);

uint64_t PerSecond(uint64_t count, Duration since) {
  const double seconds = std::chrono::duration<double>(since).count();
  return seconds <= 0 ? 0 : static_cast<uint64_t>(static_cast<double>(count) / seconds);
}

int64_t Milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace

std::string GroupDigits(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string StatusLine::Text(const Job& job, Duration since) {
  const Job::Rates now = job.rates();
  const checkpoint::CheckpointStats stats = job.checkpoint_stats();
  std::string text = job.definition().name;
  text += ": in " + GroupDigits(PerSecond(now.rows_in - before_.rows_in, since)) + "/s";
  text += ", out " + GroupDigits(PerSecond(now.rows_out - before_.rows_out, since)) + "/s";
  text += ", checkpoint " + std::to_string(stats.last_number);
  if (stats.age.has_value()) {
    text += " (" + std::to_string(Milliseconds(*stats.age)) + " ms old, took " +
            std::to_string(Milliseconds(stats.last_duration)) + " ms, " + GroupDigits(stats.last_bytes_new) + " bytes)";
  }
  if (stats.failed > 0) text += ", " + std::to_string(stats.failed) + " failed: " + stats.last_failure;
  if (now.bad_records > 0) text += ", " + GroupDigits(now.bad_records) + " bad records";
  if (now.lag_records >= 0) text += ", lag " + GroupDigits(static_cast<uint64_t>(now.lag_records));
  if (restarts_ > 0) text += ", " + std::to_string(restarts_) + (restarts_ == 1 ? " restart" : " restarts");
  text += ", " + std::to_string(ResidentBytes() >> 20) + " MiB";
  before_ = now;
  return text;
}

void StatusLine::Print(const Job& job) {
  const Duration since = clock_.Now() - last_;
  if (!terminal_ && since < kLogInterval) return;
  const std::string text = Text(job, since);
  last_ = clock_.Now();
  if (!terminal_) {
    LogInfo(text);
    return;
  }
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
  open_ = true;
}

void StatusLine::End() {
  if (open_) std::fputc('\n', stderr);
  open_ = false;
}

}  // namespace weir::jobs
