// Output that waits for its checkpoint: one sealed piece for one external system. A plain value, stored in `_metadata`.
#pragma once

#include <cstdint>
#include <string>

namespace weir::checkpoint {

struct Committable {
  std::string system;   // identity of the external system, e.g. "file:/data/out"; one Committer each
  std::string uid;      // of the sink that wrote it
  std::string payload;  // JSON of the system's own: for files {"name","size-bytes","checksum"}
  uint64_t size_bytes = 0;
  uint64_t rows = 0;
  // A segment: name of the file in the storage's output/ folder that holds the rows, and Hash64 of its bytes. Empty:
  // the system has them already, in its own way.
  std::string segment = {};
  uint64_t checksum = 0;
  friend bool operator==(const Committable&, const Committable&) = default;
};

}  // namespace weir::checkpoint
