// Conversions between types: casts, the reading of text as a type, the printing of a value as text. Pure but for text
// that is made, which goes to the given arena. Used at Parse (literals) and for each row (casts). Any thread with an
// arena of its own.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "operators/batch.h"
#include "operators/decimal.h"
#include "operators/expression/ast.h"

namespace weir::operators::expression {

// A conversion's failure is a sentence for a person.
using Converted = std::expected<Value, std::string>;

// What a type is called in errors: "bigint", "numeric", "text".
std::string_view SqlName(ValueType type);

// `text` as PostgreSQL reads the type's literals. For kString and kJson the value points to `text`.
Converted ReadText(std::string_view text, ValueType type, Arena& arena);

// The value as PostgreSQL casts it to text. Short texts of numbers and times are made in `arena`.
std::string_view ToText(const Value& value, Arena& arena);

// value::spec. Null stays null.
Converted CastValue(const Value& value, const TypeSpec& spec, Arena& arena);

Value DecimalValue(const Decimal& decimal, Arena& arena);
// int64 or decimal.
std::expected<Decimal, DecimalError> ToDecimal(const Value& number);
// int64, decimal or double.
double ToDouble(const Value& number);
// double precision rounded to bigint, half to even; nothing if it does not fit.
std::optional<int64_t> RoundToInt64(double value);

// Types that compare and mix: numbers with numbers, dates with timestamps, and each other type with itself.
enum class TypeFamily : uint8_t { kNone, kBool, kNumber, kText, kBytes, kDay, kTime, kJson };
TypeFamily FamilyOf(ValueType type);

// Bytes of UTF-8 characters.
size_t CountCharacters(std::string_view text);
// Byte offset of character `index`, at most text.size().
size_t CharacterOffset(std::string_view text, size_t index);

}  // namespace weir::operators::expression
