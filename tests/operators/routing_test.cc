// key_by, union, route and dead letters.
#include <gtest/gtest.h>

#include "operators/dead_letter.h"
#include "operators/key.h"
#include "operators/key_by.h"
#include "operators/route.h"
#include "operators/union.h"
#include "state/key_groups.h"
#include "tests/harness/operator_test_harness.h"

namespace weir::operators {
namespace {

class RoutingTest : public testing::TestWithParam<HarnessMode> {
 protected:
  HarnessOptions options() const { return {.mode = GetParam()}; }
};

INSTANTIATE_TEST_SUITE_P(Modes, RoutingTest,
                         testing::Values(HarnessMode::kPlain, HarnessMode::kRestore, HarnessMode::kRescale),
                         [](const auto& mode) { return HarnessModeName(mode.param); });

// Keeps batches, for what texts of rows don't show.
class BatchOutput final : public Output {
 public:
  Status Emit(Batch batch) override {
    batches.push_back(std::move(batch));
    return Status::Ok();
  }
  Status EmitSide(std::string_view, Batch) override { return Status::Ok(); }
  bool HasSide(std::string_view) const override { return false; }
  std::vector<Batch> batches;
};

TEST(KeyByTest, GivesEachRowItsKey) {
  const OperatorType type = KeyByType();
  auto key_by = type.create(OptionsOf(type.options, R"({"keys": ["region", "id"], "computed": {"half": "id / 2"}})"));
  ASSERT_TRUE(key_by.has_value());
  OperatorContext context;
  ASSERT_TRUE((*key_by)->Open(context).ok());
  BatchOutput output;
  std::vector<Batch> batches = BatchesOf({R"({"id": 7, "region": "north"})", R"(-D {"id": 8.0, "region": null})"});
  ASSERT_TRUE((*key_by)->ProcessBatch(0, std::move(batches[0]), output).ok());
  ASSERT_EQ(output.batches.size(), 1U);
  const Batch& batch = output.batches[0];
  ASSERT_TRUE(batch.keyed());
  EXPECT_EQ(PrintKey(batch.key(0).bytes), "\"north\", 7, 3");
  EXPECT_EQ(PrintKey(batch.key(1).bytes).substr(0, 9), "null, 8, ");
  EXPECT_EQ(batch.key(0).hash, state::HashKey(batch.key(0).bytes));
  EXPECT_EQ(batch.kind(1), RowKind::kDelete);
}

TEST_P(RoutingTest, KeyByRefusesRowsWithoutTheColumn) {
  OperatorTestHarness fails(KeyByType(), R"({"keys": "id"})", options());
  EXPECT_TRUE(fails.Process({R"({"id": 1})"}).ok());
  const Status status = fails.Process({R"({"di": 2})"});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), R"(the row has no key column "id"; the row is +I {"di":2})");

  OperatorTestHarness letters(KeyByType(), R"({"keys": "id", "on-error": "dead-letter"})", options());
  EXPECT_TRUE(letters.Process({R"({"di": 2})"}).ok());
  EXPECT_TRUE(letters.Process({R"({"id": 3})"}).ok());
  EXPECT_EQ(letters.Take(), Rows{R"(+I {"id":3})"});
  EXPECT_EQ(letters.TakeSide("dead-letter"),
            Rows{R"(+I {"topic":null,"partition":null,"offset":null,"key":null,"value":"{\"di\":2}","error":"the row )"
                 R"(has no key column \"id\"","uid":"tested"})"});
  EXPECT_EQ(letters.metrics().bad_records.load(), 1U);

  OperatorTestHarness skips(KeyByType(), R"({"keys": "id", "on-error": "skip"})", options());
  EXPECT_TRUE(skips.Process({R"({"di": 2})"}).ok());
  EXPECT_TRUE(skips.Take().empty());
  EXPECT_EQ(skips.metrics().bad_records.load(), 1U);
}

TEST(KeyByTest, ChecksItsOptions) {
  EXPECT_EQ(ProblemsOf(KeyByType(), "{}"), Rows{"/keys: a key_by without a key"});
  EXPECT_EQ(ProblemsOf(KeyByType(), R"({"keys": ["a", "b", "a"]})"), Rows{"/keys: key \"a\" stands twice"});
  EXPECT_EQ(ProblemsOf(KeyByType(), R"({"computed": {"x": "1 +"}})").size(), 1U);
}

TEST_P(RoutingTest, UnionPassesRowsOfAllInputs) {
  OperatorTestHarness harness(UnionType(), "{}", options());
  EXPECT_TRUE(harness.Process({R"({"a": 1})"}, 0).ok());
  EXPECT_TRUE(harness.Process({R"(-D {"b": 2})"}, 3).ok());
  EXPECT_TRUE(harness.Finish().ok());
  EXPECT_EQ(harness.Take(), (Rows{R"(+I {"a":1})", R"(-D {"b":2})"}));
}

constexpr char kRoutes[] = R"({"routes": {"large": "amount >= 100", "paid": "status = 'paid'"}, "default": "rest")";

TEST_P(RoutingTest, RouteTakesTheFirstThatHolds) {
  OperatorTestHarness harness(RouteType(), std::string(kRoutes) + "}", options());
  EXPECT_TRUE(harness.Process({R"({"amount": 100, "status": "paid"})", R"({"amount": 1, "status": "paid"})"}).ok());
  EXPECT_TRUE(harness.Process({R"({"amount": null, "status": "open"})"}).ok());
  EXPECT_TRUE(harness.Take().empty());
  EXPECT_EQ(harness.TakeSide("large"), Rows{R"(+I {"amount":100,"status":"paid"})"});
  EXPECT_EQ(harness.TakeSide("paid"), Rows{R"(+I {"amount":1,"status":"paid"})"});
  EXPECT_EQ(harness.TakeSide("rest"), Rows{R"(+I {"amount":null,"status":"open"})"});
}

TEST_P(RoutingTest, RouteTakesAllThatHold) {
  OperatorTestHarness harness(RouteType(), std::string(kRoutes) + R"(, "to": "all"})", options());
  EXPECT_TRUE(harness.Process({R"({"amount": 100, "status": "paid"})"}).ok());
  EXPECT_EQ(harness.TakeSide("large").size(), 1U);
  EXPECT_EQ(harness.TakeSide("paid").size(), 1U);
  EXPECT_TRUE(harness.TakeSide("rest").empty());
}

TEST_P(RoutingTest, ARowWithoutAnswerGoesNowhere) {
  OperatorTestHarness harness(RouteType(), std::string(kRoutes) + R"(, "on-error": "dead-letter"})", options());
  EXPECT_TRUE(harness.Process({R"({"amount": "many", "status": "paid"})", R"({"amount": 3, "status": "paid"})"}).ok());
  EXPECT_EQ(harness.TakeSide("paid").size(), 1U);
  EXPECT_EQ(harness.TakeSide("dead-letter").size(), 1U);
}

TEST(RouteTest, ChecksItsOptionsAndNamesItsOutputs) {
  const OperatorType type = RouteType();
  EXPECT_EQ(type.side_outputs(OptionsOf(type.options, std::string(kRoutes) + "}")),
            (std::vector<std::string>{"large", "paid", "rest"}));
  EXPECT_EQ(ProblemsOf(type, R"({"routes": {}})"), Rows{"/routes: \"routes\" is empty"});
  EXPECT_EQ(ProblemsOf(type, R"({"routes": {"a.b": "true"}})").size(), 1U);
  EXPECT_EQ(ProblemsOf(type, R"({"routes": {"a": "x = "}})").size(), 1U);
  EXPECT_EQ(ProblemsOf(type, R"({"routes": {"a": "true"}, "default": "a"})").size(), 1U);
}

TEST(DeadLetterTest, KeepsTheOriginalRecord) {
  SubtaskMetrics metrics;
  BadRecords fail("orders", BadRecordPolicy::kFail, &metrics);
  DeadLetter letter;
  letter.topic = "orders";
  letter.partition = 3;
  letter.offset = 42;
  letter.value = Value::Text(ValueType::kBytes, "{broken");
  letter.error = "no JSON";
  EXPECT_EQ(fail.Add(letter).message(), "no JSON (orders, partition 3, offset 42)");

  BadRecords kept("orders", BadRecordPolicy::kDeadLetter, &metrics);
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(kept.Add(letter).ok());
  class SideOutput final : public Output {
   public:
    Status Emit(Batch) override { return Status::Ok(); }
    Status EmitSide(std::string_view tag, Batch batch) override {
      EXPECT_EQ(tag, kDeadLetterTag);
      AppendRowTexts(batch, rows);
      return Status::Ok();
    }
    bool HasSide(std::string_view) const override { return true; }
    Rows rows;
  } output;
  ASSERT_TRUE(kept.EmitTo(output).ok());
  ASSERT_EQ(output.rows.size(), 300U);
  EXPECT_EQ(output.rows[0],
            R"(+I {"topic":"orders","partition":3,"offset":42,"key":null,"value":"\\x7b62726f6b656e","error":"no )"
            R"(JSON","uid":"orders"})");
  EXPECT_EQ(metrics.bad_records.load(), 300U);
}

}  // namespace
}  // namespace weir::operators
