// Keys as bytes: the same values give the same bytes, different values different ones, on every machine and in every
// release (they are in the state's files). Pure functions; any thread.
//
// A key is its values one after the other, each a tag and what follows, so that no two lists of values give the same
// bytes ("a", "bc" and "ab", "c" differ in the length byte):
//
//   00 absent   01 null   02 false   03 true
//   04 int64: zigzag varint                     7, 7.0 and 7E+0 are all 04 0e
//   05 other number: length, canonical text     0.10 and 1E-1 are both 05 03 "0.1"
//   06 double: 8 bytes, big-endian              -0 as 0, every NaN as one; equal to no int64 or decimal
//   07 string   08 bytes   09 json: length (varint), text as it was written
//   0a date   0b time   0c timestamp   0d timestamptz: zigzag varint
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operators/value.h"

namespace weir::operators {

void AppendKey(std::string& out, const Value& value);

// The same with a number's text and a double's bits as they are, for a value that is kept: equal ones may give
// different bytes.
void AppendExactValue(std::string& out, const Value& value);
// Takes one value of either form from the front; text points into `bytes`. Nothing if they are no such value.
std::optional<Value> TakeKeyValue(std::string_view& bytes);

// The values of a key that AppendKey made, `out.size()` of them; text points into `key`. False if the bytes are no such
// key or hold another number of values.
bool DecodeKey(std::string_view key, std::span<Value> out);

// "7, \"north\", null": for messages.
std::string PrintKey(std::string_view key);

}  // namespace weir::operators
