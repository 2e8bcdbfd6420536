#include "connectors/file/marker.h"

#include <utility>

#include "connectors/marker_text.h"

namespace weir::connectors {

Result<std::optional<checkpoint::Marker>> ReadMarkerFile(FileSystem& fs, const std::string& path) {
  const Result<std::string> text = ReadFile(fs, path);
  if (!text.has_value()) {
    if (text.error().code() == StatusCode::kNotFound) return std::optional<checkpoint::Marker>();
    return Error(text.error());
  }
  Result<checkpoint::Marker> marker = MarkerFromText(*text);
  if (!marker.has_value()) return Error(marker.error().WithContext("marker file " + path + " is damaged"));
  return std::optional(std::move(*marker));
}

}  // namespace weir::connectors
