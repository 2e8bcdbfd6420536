#include "operators/expression.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "operators/expression/conversion.h"

namespace weir::operators {
namespace {

constexpr std::string_view kDocument =
    R"({"a": {"b": [1, 2]}, "big": 12345678901234567890.10, "n": 5, "s": "q\"\u00e4", )"
    R"("t": true, "z": null, "a b": 1, "e": 1e400})";

// One row that every case sees.
class ExpressionTest : public testing::Test {
 protected:
  ExpressionTest()
      : schema_(std::make_shared<const Schema>(std::vector<std::string>{"id", "amount", "status", "paid", "doc", "rate",
                                                                        "born", "none", "Order Id", "at"})),
        batch_(schema_, 1) {
    Value* row = batch_.AddRow(RowKind::kInsert, {});
    row[0] = Value::Int64(7);
    row[1] = Value::Text(ValueType::kDecimal, "12.50");
    row[2] = Value::Text(ValueType::kString, "paid");
    row[3] = Value::Bool(true);
    row[4] = Value::Text(ValueType::kJson, kDocument);
    row[5] = Value::Double(1.5);
    row[6] = Value::Temporal(ValueType::kDate, 19782);  // 2024-02-29
    row[7] = Value::Null();
    row[8] = Value::Int64(9);
    row[9] = Value::Temporal(ValueType::kTimestamp, 19782LL * 86'400'000'000 + 45'296'789'000);  // 12:34:56.789
  }

  // "<type> <text>", "null", "absent", or "error: ...".
  std::string Eval(std::string_view text) {
    Result<Expression> parsed = Expression::Parse(text);
    if (!parsed.has_value()) return "refused: " + parsed.error().message();
    parsed->Bind(schema_, arena_);
    Value value;
    if (!parsed->Evaluate(batch_.row(0), batch_.kind(0), &value)) return "error: " + parsed->error();
    std::string result(ValueTypeName(value.type()));
    if (!value.missing()) result.append(" ").append(expression::ToText(value, arena_));
    return result;
  }

  std::string Refusal(std::string_view text) {
    const Result<Expression> parsed = Expression::Parse(text);
    return parsed.has_value() ? "accepted" : parsed.error().message();
  }

  SchemaPtr schema_;
  Batch batch_;
  Arena arena_;
};

TEST_F(ExpressionTest, ReadsColumnsQuotedNamesAndMembers) {
  EXPECT_EQ(Eval("id"), "int64 7");
  EXPECT_EQ(Eval("\"Order Id\" + 1"), "int64 10");
  EXPECT_EQ(Eval("doc.a.b"), "json [1, 2]");
  EXPECT_EQ(Eval("doc.big"), "decimal 12345678901234567890.10");
  EXPECT_EQ(Eval("doc.s"), "string q\"ä");
  EXPECT_EQ(Eval("doc.t AND doc.n = 5"), "bool true");
  EXPECT_EQ(Eval("doc.z"), "null");
  EXPECT_EQ(Eval("doc.\"a b\""), "int64 1");
  EXPECT_EQ(Eval("doc.e > 1e37"), "bool true");
  EXPECT_EQ(Eval("doc.missing"), "absent");
  EXPECT_EQ(Eval("doc.missing.deeper"), "null");
  EXPECT_EQ(Eval("nowhere"), "absent");
  EXPECT_EQ(Eval("nowhere IS NULL"), "bool true");
  EXPECT_EQ(Eval("id.x"), "error: column 1: expected a JSON object with the member \"x\", found bigint, in: id.x");
  EXPECT_EQ(Eval("doc.n.x"),
            "error: column 1: expected a JSON object with the member \"x\", found bigint, in: doc.n.x");
}

TEST_F(ExpressionTest, NamesItsColumnsOnce) {
  const Result<Expression> parsed = Expression::Parse("a.b + c - a.d + \"C\" + c");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->columns(), (std::vector<std::string>{"a", "c", "C"}));
  EXPECT_EQ(Expression::Parse("status")->bare_column(), "status");
  EXPECT_EQ(Expression::Parse("lower(status)")->bare_column(), std::nullopt);
}

TEST_F(ExpressionTest, BindsToTheSchemaOfEachBatch) {
  Result<Expression> parsed = Expression::Parse("id + 1");
  ASSERT_TRUE(parsed.has_value());
  const auto other = std::make_shared<const Schema>(std::vector<std::string>{"x", "id"});
  const std::vector<Value> row = {Value::Int64(1), Value::Int64(41)};
  Value value;
  parsed->Bind(schema_, arena_);
  ASSERT_TRUE(parsed->Evaluate(batch_.row(0), batch_.kind(0), &value));
  EXPECT_EQ(value.int64_value(), 8);
  parsed->Bind(other, arena_);
  ASSERT_TRUE(parsed->Evaluate(row.data(), RowKind::kInsert, &value));
  EXPECT_EQ(value.int64_value(), 42);
}

TEST_F(ExpressionTest, LogicHasThreeValues) {
  EXPECT_EQ(Eval("none = 1 AND FALSE"), "bool false");
  EXPECT_EQ(Eval("none = 1 AND TRUE"), "null");
  EXPECT_EQ(Eval("none = 1 OR TRUE"), "bool true");
  EXPECT_EQ(Eval("NOT none = 1"), "null");
  EXPECT_EQ(Eval("id NOT IN (1, 2, NULL)"), "null");
  EXPECT_EQ(Eval("id IN (1, 7, NULL)"), "bool true");
  EXPECT_EQ(Eval("none IS DISTINCT FROM 1"), "bool true");
  EXPECT_EQ(Eval("none IS NOT DISTINCT FROM NULL"), "bool true");
  EXPECT_EQ(Eval("(none = 1) IS UNKNOWN"), "bool true");
  EXPECT_EQ(Eval("none BETWEEN 1 AND 2"), "null");
  EXPECT_EQ(Eval("id BETWEEN SYMMETRIC 9 AND 1"), "bool true");
  EXPECT_EQ(Eval("FALSE AND id / 0 = 1"), "bool false");
}

TEST_F(ExpressionTest, PrecedenceIsPostgres) {
  EXPECT_EQ(Eval("1 + 2 * 3 - 4 / 2"), "int64 5");
  EXPECT_EQ(Eval("-2::text"), "refused: column 1: expected a number behind -, found text\n  -2::text\n  ^");
  EXPECT_EQ(Eval("NOT id = 7 OR TRUE"), "bool true");
  EXPECT_EQ(Eval("TRUE OR TRUE AND FALSE"), "bool true");
  EXPECT_EQ(Eval("'a' || 1 + 2"), "string a3");
  EXPECT_EQ(Eval("id BETWEEN 1 AND 9 AND FALSE"), "bool false");
  EXPECT_EQ(Eval("id = 7 IS TRUE"), "bool true");
  EXPECT_EQ(Eval("'b' LIKE 'a' || '%' IS NULL"), "bool false");
  EXPECT_EQ(Refusal("1 < 2 < 3").substr(0, 10), "column 7: ");
  EXPECT_EQ(Eval("10 - 2 - 3"), "int64 5");
}

TEST_F(ExpressionTest, ArithmeticIsExact) {
  EXPECT_EQ(Eval("7 / 2"), "int64 3");
  EXPECT_EQ(Eval("-7 / 2"), "int64 -3");
  EXPECT_EQ(Eval("-7 % 3"), "int64 -1");
  EXPECT_EQ(Eval("amount * 3"), "decimal 37.50");
  EXPECT_EQ(Eval("amount / 3"), "decimal 4.1666666666666667");
  EXPECT_EQ(Eval("0.1 + 0.2 = 0.3"), "bool true");
  EXPECT_EQ(Eval("9223372036854775807 + 1"), "error: column 1: bigint out of range, in: 9223372036854775807 + 1");
  EXPECT_EQ(Eval("-9223372036854775808"), "int64 -9223372036854775808");
  EXPECT_EQ(Eval("9223372036854775808"), "decimal 9223372036854775808");
  EXPECT_EQ(Eval("rate * 2"), "double 3");
  EXPECT_EQ(Eval("99999999999999999999999999999999999999 + 0.1"),
            "error: column 1: decimal overflow: the result has more than 38 digits, in: "
            "99999999999999999999999999999999999999 + 0.1");
  EXPECT_EQ(Eval("amount = 12.5 AND amount > 12"), "bool true");
}

TEST_F(ExpressionTest, StringLiteralsTakeTheOtherSidesType) {
  EXPECT_EQ(Eval("id = '7'"), "bool true");
  EXPECT_EQ(Eval("amount < '12.51'"), "bool true");
  EXPECT_EQ(Eval("born >= '2024-01-01'"), "bool true");
  EXPECT_EQ(Eval("paid = 'yes'"), "bool true");
  EXPECT_EQ(Eval("born - '2024-02-28'"), "int64 1");
  EXPECT_EQ(Eval("id = 'abc'"), "error: column 6: expected bigint, found \"abc\", in: 'abc'");
  EXPECT_EQ(Refusal("DATE '2024-01-01' < 'soon'"),
            "column 21: expected date like 2024-12-31, found \"soon\"\n  DATE '2024-01-01' < 'soon'\n                  "
            "    ^");
}

TEST_F(ExpressionTest, MixedTypesAreAnErrorThatNamesColumnAndTypes) {
  EXPECT_EQ(Eval("status > 5"), "error: column 1: cannot compare text with bigint (5), in: status");
  EXPECT_EQ(Eval("status + 1"), "error: column 1: there is no operator text + bigint, in: status + 1");
  EXPECT_EQ(Eval("doc = 'x'"), "error: column 1: cannot compare json with text ('x'), in: doc");
  EXPECT_EQ(Eval("id AND TRUE"), "error: column 1: expected a boolean, found bigint, in: id");
  EXPECT_EQ(Eval("lower(id)"), "error: column 7: expected text, found bigint, in: id");
  EXPECT_EQ(Eval("id / 0"), "error: column 1: division by zero, in: id / 0");
  EXPECT_EQ(Eval("1 + status::bigint"), "error: column 5: expected bigint, found \"paid\", in: status::bigint");
}

TEST_F(ExpressionTest, ConditionalsFindTheirCommonType) {
  EXPECT_EQ(Eval("CASE WHEN id > 5 THEN 1 ELSE 2.5 END"), "decimal 1");
  EXPECT_EQ(Eval("CASE id WHEN 1 THEN 'one' WHEN 7 THEN 'seven' END"), "string seven");
  EXPECT_EQ(Eval("CASE WHEN none = 1 THEN 1 END"), "null");
  EXPECT_EQ(Eval("CASE WHEN id = 7 THEN 1 ELSE 1 / 0 END"), "int64 1");
  EXPECT_EQ(Eval("COALESCE(none, nowhere, status, id / 0)"), "string paid");
  EXPECT_EQ(Eval("NULLIF(id, 7)"), "null");
  EXPECT_EQ(Eval("GREATEST(1, NULL, id, 2.5)"), "int64 7");
  EXPECT_EQ(Eval("LEAST('b', 'a')"), "string a");
  EXPECT_EQ(Refusal("COALESCE(1, TRUE)"),
            "column 13: expected COALESCE of values of one kind, found bigint and boolean\n  COALESCE(1, TRUE)\n       "
            "       ^");
}

TEST_F(ExpressionTest, CastsAsPostgres) {
  EXPECT_EQ(Eval("CAST(amount AS bigint)"), "int64 13");
  EXPECT_EQ(Eval("2.5::double precision::int8"), "int64 2");
  EXPECT_EQ(Eval("'12.345'::numeric(10, 2)"), "decimal 12.35");
  EXPECT_EQ(Eval("id::numeric(3,2)"), "decimal 7.00");
  EXPECT_EQ(Eval("(id * 10)::numeric(3,2)"),
            "error: column 1: out of range for numeric(3, 2), in: (id * 10)::numeric(3,2)");
  EXPECT_EQ(Eval("doc.n::text || 'x'"), "string 5x");
  EXPECT_EQ(Eval("at::date"), "date 2024-02-29");
  EXPECT_EQ(Eval("born::timestamptz"), "timestamptz 2024-02-29 00:00:00+00");
  EXPECT_EQ(Eval("'{\"a\": 01}'::json"),
            "refused: column 1: expected json, found \"{\"a\": 01}\"\n  '{\"a\": 01}'::json\n  ^");
  EXPECT_EQ(Eval("'{\"a\": 1e999}'::json"), "json {\"a\": 1e999}");
  EXPECT_EQ(Eval("CAST(paid AS text)"), "string true");
  EXPECT_EQ(Eval("3000000000::int"), "error: column 1: out of range for integer, in: 3000000000::int");
  EXPECT_EQ(Refusal("id::money").substr(0, 20), "column 5: expected b");
}

TEST_F(ExpressionTest, FunctionsOfTextCountCharacters) {
  EXPECT_EQ(Eval("length('äöü€')"), "int64 4");
  EXPECT_EQ(Eval("substring('äöü€' FROM 2 FOR 2)"), "string öü");
  EXPECT_EQ(Eval("substring('abc', 0, 2)"), "string a");
  EXPECT_EQ(Eval("left('äöü', -1) || right('äöü', 1)"), "string äöü");
  EXPECT_EQ(Eval("position('ü' IN 'äöü')"), "int64 3");
  EXPECT_EQ(Eval("trim(BOTH 'äx' FROM 'xäabäx')"), "string ab");
  EXPECT_EQ(Eval("upper(status) || concat(NULL, 1, TRUE, 'x')"), "string PAID1tx");
  EXPECT_EQ(Eval("replace('aXbX', 'X', '--')"), "string a--b--");
  EXPECT_EQ(Eval("split_part('a,b,c', ',', -1)"), "string c");
  EXPECT_EQ(Eval("status LIKE 'p_i%' AND status NOT ILIKE 'P' AND '5%' LIKE '5!%' ESCAPE '!'"), "bool true");
  EXPECT_EQ(Eval("lower(none)"), "null");
}

TEST_F(ExpressionTest, FunctionsOfNumbersAndTime) {
  EXPECT_EQ(Eval("round(2.5) + floor(-0.5) + ceil(0.1) + abs(-1)"), "decimal 4");
  EXPECT_EQ(Eval("round(12.345, 2)"), "decimal 12.35");
  EXPECT_EQ(Eval("mod(-7, 3)"), "int64 -1");
  EXPECT_EQ(Eval("sign(rate)"), "double 1");
  EXPECT_EQ(Eval("date_trunc('hour', at)"), "timestamp 2024-02-29 12:00:00");
  EXPECT_EQ(Eval("extract(second FROM at)"), "decimal 56.789000");
  EXPECT_EQ(Eval("extract(dow FROM born)"), "decimal 4");
  EXPECT_EQ(Eval("to_timestamp(1709210096.5)"), "timestamptz 2024-02-29 12:34:56.5+00");
  EXPECT_EQ(Eval("born + 1"), "date 2024-03-01");
  EXPECT_EQ(Eval("at < TIMESTAMP WITH TIME ZONE '2024-02-29 13:00:00+00'"), "bool true");
}

TEST_F(ExpressionTest, TheRowsKindIsAText) {
  Result<Expression> parsed =
      Expression::Parse("ROW_KIND() || CASE WHEN row_kind() IN ('-U', '-D') THEN '!' ELSE '' END");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message();
  EXPECT_EQ(parsed->type(), ValueType::kString);
  std::string kinds;
  for (const RowKind kind : {RowKind::kInsert, RowKind::kUpdateBefore, RowKind::kUpdateAfter, RowKind::kDelete}) {
    Value value;
    parsed->Bind(schema_, arena_);
    ASSERT_TRUE(parsed->Evaluate(batch_.row(0), kind, &value)) << parsed->error();
    kinds += value.text();
  }
  EXPECT_EQ(kinds, "+I-U!+U-D!");
  EXPECT_EQ(Refusal("row_kind(id)").substr(0, 60), "column 1: expected 0 arguments of row_kind(), found 1\n  row_");
  EXPECT_EQ(Refusal("row_kind"), "accepted") << "a column's name";
}

TEST_F(ExpressionTest, WordsOfTheLanguageCanNameColumns) {
  for (const char* name :
       {"date", "timestamp", "position", "left", "year", "zone", "unknown", "both", "text", "extract"}) {
    const Result<Expression> parsed = Expression::Parse(std::string(name) + " = 1");
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message();
    EXPECT_EQ(parsed->columns(), std::vector<std::string>{name});
  }
}

TEST_F(ExpressionTest, ProblemsShowWhereAndWhatWasExpected) {
  EXPECT_EQ(Refusal("amount > (1 + )"),
            "column 15: expected an expression, found \")\"\n  amount > (1 + )\n                ^");
  EXPECT_EQ(Refusal("a b"), "column 3: expected an operator, ( or the end, found \"b\"\n  a b\n    ^");
  EXPECT_EQ(Refusal("status = 'paid"),
            "column 10: this string has no end, expected a closing '\n  status = 'paid\n           ^");
  EXPECT_EQ(Refusal(""), "column 1: expected an expression, found the end\n  \n  ^");
  EXPECT_EQ(Refusal("ä = #"), "column 5: unexpected character '#'\n  ä = #\n      ^");
  EXPECT_EQ(Refusal("a AND\n b b"),
            "line 2, column 4: expected an operator, ( or the end, found \"b\"\n   b b\n     ^");
  const std::string filler = "aä + ";  // of 5 characters
  std::string many;
  for (int i = 0; i < 2'000; ++i) many += filler;
  EXPECT_EQ(Refusal(many + "#" + many), "column 10001: unexpected character '#'\n  ..." + many.substr(0, 72) + "#" +
                                            many.substr(0, 47) + "...\n" + std::string(2 + 3 + 60, ' ') + "^");
  EXPECT_EQ(Refusal("# " + many), "column 1: unexpected character '#'\n  # " + many.substr(0, 46) + "...\n  ^");
  EXPECT_EQ(Refusal("lenght(a)"), "column 1: there is no function lenght(), did you mean length()?\n  lenght(a)\n  ^");
  EXPECT_EQ(Refusal("round(1, 2, 3)"),
            "column 1: expected 1 to 2 arguments of round(), found 3\n  round(1, 2, 3)\n  ^");
  EXPECT_EQ(Refusal("a < now()").substr(0, 36), "column 5: now() is not available: a ");
  EXPECT_EQ(Refusal("12abc"), "column 3: expected the number to end here\n  12abc\n    ^");
  EXPECT_EQ(Refusal("CASE WHEN a THEN 1").substr(0, 60),
            "column 19: expected an operator, WHEN, ELSE or END, found th");
  EXPECT_EQ(Refusal("1 AND TRUE"), "column 1: expected a boolean for AND, found bigint\n  1 AND TRUE\n  ^");
}

TEST_F(ExpressionTest, DepthAndLengthAreBounded) {
  std::string deep = "id";
  for (int i = 0; i < 2000; ++i) deep = "-(" + deep + ")";
  EXPECT_NE(Refusal(deep).find("expected at most 500 levels"), std::string::npos);
  EXPECT_EQ(Eval(std::string(10'000, '(') + "id" + std::string(10'000, ')')), "int64 7");
  std::string chain = "id = 0";
  for (int i = 1; i < 3000; ++i) chain += " OR id = " + std::to_string(i);
  EXPECT_EQ(Eval(chain), "bool true");
  EXPECT_EQ(Refusal(std::string(70'000, ' ')).substr(0, 41), "expected an expression of at most 64 KiB,");
}

}  // namespace
}  // namespace weir::operators
