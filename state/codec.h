// Bytes of a state's values. A codec's type string is recorded in every snapshot; a state whose recorded type is
// another than the one asked for is refused at Register. So a type string changes when its bytes do, and only then.
// Pure functions; any thread. A codec of one's own is a specialisation with the same three members.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace weir::state {

template <class T>
struct Codec;
// template <> struct Codec<T> {
//   static std::string Type();                                 // e.g. "int64"
//   static void Encode(const T& value, std::string& out);      // appends
//   static std::optional<T> Decode(std::string_view bytes);    // nothing: these bytes are no T
// };

// Zigzag varint: small numbers of either sign are short.
template <>
struct Codec<int64_t> {
  static std::string Type() { return "int64"; }
  static void Encode(int64_t value, std::string& out);
  static std::optional<int64_t> Decode(std::string_view bytes);
};

template <>
struct Codec<uint64_t> {
  static std::string Type() { return "uint64"; }
  static void Encode(uint64_t value, std::string& out);
  static std::optional<uint64_t> Decode(std::string_view bytes);
};

template <>
struct Codec<bool> {
  static std::string Type() { return "bool"; }
  static void Encode(bool value, std::string& out) { out.push_back(value ? '\1' : '\0'); }
  static std::optional<bool> Decode(std::string_view bytes);
};

// The eight bytes of IEEE 754, big-endian: every NaN and both zeros come back as they went.
template <>
struct Codec<double> {
  static std::string Type() { return "double"; }
  static void Encode(double value, std::string& out);
  static std::optional<double> Decode(std::string_view bytes);
};

// UTF-8 text or any bytes; as they are.
template <>
struct Codec<std::string> {
  static std::string Type() { return "bytes"; }
  static void Encode(std::string_view value, std::string& out) { out.append(value); }
  static std::optional<std::string> Decode(std::string_view bytes) { return std::string(bytes); }
};

// The first with its length in front, then the second.
template <class A, class B>
struct Codec<std::pair<A, B>> {
  static std::string Type() { return "pair(" + Codec<A>::Type() + ";" + Codec<B>::Type() + ")"; }
  static void Encode(const std::pair<A, B>& value, std::string& out);
  static std::optional<std::pair<A, B>> Decode(std::string_view bytes);
};

namespace codec_internal {
void AppendPiece(std::string& out, std::string_view piece);
std::optional<std::string_view> TakePiece(std::string_view& bytes);
}  // namespace codec_internal

template <class A, class B>
void Codec<std::pair<A, B>>::Encode(const std::pair<A, B>& value, std::string& out) {
  std::string first;
  Codec<A>::Encode(value.first, first);
  codec_internal::AppendPiece(out, first);
  Codec<B>::Encode(value.second, out);
}

template <class A, class B>
std::optional<std::pair<A, B>> Codec<std::pair<A, B>>::Decode(std::string_view bytes) {
  const std::optional<std::string_view> piece = codec_internal::TakePiece(bytes);
  if (!piece.has_value()) return std::nullopt;
  std::optional<A> first = Codec<A>::Decode(*piece);
  std::optional<B> second = Codec<B>::Decode(bytes);
  if (!first.has_value() || !second.has_value()) return std::nullopt;
  return std::pair<A, B>(std::move(*first), std::move(*second));
}

}  // namespace weir::state
