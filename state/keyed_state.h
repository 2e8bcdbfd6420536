// Typed views of keyed state for operators: ValueState, ListState, MapState, ReducingState, AggregatingState over a
// SubtaskState with codecs (state/codec.h). Task's thread. A view is opened once, at Open; each call names its key.
// Views hold no entries: they go away and come back at no cost.
//
//   WEIR_ASSIGN_OR_RETURN(auto count, ValueState<int64_t>::Open(*context.state, context.uid, "count"));
//   WEIR_ASSIGN_OR_RETURN(const std::optional<int64_t> before, count.Get(key));
//   WEIR_RETURN_IF_ERROR(count.Update(key, before.value_or(0) + 1));
//
// What lies in the store: value, reducing, aggregating: one entry a key. Map: one entry a member, the member's bytes as
// namespace. List: one entry an element, its number (big-endian 64) as namespace, and one with an empty namespace that
// holds the count. A value that the codec can't read is kCorruption and names the state.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "state/codec.h"
#include "state/subtask_state.h"

namespace weir::state {

// The key of a keyed call: what key_by computed.
struct StateKey {
  uint32_t hash = 0;  // HashKey(bytes)
  std::string_view bytes;
  EntryKey In(std::string_view name_space = {}) const { return {.hash = hash, .key = bytes, .name_space = name_space}; }
};

namespace keyed_internal {

// What all views hold.
struct View {
  SubtaskState* state = nullptr;
  StateId id;
  std::string name;  // "<uid>/<state>" for messages

  static Result<View> Open(SubtaskState& state, std::string_view uid, std::string_view name, std::string_view kind,
                           std::string codec) {
    WEIR_ASSIGN_OR_RETURN(const StateId id, state.Register({.uid = std::string(uid),
                                                            .name = std::string(name),
                                                            .kind = std::string(kind),
                                                            .codec = std::move(codec)}));
    return View{.state = &state, .id = id, .name = std::string(uid) + "/" + std::string(name)};
  }

  template <class T>
  Result<T> Decode(std::string_view bytes) const {
    std::optional<T> value = Codec<T>::Decode(bytes);
    if (value.has_value()) return std::move(*value);
    return Error(Status::Corruption("a value of state " + name + " is no " + Codec<T>::Type()));
  }
  template <class T>
  Result<std::optional<T>> Get(const EntryKey& key) const {
    WEIR_ASSIGN_OR_RETURN(const std::optional<std::string_view> bytes, state->Get(id, key));
    if (!bytes.has_value()) return std::nullopt;
    WEIR_ASSIGN_OR_RETURN(T value, Decode<T>(*bytes));
    return std::optional<T>(std::move(value));
  }
  template <class T>
  Status Put(const EntryKey& key, const T& value) const {
    std::string bytes;
    Codec<T>::Encode(value, bytes);
    return state->Put(id, key, bytes);
  }
};

}  // namespace keyed_internal

template <class T>
class ValueState {
 public:
  static Result<ValueState> Open(SubtaskState& state, std::string_view uid, std::string_view name) {
    WEIR_ASSIGN_OR_RETURN(auto view, keyed_internal::View::Open(state, uid, name, "value", Codec<T>::Type()));
    return ValueState(std::move(view));
  }
  Result<std::optional<T>> Get(StateKey key) const { return view_.template Get<T>(key.In()); }
  Status Update(StateKey key, const T& value) { return view_.template Put<T>(key.In(), value); }
  Status Clear(StateKey key) { return view_.state->Delete(view_.id, key.In()); }

 private:
  explicit ValueState(keyed_internal::View view) : view_(std::move(view)) {}
  keyed_internal::View view_;
};

// In order of insertion.
template <class T>
class ListState {
 public:
  static Result<ListState> Open(SubtaskState& state, std::string_view uid, std::string_view name) {
    WEIR_ASSIGN_OR_RETURN(auto view, keyed_internal::View::Open(state, uid, name, "list", Codec<T>::Type()));
    return ListState(std::move(view));
  }

  Status Add(StateKey key, const T& value) {
    WEIR_ASSIGN_OR_RETURN(const uint64_t count, Count(key));
    WEIR_RETURN_IF_ERROR(view_.template Put<T>(key.In(Number(count)), value));
    return view_.template Put<uint64_t>(key.In(), count + 1);
  }

  Result<std::vector<T>> Get(StateKey key) const {
    WEIR_ASSIGN_OR_RETURN(const uint64_t count, Count(key));
    std::vector<T> values;
    for (uint64_t first = 0; first < count; first += kBatch) {
      WEIR_RETURN_IF_ERROR(Prefetch(key, first, std::min(first + kBatch, count)));
      for (uint64_t i = first; i < std::min(first + kBatch, count); ++i) {
        WEIR_ASSIGN_OR_RETURN(std::optional<T> value, view_.template Get<T>(key.In(Number(i))));
        if (!value.has_value()) {
          return Error(Status::Corruption("list state " + view_.name + " lacks element " + std::to_string(i) + " of " +
                                          std::to_string(count)));
        }
        values.push_back(std::move(*value));
      }
    }
    return values;
  }

  Status Update(StateKey key, const std::vector<T>& values) {
    WEIR_RETURN_IF_ERROR(Clear(key));
    for (size_t i = 0; i < values.size(); ++i) {
      WEIR_RETURN_IF_ERROR(view_.template Put<T>(key.In(Number(i)), values[i]));
    }
    return values.empty() ? Status::Ok() : view_.template Put<uint64_t>(key.In(), values.size());
  }

  Status Clear(StateKey key) {
    WEIR_ASSIGN_OR_RETURN(const uint64_t count, Count(key));
    for (uint64_t i = 0; i < count; ++i) WEIR_RETURN_IF_ERROR(view_.state->Delete(view_.id, key.In(Number(i))));
    return count == 0 ? Status::Ok() : view_.state->Delete(view_.id, key.In());
  }

 private:
  static constexpr uint64_t kBatch = 256;  // elements read from the store at once

  explicit ListState(keyed_internal::View view) : view_(std::move(view)) {}

  static std::string Number(uint64_t i) {
    std::string bytes;
    AppendBigEndian64(bytes, i);
    return bytes;
  }
  Result<uint64_t> Count(StateKey key) const {
    WEIR_ASSIGN_OR_RETURN(const std::optional<uint64_t> count, view_.template Get<uint64_t>(key.In()));
    return count.value_or(0);
  }
  Status Prefetch(StateKey key, uint64_t first, uint64_t behind) const {
    std::vector<std::string> numbers;
    for (uint64_t i = first; i < behind; ++i) numbers.push_back(Number(i));
    std::vector<EntryKey> keys;
    for (const std::string& number : numbers) keys.push_back(key.In(number));
    return view_.state->Prefetch(view_.id, keys);
  }

  keyed_internal::View view_;
};

// In order of the members' bytes.
template <class K, class V>
class MapState {
 public:
  static Result<MapState> Open(SubtaskState& state, std::string_view uid, std::string_view name) {
    WEIR_ASSIGN_OR_RETURN(auto view,
                          keyed_internal::View::Open(state, uid, name, "map", Codec<std::pair<K, V>>::Type()));
    return MapState(std::move(view));
  }
  Result<std::optional<V>> Get(StateKey key, const K& member) const {
    return view_.template Get<V>(key.In(Bytes(member)));
  }
  Status Put(StateKey key, const K& member, const V& value) {
    return view_.template Put<V>(key.In(Bytes(member)), value);
  }
  Status Remove(StateKey key, const K& member) { return view_.state->Delete(view_.id, key.In(Bytes(member))); }

  // The visitor returns false to stop; it changes no state.
  Status ForEach(StateKey key, std::move_only_function<bool(const K&, const V&)> visit) const {
    Status failure;
    WEIR_RETURN_IF_ERROR(view_.state->ScanKey(
        view_.id, key.In(), [&](std::string_view, std::string_view member_bytes, std::string_view value_bytes) {
          Result<K> member = view_.template Decode<K>(member_bytes);
          Result<V> value = view_.template Decode<V>(value_bytes);
          if (!member.has_value()) failure = member.error();
          if (!value.has_value()) failure = value.error();
          return failure.ok() && visit(*member, *value);
        }));
    return failure;
  }

  Status Clear(StateKey key) {
    std::vector<std::string> members;
    WEIR_RETURN_IF_ERROR(
        view_.state->ScanKey(view_.id, key.In(), [&](std::string_view, std::string_view member, std::string_view) {
          members.emplace_back(member);
          return true;
        }));
    for (const std::string& member : members) WEIR_RETURN_IF_ERROR(view_.state->Delete(view_.id, key.In(member)));
    return Status::Ok();
  }

 private:
  explicit MapState(keyed_internal::View view) : view_(std::move(view)) {}
  static std::string Bytes(const K& member) {
    std::string bytes;
    Codec<K>::Encode(member, bytes);
    return bytes;
  }
  keyed_internal::View view_;
};

// Adds inputs to one accumulator a key. `Aggregate` has: using Input, Accumulator, Output; static Accumulator Create();
// static Status Add(const Input&, Accumulator&); static Result<Output> Get(const Accumulator&).
template <class Aggregate>
class AggregatingState {
 public:
  using Input = typename Aggregate::Input;
  using Accumulator = typename Aggregate::Accumulator;
  using Output = typename Aggregate::Output;

  static Result<AggregatingState> Open(SubtaskState& state, std::string_view uid, std::string_view name) {
    WEIR_ASSIGN_OR_RETURN(auto view,
                          keyed_internal::View::Open(state, uid, name, "aggregating", Codec<Accumulator>::Type()));
    return AggregatingState(std::move(view));
  }
  // On an error of the aggregate the state stays as it was.
  Status Add(StateKey key, const Input& input) {
    WEIR_ASSIGN_OR_RETURN(std::optional<Accumulator> found, view_.template Get<Accumulator>(key.In()));
    Accumulator accumulator = found.has_value() ? std::move(*found) : Aggregate::Create();
    WEIR_RETURN_IF_ERROR(Aggregate::Add(input, accumulator));
    return view_.template Put<Accumulator>(key.In(), accumulator);
  }
  Result<std::optional<Output>> Get(StateKey key) const {
    WEIR_ASSIGN_OR_RETURN(const std::optional<Accumulator> found, view_.template Get<Accumulator>(key.In()));
    if (!found.has_value()) return std::nullopt;
    WEIR_ASSIGN_OR_RETURN(Output output, Aggregate::Get(*found));
    return std::optional<Output>(std::move(output));
  }
  Status Clear(StateKey key) { return view_.state->Delete(view_.id, key.In()); }

 private:
  explicit AggregatingState(keyed_internal::View view) : view_(std::move(view)) {}
  keyed_internal::View view_;
};

// One value a key; Add replaces it by Reduce()(former, added).
template <class T, class Reduce>
class ReducingState {
 public:
  static Result<ReducingState> Open(SubtaskState& state, std::string_view uid, std::string_view name) {
    WEIR_ASSIGN_OR_RETURN(auto view, keyed_internal::View::Open(state, uid, name, "reducing", Codec<T>::Type()));
    return ReducingState(std::move(view));
  }
  Status Add(StateKey key, const T& value) {
    WEIR_ASSIGN_OR_RETURN(const std::optional<T> former, Get(key));
    return view_.template Put<T>(key.In(), former.has_value() ? Reduce()(*former, value) : value);
  }
  Result<std::optional<T>> Get(StateKey key) const { return view_.template Get<T>(key.In()); }
  Status Clear(StateKey key) { return view_.state->Delete(view_.id, key.In()); }

 private:
  explicit ReducingState(keyed_internal::View view) : view_(std::move(view)) {}
  keyed_internal::View view_;
};

}  // namespace weir::state
