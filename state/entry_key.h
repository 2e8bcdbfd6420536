// The bytes under which an entry lies in a local store, and in the sorted runs and files of a snapshot. Pure functions.
//
//   +--------------+------------------+----------------------+-----+-----------+
//   | hash 32, BE  | state id 32, BE  | key length, varint   | key | namespace |
//   +--------------+------------------+----------------------+-----+-----------+
//
// Bytewise order is (hash, state, length of the key, key, namespace): a range of hashes is one range of keys, and the
// entries of one key lie together in order of their namespaces. Worked example: hash 0x40000000, state 7, key "ab",
// namespace "x" is 40 00 00 00 | 00 00 00 07 | 02 | 61 62 | 78.
//
// Operator state has the hash and the state id ff ff ff ff, which no keyed state gets: it sorts behind all keyed
// entries. Its key is the operator's uid, its namespace the entry's name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "state/subtask_state.h"

namespace weir::state {

constexpr uint32_t kOperatorStateId = UINT32_MAX;

// Replaces `out`.
void EncodeEntryKey(StateId state, const EntryKey& key, std::string& out);
EntryKey OperatorEntryKey(std::string_view uid, std::string_view name);

struct DecodedEntryKey {
  StateId state;
  EntryKey key;  // views into what was decoded
};
// Nothing if the bytes are no entry key.
std::optional<DecodedEntryKey> DecodeEntryKey(std::string_view bytes);

// The state id alone; `bytes` is an entry key.
uint32_t StateIdOf(std::string_view bytes);

// The least byte string above all that begin with `prefix`; nothing if there is none (all ff).
std::optional<std::string> BehindPrefix(std::string_view prefix);

// Where the keyed entries of a range of hashes begin, and the first key behind them.
std::string FirstKeyOf(HashRange range);
std::string BehindKeysOf(HashRange range);
// Where operator state begins.
std::string FirstOperatorKey();

// The id under which a state's keys are stored: 32 bits of a hash of uid and name; never kOperatorStateId.
uint32_t ComputeStateId(std::string_view uid, std::string_view name);

}  // namespace weir::state
