// Any bytes as `_metadata`: refused as corrupt with the file's name, or read; what was read is written and read again
// and means the same. The bytes come as they are, and as the message inside a right envelope (magic, version, length,
// checksum), so that the checksum does not shield the message's reader.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "checkpoint/checkpoint_metadata.h"

namespace {

void AppendBigEndian(uint64_t value, int bytes, std::string& out) {
  for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

std::string InEnvelope(std::string_view message) {
  std::string bytes = "WEIRCKPT";
  AppendBigEndian(weir::checkpoint::kMetadataFormatVersion, 4, bytes);
  AppendBigEndian(message.size(), 8, bytes);
  bytes += message;
  AppendBigEndian(weir::Hash64(bytes), 8, bytes);
  return bytes;
}

void Read(std::string_view bytes) {
  const auto decoded = weir::checkpoint::DecodeMetadata(bytes, "/c/_metadata");
  if (!decoded.has_value()) {
    WEIR_CHECK(decoded.error().code() == weir::StatusCode::kCorruption);
    WEIR_CHECK(decoded.error().message().find("/c/_metadata") != std::string::npos);
    return;
  }
  const auto again = weir::checkpoint::DecodeMetadata(weir::checkpoint::EncodeMetadata(*decoded), "again");
  WEIR_CHECK(again.has_value());
  WEIR_CHECK(*again == *decoded);
  (void)decoded->StateFiles();
  (void)decoded->StatefulUids();
  (void)decoded->StateBytes();
  (void)weir::checkpoint::AncestorsOfChild(*decoded);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Read(bytes);
  Read(InEnvelope(bytes));
  return 0;
}
