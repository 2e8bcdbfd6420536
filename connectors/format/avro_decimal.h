// Avro's decimals, two's complement of any length, as the digits that they are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::connectors {

// More bytes than PostgreSQL's numeric or CockroachDB's DECIMAL has digits for.
inline constexpr size_t kDecimalBytesMax = 64 * 1024;

// `bytes`: big end first, at most kDecimalBytesMax; none is zero. ("\x04\xe2", 2) is "12.50".
std::string DecimalText(std::string_view bytes, uint32_t scale);

}  // namespace weir::connectors
