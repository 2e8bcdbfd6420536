// One line a record: time, level, text. Any thread. spdlog is behind log.cc alone. Text must never hold a secret:
// values from `${...}` references are kept apart in the definition and never reach a message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };

// Lines below `level` are dropped. Default kInfo, to standard error.
void SetLogLevel(LogLevel level);
void Log(LogLevel level, std::string_view text);
inline void LogDebug(std::string_view text) { Log(LogLevel::kDebug, text); }
inline void LogInfo(std::string_view text) { Log(LogLevel::kInfo, text); }
inline void LogWarning(std::string_view text) { Log(LogLevel::kWarning, text); }
inline void LogError(std::string_view text) { Log(LogLevel::kError, text); }

}  // namespace weir
