// 10,000 random expressions give what a real PostgreSQL gives for them: the same value, type and text, or an error on
// both sides. What differs on purpose is named in docs/expressions.md, told apart here and counted.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "operators/expression.h"
#include "operators/expression/conversion.h"
#include "tests/harness/postgres_server.h"
#include "tests/integration/expression_postgres_generator.h"

namespace weir::integration {
namespace {

using harness::PostgresAnswer;
using harness::PostgresServer;
using operators::Arena;
using operators::Batch;
using operators::Expression;
using operators::Schema;
using operators::Value;
using operators::ValueType;
namespace expression = operators::expression;

constexpr size_t kRows = 40;

struct Pool {
  Kind kind;
  std::string_view sql;
  std::vector<std::string> values;  // as text; "" in front of nothing: NULL is added to each
};

const std::vector<Pool>& Pools() {
  static const auto* pools = new std::vector<Pool>{
      {Kind::kBool, "bool", {"true", "false"}},
      {Kind::kBigint,
       "bigint",
       {"0", "1", "-1", "2", "3", "7", "-13", "100", "12345", "2147483649", "9223372036854775807",
        "-9223372036854775808"}},
      {Kind::kNumeric,
       "numeric",
       {"0", "0.00", "1.5", "-1.5", "2.5", "-2.25", "0.001", "123456789.123456789", "-0.5", "99999999999999999999",
        "1e-10", "7E+3", "100", "10.000", "12345678901234567890123456.789", "-3"}},
      {Kind::kDouble,
       "float8",
       {"0", "-0", "1.5", "-2.5", "0.1", "1e300", "1e-300", "NaN", "Infinity", "-Infinity", "123456.789", "0.5", "3",
        "9007199254740993"}},
      {Kind::kText,
       "text",
       {"", "abc", "Paid", " x ", "12", "-7.5", "äöü€", "a%b_c", "b\\", "a,b,,c", "t", "2024-02-29", "é", "aXbXc"}},
      {Kind::kDate,
       "date",
       {"2024-02-29", "1999-12-31", "0001-01-01", "9999-12-31", "1970-01-01", "2000-03-01", "2021-01-03",
        "1900-02-28"}},
      {Kind::kTimestamp,
       "timestamp",
       {"2024-02-29 12:34:56.789012", "1999-12-31 23:59:59.999999", "0001-01-01 00:00:00", "1970-01-01 00:00:00",
        "1969-12-31 23:59:59.5", "2262-04-11 10:11:12"}},
      {Kind::kTimestampTz,
       "timestamptz",
       {"2024-02-29 12:34:56.789012+00", "1999-12-31 23:59:59+00", "1970-01-01 00:00:00+00",
        "1901-05-05 05:05:05.05+00"}},
  };
  return *pools;
}

ValueType TypeOf(Kind kind) {
  constexpr std::array kTypes = {ValueType::kBool,   ValueType::kInt64, ValueType::kDecimal,   ValueType::kDouble,
                                 ValueType::kString, ValueType::kDate,  ValueType::kTimestamp, ValueType::kTimestampTz};
  return kTypes[static_cast<size_t>(kind)];
}

bool SameType(ValueType ours, const std::string& postgres) {
  switch (ours) {
    case ValueType::kInt64: return postgres == "bigint" || postgres == "integer";
    case ValueType::kTimestamp: return postgres == "timestamp without time zone";
    default: return postgres == expression::SqlName(ours);
  }
}

struct Answer {
  std::optional<std::string> value;
  ValueType type = ValueType::kNull;
  std::string error;
};

class ExpressionPostgresTest : public testing::Test {
 protected:
  void SetUp() override {
    auto server = PostgresServer::Start();
    ASSERT_TRUE(server.has_value()) << server.error().ToString();
    server_ = std::move(*server);
    MakeTable();
  }

  // Two columns a type; each row takes random values of the pools, here and there.
  void MakeTable() {
    std::vector<std::string> names;
    std::string create = "CREATE TABLE rows (id int PRIMARY KEY";
    for (const Pool& pool : Pools()) {
      for (const char* digit : {"1", "2"}) {
        names.push_back(std::string(1, "binfsdtz"[static_cast<size_t>(pool.kind)]) + digit);
        create += ", " + names.back() + " " + std::string(pool.sql);
      }
    }
    ASSERT_TRUE(server_->Run(create + ")").ok());
    schema_ = std::make_shared<const Schema>(names);
    batch_ = std::make_unique<Batch>(schema_, kRows);
    Generator random(7);
    for (size_t id = 0; id < kRows; ++id) {
      Value* row = batch_->AddRow(operators::RowKind::kInsert, {});
      std::string insert = "INSERT INTO rows VALUES (" + std::to_string(id);
      for (size_t c = 0; c < names.size(); ++c) {
        const Pool& pool = Pools()[c / 2];
        const size_t pick = random.Below(pool.values.size() + 1);
        insert += pick == pool.values.size() ? ", NULL" : ", '" + pool.values[pick] + "'";
        row[c] = pick == pool.values.size() ? Value::Null() : Read(pool, pool.values[pick]);
      }
      const Status inserted = server_->Run(insert + ")");
      ASSERT_TRUE(inserted.ok()) << inserted.ToString();
    }
    ASSERT_TRUE(server_->Run("ANALYZE rows").ok());
  }

  // Decimals keep their text, as from JSON.
  Value Read(const Pool& pool, const std::string& text) {
    if (pool.kind == Kind::kNumeric) return Value::Text(ValueType::kDecimal, batch_->arena().Copy(text));
    const auto value = expression::ReadText(text, TypeOf(pool.kind), batch_->arena());
    EXPECT_TRUE(value.has_value()) << text;
    return value->type() == ValueType::kString ? Value::Text(ValueType::kString, batch_->arena().Copy(text)) : *value;
  }

  Answer AskUs(const std::string& text, size_t row) {
    Answer answer;
    auto parsed = Expression::Parse(text);
    if (!parsed.has_value()) {
      answer.error = parsed.error().message();
      return answer;
    }
    Arena arena;
    parsed->Bind(schema_, arena);
    Value value;
    if (!parsed->Evaluate(batch_->row(row), batch_->kind(row), &value)) {
      answer.error = parsed->error();
      return answer;
    }
    if (!value.missing()) answer.value = std::string(expression::ToText(value, arena));
    answer.type = value.type();
    return answer;
  }

  std::unique_ptr<PostgresServer> server_;
  operators::SchemaPtr schema_;
  std::unique_ptr<Batch> batch_;
};

bool Agree(const Answer& ours, const PostgresAnswer& postgres) {
  if (!ours.error.empty() || !postgres.error.empty()) return !ours.error.empty() && !postgres.error.empty();
  return ours.value == postgres.value && (!ours.value || SameType(ours.type, postgres.type));
}

bool IsTypeError(const PostgresAnswer& postgres) {
  return postgres.error.find("operator does not exist") != std::string::npos ||
         (postgres.error.find("function ") != std::string::npos &&
          postgres.error.find("does not exist") != std::string::npos);
}

// PostgreSQL does not print a shorter text that lies exactly between two doubles.
bool SameDouble(const Answer& ours, const PostgresAnswer& postgres) {
  return ours.value && postgres.value && ours.type == ValueType::kDouble && postgres.type == "double precision" &&
         std::strtod(ours.value->c_str(), nullptr) == std::strtod(postgres.value->c_str(), nullptr);
}

std::string Describe(const Answer& ours, const PostgresAnswer& postgres) {
  const auto text = [](const std::optional<std::string>& value) {
    return value ? "'" + *value + "'" : std::string("NULL");
  };
  std::string result = "  here: ";
  result += ours.error.empty() ? text(ours.value) + " " + std::string(ValueTypeName(ours.type)) : "error " + ours.error;
  result += "\n  PostgreSQL: ";
  return result + (postgres.error.empty() ? text(postgres.value) + " " + postgres.type : "error " + postgres.error);
}

TEST_F(ExpressionPostgresTest, TenThousandRandomExpressionsGiveWhatPostgresGives) {
  const char* seed_text = std::getenv("WEIR_SEED");
  const char* count_text = std::getenv("WEIR_EXPRESSIONS");
  const uint64_t seed = seed_text != nullptr ? std::strtoull(seed_text, nullptr, 10) : 1;
  const size_t count = count_text != nullptr ? std::strtoull(count_text, nullptr, 10) : 10'000;
  Generator generator(seed);
  std::map<std::string, size_t> outcomes;
  size_t differences = 0;
  for (size_t n = 0; n < count; ++n) {
    const Spelled text = generator.Any();
    const size_t row = generator.Below(kRows);
    const std::string from = "rows WHERE id = " + std::to_string(row);
    const Answer ours = AskUs(text.ours, row);
    const PostgresAnswer postgres = server_->Ask(text.postgres, from);
    if (Agree(ours, postgres)) {
      ++outcomes[!ours.error.empty() ? "both an error" : (ours.value ? "same value" : "both NULL")];
    } else if (ours.error.find("more than 38 digits") != std::string::npos) {
      ++outcomes["here beyond 38 digits"];
    } else if (ours.error.find("no arithmetic with NaN or Infinity") != std::string::npos) {
      ++outcomes["here no decimal arithmetic with NaN or Infinity"];
    } else if (ours.error.find("expected a finite number of seconds") != std::string::npos) {
      ++outcomes["here no infinite timestamps"];
    } else if (ours.error.find("a date has no such field") != std::string::npos) {
      ++outcomes["here extract(hour FROM date) is refused at once"];
    } else if (ours.error.empty() && IsTypeError(postgres)) {
      ++outcomes["a NULL or a branch not taken, whose type only PostgreSQL knows"];
    } else if (SameDouble(ours, postgres)) {
      ++outcomes["another shortest text of the same double"];
    } else if (ours.error.empty() != postgres.error.empty() && Agree(ours, server_->Ask(text.unfolded, from))) {
      ++outcomes["PostgreSQL computes constants when it plans"];
    } else if (++differences <= 20) {
      ADD_FAILURE() << "seed " << seed << ", expression " << n << ", row " << row << ":\n  " << text.ours
                    << "\n  asked as: " << text.postgres << "\n"
                    << Describe(ours, postgres);
    }
  }
  for (const auto& [outcome, times] : outcomes) std::printf("%6zu %s\n", times, outcome.c_str());
  EXPECT_EQ(differences, 0U) << "of " << count << " expressions, seed " << seed;
  // The comparison is worth something only while most expressions give values.
  EXPECT_GT(outcomes["same value"], count * 4 / 10);
  EXPECT_LE(outcomes["a NULL or a branch not taken, whose type only PostgreSQL knows"], count / 500);
  EXPECT_LT(outcomes["here beyond 38 digits"] + outcomes["here no decimal arithmetic with NaN or Infinity"],
            count * 4 / 100);
}

}  // namespace
}  // namespace weir::integration
