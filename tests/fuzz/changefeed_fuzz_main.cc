// libFuzzer's entry.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/changefeed_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::connectors::FuzzChangefeed({reinterpret_cast<const char*>(data), size});
  return 0;
}
