#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>

namespace weir {
namespace {

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::info;
}

// Never destroyed: a thread may still log while the process ends.
spdlog::logger& Logger() {
  static spdlog::logger* const logger = [] {
    auto* made = new spdlog::logger("weir", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    made->set_level(spdlog::level::info);
    return made;
  }();
  return *logger;
}

// A record is one line that leaves a terminal alone, whatever a broker or a user put into the text.
std::string OneLine(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string line;
  line.reserve(text.size());
  for (const char c : text) {
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\r') {
      line += "\\r";
    } else if (const auto code = static_cast<unsigned char>(c); (code < 0x20 && c != '\t') || code == 0x7f) {
      line += "\\x";
      line.push_back(kHex[code >> 4]);
      line.push_back(kHex[code & 15]);
    } else {
      line.push_back(c);
    }
  }
  return line;
}

}  // namespace

void SetLogLevel(LogLevel level) { Logger().set_level(SpdlogLevel(level)); }

void Log(LogLevel level, std::string_view text) {
  try {
    spdlog::logger& logger = Logger();
    if (!logger.should_log(SpdlogLevel(level))) return;
    logger.log(SpdlogLevel(level), "{}", OneLine(text));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "the log failed: %s\n", e.what());
  }
}

}  // namespace weir
