#include "tests/integration/expression_postgres_generator.h"

#include <initializer_list>

namespace weir::integration {
namespace {

std::string_view CastName(Kind kind) {
  switch (kind) {
    case Kind::kBool: return "bool";
    case Kind::kBigint: return "bigint";
    case Kind::kNumeric: return "numeric";
    case Kind::kDouble: return "double precision";
    case Kind::kText: return "text";
    case Kind::kDate: return "date";
    case Kind::kTimestamp: return "timestamp";
    case Kind::kTimestampTz: return "timestamptz";
  }
  return "text";
}

std::string Replaced(std::string_view pattern, const std::vector<Spelled>& parts, std::string Spelled::* spelling) {
  std::string result;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '$') {
      result += parts[static_cast<size_t>(pattern[++i] - '1')].*spelling;
    } else {
      result.push_back(pattern[i]);
    }
  }
  return result;
}

Spelled Same(std::string text) { return {text, text, text}; }
// A constant.
Spelled Hidden(std::string text) { return {text, text, "(SELECT " + text + ")"}; }

}  // namespace

std::string_view Generator::Pick(std::initializer_list<std::string_view> choices) {
  return choices.begin()[Below(choices.size())];
}

Spelled Generator::Fill(std::string_view pattern, const std::vector<Spelled>& parts) {
  return {Replaced(pattern, parts, &Spelled::ours), Replaced(pattern, parts, &Spelled::postgres),
          Replaced(pattern, parts, &Spelled::unfolded)};
}

// Mostly in parentheses; without them precedence decides, the same way on both sides.
Spelled Generator::Operator(std::string_view pattern, const std::vector<Spelled>& parts) {
  const Spelled bare = Fill(pattern, parts);
  return Below(5) == 0 ? bare : Fill("($1)", {bare});
}

Spelled Generator::Make(Kind kind, int depth) {
  if (depth == 0 || Below(8) == 0) return Leaf(kind);
  if (Below(5) == 0) return Shared(kind, depth - 1);
  switch (kind) {
    case Kind::kBool: return Bool(depth - 1);
    case Kind::kBigint: return Bigint(depth - 1);
    case Kind::kNumeric: return Numeric(depth - 1);
    case Kind::kDouble: return Double(depth - 1);
    case Kind::kText: return Text(depth - 1);
    case Kind::kDate: return Date(depth - 1);
    case Kind::kTimestamp:
    case Kind::kTimestampTz: return Timestamp(kind, depth - 1);
  }
  return Leaf(kind);
}

Spelled Generator::Leaf(Kind kind) {
  if (Below(3) == 0) return Literal(kind);
  constexpr std::string_view kPrefixes = "binfsdtz";
  std::string name(1, kPrefixes[static_cast<size_t>(kind)]);
  return Same(name + (Below(2) == 0 ? "1" : "2"));
}

Spelled Generator::Literal(Kind kind) {
  if (Below(12) == 0) return Hidden("CAST(NULL AS " + std::string(CastName(kind)) + ")");
  switch (kind) {
    case Kind::kBool: return Hidden(std::string(Pick({"TRUE", "FALSE", "true"})));
    case Kind::kBigint: {
      const std::string text(
          Pick({"0", "1", "2", "3", "7", "10", "100", "-1", "-5", "4611686018427387904", "9223372036854775807"}));
      return {text, "(" + text + "::bigint)", "(SELECT " + text + "::bigint)"};
    }
    case Kind::kNumeric:
      return Hidden(std::string(Pick({"0.0", "1.5", "2.50", ".25", "10.", "1e3", "3.14159265358979", "-0.5",
                                      "12345678901234567890", "0.001", "1.0E-5"})));
    case Kind::kDouble:
      return Hidden(
          "CAST('" +
          std::string(Pick({"0", "1.5", "-2.25", "1e10", "0.1", "1e-5", "123456789.125", "NaN", "Infinity", "1e200"})) +
          "' AS double precision)");
    case Kind::kText: {
      const std::string text = "'" +
                               std::string(Pick({"", "a", "paid", "Paid", "it''s", "a,b,c", "  x ", "12", "ä€", "%a_",
                                                 "b", "true", "-7.5"})) +
                               "'";
      return {text, text, "(SELECT " + text + "::text)"};
    }
    case Kind::kDate:
      return Hidden(
          "DATE '" +
          std::string(Pick({"2024-02-29", "1970-01-01", "1999-12-31", "2001-01-01", "0001-01-01", "9999-12-31"})) +
          "'");
    case Kind::kTimestamp:
      return Hidden("TIMESTAMP '" +
                    std::string(Pick({"2024-02-29 12:34:56.789", "1970-01-01 00:00:00", "1969-12-31T23:59:59.999999",
                                      "2000-01-01", "2024-12-31 23:59"})) +
                    "'");
    case Kind::kTimestampTz:
      return Hidden("TIMESTAMPTZ '" +
                    std::string(Pick({"2024-02-29 12:34:56.789+02", "1970-01-01 00:00:00Z", "2000-01-01 00:00:00-05:30",
                                      "2024-12-31 23:59:59.5"})) +
                    "'");
  }
  return {};
}

Spelled Generator::Shared(Kind kind, int depth) {
  const Spelled a = Make(kind, depth);
  const Spelled b = Make(kind, depth);
  switch (Below(7)) {
    case 0: return Fill("CASE WHEN $1 THEN $2 ELSE $3 END", {Make(Kind::kBool, depth), a, b});
    case 1: return Fill("CASE WHEN $1 THEN $2 END", {Make(Kind::kBool, depth), a});
    case 2:
      return Fill("CASE $1 WHEN $2 THEN $3 WHEN $4 THEN NULL ELSE $5 END",
                  {Make(Kind::kBigint, depth), Make(Kind::kBigint, depth), a, Make(Kind::kBigint, 0), b});
    case 3: return Fill("COALESCE($1, $2)", {a, b});
    case 4: return Fill("NULLIF($1, $2)", {a, b});
    case 5: return Fill("GREATEST($1, $2, $3)", {a, b, Leaf(kind)});
    default: return Fill("LEAST($1, $2)", {a, b});
  }
}

Spelled Generator::LiteralOfUnknownType() {
  struct Pair {
    std::string_view column;
    std::string_view literal;
  };
  static constexpr Pair kPairs[] = {{"i1", "'7'"},
                                    {"i2", "' -13 '"},
                                    {"n1", "'1.5'"},
                                    {"n2", "'-2.250'"},
                                    {"f1", "'0.5'"},
                                    {"d1", "'2024-02-29'"},
                                    {"t1", "'2024-02-29 12:00'"},
                                    {"z1", "'2024-02-29 12:00:00+01'"},
                                    {"b1", "'yes'"},
                                    {"s1", "'abc'"}};
  const Pair& pair = kPairs[Below(std::size(kPairs))];
  const std::string op(Pick({"=", "<>", "<", ">=", "!="}));
  if (Below(2) == 0) return Same("(" + std::string(pair.column) + " " + op + " " + std::string(pair.literal) + ")");
  return Same("(" + std::string(pair.literal) + " " + op + " " + std::string(pair.column) + ")");
}

Spelled Generator::Comparison(int depth) {
  Kind kind = static_cast<Kind>(Below(kKinds));
  Kind other = kind;
  // Numbers compare with numbers, days with days.
  if (kind == Kind::kBigint || kind == Kind::kNumeric || kind == Kind::kDouble) {
    if (Below(2) == 0) other = static_cast<Kind>(static_cast<size_t>(Kind::kBigint) + Below(3));
  } else if (kind == Kind::kDate || kind == Kind::kTimestamp || kind == Kind::kTimestampTz) {
    if (Below(2) == 0) other = static_cast<Kind>(static_cast<size_t>(Kind::kDate) + Below(3));
  }
  const Spelled a = Make(kind, depth);
  const Spelled b = Make(other, depth);
  const Spelled c = Make(other, depth);
  switch (Below(9)) {
    case 0: return Operator("$1 = $2", {a, b});
    case 1: return Operator("$1 <> $2", {a, b});
    case 2: return Operator("$1 < $2", {a, b});
    case 3: return Operator("$1 >= $2", {a, b});
    case 4: return Operator("$1 IS DISTINCT FROM $2", {a, b});
    case 5: return Operator("$1 IS NOT DISTINCT FROM $2", {a, b});
    case 6:
      return Operator(Pick({"$1 BETWEEN $2 AND $3", "$1 NOT BETWEEN $2 AND $3", "$1 BETWEEN SYMMETRIC $2 AND $3"}),
                      {a, Fill("($1)", {b}), c});
    case 7: return Operator(Pick({"$1 IN ($2, $3)", "$1 NOT IN ($2, $3, $4)"}), {a, b, c, Leaf(other)});
    default: return LiteralOfUnknownType();
  }
}

Spelled Generator::Bool(int depth) {
  switch (Below(12)) {
    case 0:
    case 1: return Operator("$1 AND $2", {Make(Kind::kBool, depth), Make(Kind::kBool, depth)});
    case 2:
    case 3: return Operator("$1 OR $2", {Make(Kind::kBool, depth), Make(Kind::kBool, depth)});
    case 4: return Operator("NOT $1", {Make(Kind::kBool, depth)});
    case 5: return Operator(Pick({"$1 IS NULL", "$1 IS NOT NULL"}), {Make(static_cast<Kind>(Below(kKinds)), depth)});
    case 6:
      return Operator(Pick({"$1 IS TRUE", "$1 IS NOT TRUE", "$1 IS FALSE", "$1 IS NOT FALSE", "$1 IS UNKNOWN",
                            "$1 IS NOT UNKNOWN"}),
                      {Make(Kind::kBool, depth)});
    case 7:
      return Operator(
          Pick({"$1 LIKE $2", "$1 NOT LIKE $2", "$1 ILIKE $2", "$1 NOT ILIKE $2"}),
          {Make(Kind::kText, depth), Hidden(std::string(Pick({"'%'", "'a%'", "'%b%'", "'_'", "'%_b'", "'P__d'",
                                                              "'%\\%%'", "'a\\'", "''", "'%ä%'"})))});
    case 8:
      return Operator("$1 LIKE $2 ESCAPE $3",
                      {Make(Kind::kText, depth), Hidden(std::string(Pick({"'%!%%'", "'a!_%'", "'!'", "'%!'"}))),
                       Hidden(std::string(Pick({"'!'", "''", "'\\'"})))});
    case 9: return Fill("CAST($1 AS bool)", {Leaf(Kind::kText)});
    default: return Comparison(depth);
  }
}

Spelled Generator::Integer(int depth) {
  switch (Below(depth > 0 ? 5 : 2)) {
    case 0: return Same(std::string(Pick({"0", "1", "2", "3", "5", "-1", "-2"})));
    case 1: return Same(std::string(Pick({"1", "2"})));
    case 2: return Fill("length($1)", {Make(Kind::kText, depth - 1)});
    case 3: return Fill("CAST($1 AS integer)", {Make(Kind::kBigint, depth - 1)});
    default: return Fill("($1 - $2)", {Leaf(Kind::kDate), Leaf(Kind::kDate)});
  }
}

Spelled Generator::Bigint(int depth) {
  const Spelled a = Make(Kind::kBigint, depth);
  const Spelled b = Make(Kind::kBigint, depth);
  switch (Below(13)) {
    case 0: return Operator("$1 + $2", {a, b});
    case 1: return Operator("$1 - $2", {a, b});
    case 2: return Operator("$1 * $2", {a, b});
    case 3: return Operator("$1 / $2", {a, b});
    case 4: return Operator("$1 % $2", {a, b});
    case 5: return Operator("- $1", {a});
    case 6: return Fill("abs($1)", {a});
    case 7: return Fill("mod($1, $2)", {a, b});
    case 8: return Fill("CAST($1 AS bigint)", {Make(Below(2) == 0 ? Kind::kNumeric : Kind::kDouble, depth)});
    case 9: return Fill("CAST($1 AS int8)", {Leaf(Kind::kText)});
    case 10: {
      Spelled cast = Fill(Pick({"CAST($1 AS integer)", "CAST($1 AS smallint)"}),
                          {Make(Below(2) == 0 ? Kind::kBigint : Kind::kNumeric, depth)});
      return {cast.ours, "(" + cast.postgres + "::bigint)", "(" + cast.unfolded + "::bigint)"};
    }
    case 11: {
      Spelled length = Fill(Pick({"length($1)", "strpos($1, $2)", "position($2 IN $1)", "char_length($1)"}),
                            {Make(Kind::kText, depth), Leaf(Kind::kText)});
      return {length.ours, "(" + length.postgres + "::bigint)", "(" + length.unfolded + "::bigint)"};
    }
    default: return Fill("($1)::bigint", {a});
  }
}

Spelled Generator::Numeric(int depth) {
  const Spelled a = Make(Kind::kNumeric, depth);
  const Spelled b = Make(Below(3) == 0 ? Kind::kBigint : Kind::kNumeric, depth);
  switch (Below(16)) {
    case 0: return Operator("$1 + $2", {a, b});
    case 1: return Operator("$1 - $2", {b, a});
    case 2: return Operator("$1 * $2", {a, b});
    case 3: return Operator("$1 / $2", {a, b});
    case 4: return Operator("$1 / $2", {b, a});
    case 5: return Operator("$1 % $2", {a, b});
    case 6: return Operator("- $1", {a});
    case 7:
      return Fill(Pick({"abs($1)", "sign($1)", "floor($1)", "ceil($1)", "ceiling($1)", "round($1)", "trunc($1)"}), {a});
    case 8: return Fill(Pick({"round($1, $2)", "trunc($1, $2)"}), {a, Integer(0)});
    case 9: return Fill("mod($1, $2)", {a, b});
    case 10: return Fill("CAST($1 AS numeric)", {Make(Below(2) == 0 ? Kind::kBigint : Kind::kDouble, depth)});
    case 11:
      return Fill(Pick({"CAST($1 AS numeric(10, 2))", "CAST($1 AS numeric(5))", "$1::numeric(20,5)"}),
                  {Fill("($1)", {a})});
    case 12: return Fill("CAST($1 AS numeric)", {Leaf(Kind::kText)});
    case 13:
      return Fill(std::string("extract(") +
                      std::string(Pick({"year", "month", "day", "dow", "isodow", "doy", "week", "isoyear", "quarter",
                                        "decade", "century", "millennium", "epoch", "hour"})) +
                      " FROM $1)",
                  {Make(Below(2) == 0 ? Kind::kDate : Kind::kTimestamp, depth)});
    case 14:
      return Fill(std::string("extract(") +
                      std::string(Pick({"hour", "minute", "second", "milliseconds", "microseconds", "epoch", "day"})) +
                      " FROM $1)",
                  {Make(Below(2) == 0 ? Kind::kTimestampTz : Kind::kTimestamp, depth)});
    default: return Fill("round($1, 2)", {b});
  }
}

Spelled Generator::Double(int depth) {
  const Spelled a = Make(Kind::kDouble, depth);
  const Spelled b = Make(static_cast<Kind>(static_cast<size_t>(Kind::kBigint) + Below(3)), depth);
  switch (Below(8)) {
    case 0: return Operator("$1 + $2", {a, b});
    case 1: return Operator("$1 - $2", {b, a});
    case 2: return Operator("$1 * $2", {a, b});
    case 3: return Operator("$1 / $2", {a, b});
    case 4: return Fill(Pick({"abs($1)", "sign($1)", "floor($1)", "ceil($1)", "round($1)", "trunc($1)"}), {a});
    case 5: return Operator("- $1", {a});
    case 6: return Fill("CAST($1 AS float8)", {b});
    default: return Fill("CAST($1 AS double precision)", {Leaf(Kind::kText)});
  }
}

Spelled Generator::Text(int depth) {
  const Spelled a = Make(Kind::kText, depth);
  const Spelled b = Make(Kind::kText, depth);
  switch (Below(15)) {
    case 0: return Operator("$1 || $2", {a, b});
    case 1: return Operator("$1 || $2", {a, Make(static_cast<Kind>(Below(kKinds)), depth)});
    case 2: return Fill(Pick({"lower($1)", "upper($1)"}), {a});
    case 3: return Fill("substring($1 FROM $2 FOR $3)", {a, Integer(depth), Integer(depth)});
    case 4:
      return Fill(Pick({"substring($1, $2)", "substring($1 FROM $2)", "substr($1, $2)", "substring($1 FOR $2)"}),
                  {a, Integer(depth)});
    case 5: return Fill(Pick({"trim($1)", "ltrim($1)", "rtrim($1)", "btrim($1)", "trim(LEADING FROM $1)"}), {a});
    case 6:
      return Fill(Pick({"trim(BOTH $2 FROM $1)", "trim(LEADING $2 FROM $1)", "trim(TRAILING $2 FROM $1)",
                        "ltrim($1, $2)", "rtrim($1, $2)", "trim($2 FROM $1)"}),
                  {a, b});
    case 7: return Fill("replace($1, $2, $3)", {a, Leaf(Kind::kText), Leaf(Kind::kText)});
    case 8: return Fill(Pick({"left($1, $2)", "right($1, $2)"}), {a, Integer(depth)});
    case 9:
      return Fill("split_part($1, $2, $3)", {a, Hidden(std::string(Pick({"','", "'b'", "''", "' '"}))), Integer(0)});
    case 10: return Fill("concat($1, $2, $3)", {a, Make(static_cast<Kind>(Below(kKinds)), depth), b});
    case 11: return Fill("CAST($1 AS text)", {Make(static_cast<Kind>(Below(kKinds)), depth)});
    case 12: return Fill("CAST($1 AS varchar(3))::text", {a});
    case 13: return Fill("($1)::text", {Make(Kind::kNumeric, depth)});
    default: return Operator("$1 || $2 || $3", {a, b, Leaf(Kind::kText)});
  }
}

Spelled Generator::Date(int depth) {
  switch (Below(5)) {
    case 0: return Operator("$1 + $2", {Make(Kind::kDate, depth), Integer(depth)});
    case 1: return Operator("$1 - $2", {Make(Kind::kDate, depth), Integer(0)});
    case 2: return Operator("$1 + $2", {Integer(0), Make(Kind::kDate, depth)});
    case 3: return Fill("CAST($1 AS date)", {Make(Below(2) == 0 ? Kind::kTimestamp : Kind::kTimestampTz, depth)});
    default:
      return Fill("CAST($1 AS date)", {Below(3) == 0 ? Leaf(Kind::kText) : Fill("($1)::text", {Leaf(Kind::kDate)})});
  }
}

Spelled Generator::Timestamp(Kind kind, int depth) {
  const bool zone = kind == Kind::kTimestampTz;
  const std::string_view name = zone ? "timestamptz" : "timestamp";
  const std::string field(Pick({"microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month",
                                "quarter", "year", "decade", "century", "millennium"}));
  switch (Below(zone ? 5 : 4)) {
    case 0: return Fill("date_trunc('" + field + "', $1)", {Make(kind, depth)});
    case 1: return Fill("CAST($1 AS $2)", {Make(Kind::kDate, depth), Same(std::string(name))});
    case 2:
      return Fill("CAST($1 AS $2)",
                  {Make(zone ? Kind::kTimestamp : Kind::kTimestampTz, depth), Same(std::string(name))});
    case 3: return Fill("CAST(CAST($1 AS text) AS $2)", {Leaf(kind), Same(std::string(name))});
    default:
      return Below(2) == 0 ? Fill("to_timestamp($1)",
                                  {Make(static_cast<Kind>(static_cast<size_t>(Kind::kBigint) + Below(3)), depth)})
                           : Fill("date_trunc('" + field + "', $1)", {Make(Kind::kDate, depth)});
  }
}

}  // namespace weir::integration
