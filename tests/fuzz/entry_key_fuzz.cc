// State keys from any bytes: decoding reads within them, and what it read encodes to a key that means the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "state/entry_key.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto decoded = weir::state::DecodeEntryKey(bytes);
  if (!decoded.has_value()) return 0;
  std::string canonical;
  weir::state::EncodeEntryKey(decoded->state, decoded->key, canonical);
  WEIR_CHECK_LE(canonical.size(), bytes.size());
  const auto again = weir::state::DecodeEntryKey(canonical);
  WEIR_CHECK(again.has_value());
  WEIR_CHECK_EQ(again->state.value, decoded->state.value);
  WEIR_CHECK_EQ(again->key.hash, decoded->key.hash);
  WEIR_CHECK(again->key.key == decoded->key.key);
  WEIR_CHECK(again->key.name_space == decoded->key.name_space);
  return 0;
}
