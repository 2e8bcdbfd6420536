// A text as a JSON string: in quotes, escaped, bytes from 0x80 on as they are. In the header, because every text that a
// sink writes as JSON goes through it: eight bytes at a time are looked at and copied as long as none needs an escape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace weir {

// At least what PutJsonString writes.
inline size_t JsonStringBytesMax(std::string_view text) { return text.size() * 6 + 2; }

namespace json_escape_internal {

inline char* PutTwo(char* to, const char* two) {
  std::memcpy(to, two, 2);
  return to + 2;
}

// One byte of a string that can't stand as it is, or can.
inline char* PutEscaped(char* to, char c) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"': return PutTwo(to, "\\\"");
    case '\\': return PutTwo(to, "\\\\");
    case '\b': return PutTwo(to, "\\b");
    case '\f': return PutTwo(to, "\\f");
    case '\n': return PutTwo(to, "\\n");
    case '\r': return PutTwo(to, "\\r");
    case '\t': return PutTwo(to, "\\t");
    default: break;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20) {
    *to = c;
    return to + 1;
  }
  std::memcpy(to, "\\u00", 4);
  to += 4;
  *to++ = kHex[byte >> 4];
  *to++ = kHex[byte & 15];
  return to;
}

// Non-zero if one of the eight bytes is a quote, a backslash or a control character (or, rarely, follows one that is).
inline uint64_t NeedsEscape(uint64_t eight) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kHigh = 0x8080808080808080;
  const uint64_t quote = eight ^ kOnes * '"';
  const uint64_t backslash = eight ^ kOnes * '\\';
  const uint64_t control = (eight - kOnes * 0x20) & ~eight;
  return (control | ((quote - kOnes) & ~quote) | ((backslash - kOnes) & ~backslash)) & kHigh;
}

}  // namespace json_escape_internal

// `to` has room for JsonStringBytesMax bytes; the end of what was written.
inline char* PutJsonString(char* to, std::string_view text) {
  *to++ = '"';
  const char* from = text.data();
  const char* const end = from + text.size();
  while (end - from >= 8) {
    uint64_t eight;
    std::memcpy(&eight, from, 8);
    if (json_escape_internal::NeedsEscape(eight) == 0) [[likely]] {
      std::memcpy(to, &eight, 8);
      to += 8;
      from += 8;
      continue;
    }
    for (int i = 0; i < 8; ++i) to = json_escape_internal::PutEscaped(to, *from++);
  }
  while (from != end) to = json_escape_internal::PutEscaped(to, *from++);
  *to++ = '"';
  return to;
}

inline void AppendJsonString(std::string& out, std::string_view text) {
  const size_t before = out.size();
  out.resize_and_overwrite(before + JsonStringBytesMax(text), [&](char* buffer, size_t) {
    return static_cast<size_t>(PutJsonString(buffer + before, text) - buffer);
  });
}

}  // namespace weir
