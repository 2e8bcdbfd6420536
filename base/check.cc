#include "base/check.h"

#include <execinfo.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace weir::check_internal {

void Fail(const char* file, int line, const char* expression, const std::string& values) {
  std::fprintf(stderr, "check failed at %s:%d: %s%s%s%s\n", file, line, expression, values.empty() ? "" : " (",
               values.c_str(), values.empty() ? "" : ")");
  std::fflush(stderr);
  std::array<void*, 64> frames{};
  backtrace_symbols_fd(frames.data(), backtrace(frames.data(), static_cast<int>(frames.size())), STDERR_FILENO);
  std::abort();
}

}  // namespace weir::check_internal
