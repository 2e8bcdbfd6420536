// One sink, many tables, on the simulated server and on a real one: rows ordered by foreign keys that are checked at
// every statement, and the frontier of the marker.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>

#include "base/random.h"
#include "tests/integration/postgres_world.h"

namespace weir::postgres_test {
namespace {

using operators::EventTime;
using operators::RowKind;
using operators::Value;
using Lines = std::vector<std::string>;

class PostgresTablesConformanceTest : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<PostgresJob> Started(uint32_t parallelism, uint64_t attempt = 1) {
    const Definition definition = {{"table-column", Text("t")}, {"fence-timeout", Text("300ms")}};
    auto job = std::make_unique<PostgresJob>(*world_, definition, attempt, "orders", parallelism);
    EXPECT_EQ(job->Start().ToString(), "ok");
    return job;
  }
  void CreateFamily() {
    world_->CreateTable("parent", {"id", "n"}, {"id"});
    world_->CreateTable("child", {"id", "parent", "n"}, {"id"});
    world_->CreateTable("node", {"id", "up", "n"}, {"id"});
    world_->Refer("child", "parent", "parent");
    world_->Refer("node", "up", "node");
  }
  std::string Frontier() { return world_->Rows("weir_markers", {"frontier"}).at(0); }

  const std::unique_ptr<PostgresWorld> world_ = GetParam() ? std::unique_ptr<PostgresWorld>(new RealPostgresWorld)
                                                           : std::unique_ptr<PostgresWorld>(new SimPostgresWorld);
};

TEST_P(PostgresTablesConformanceTest, B28_ParentsComeFirstAndGoLast) {
  CreateFamily();
  const auto job = Started(1);
  const auto child = [&](RowKind kind, const char* id, const char* parent) {
    ASSERT_EQ(job->Write({"t", "id", "parent"}, {{kind, {String("child"), String(id), String(parent)}}}).ToString(),
              "ok");
  };
  const auto parent = [&](RowKind kind, const char* id) {
    ASSERT_EQ(job->Write({"t", "id", "n"}, {{kind, {String("parent"), String(id), String("1")}}}).ToString(), "ok");
  };
  child(RowKind::kInsert, "c", "p");
  child(RowKind::kInsert, "d", "p");
  parent(RowKind::kInsert, "p");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(world_->Rows("child", {"id", "parent"}), (Lines{"c|p", "d|p"}));
  // Deleted first, but needed until its children are gone or have another one.
  parent(RowKind::kDelete, "p");
  child(RowKind::kDelete, "c", "p");
  child(RowKind::kUpdateAfter, "d", "q");
  parent(RowKind::kInsert, "q");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(world_->Rows("child", {"id", "parent"}), (Lines{"d|q"}));
  EXPECT_EQ(world_->Rows("parent", {"id"}), (Lines{"q"}));
  EXPECT_EQ(job->Counter("upserts", "public.child"), 3U);
  EXPECT_EQ(job->Counter("deletes", "public.child"), 1U);
}

TEST_P(PostgresTablesConformanceTest, TheLastRowOfAKeyIsItsLastWord) {
  world_->CreateTable("one", {"id", "a", "b"}, {"id"});
  const auto job = Started(1);
  const auto write = [&](RowKind kind, const char* id, Value a, Value b) {
    ASSERT_EQ(job->Write({"t", "id", "a", "b"}, {{kind, {String("one"), String(id), a, b}}}).ToString(), "ok");
  };
  const Value absent = Value::Absent();
  write(RowKind::kInsert, "folded", String("1"), absent);
  write(RowKind::kUpdateAfter, "folded", absent, String("2"));
  write(RowKind::kInsert, "gone", String("1"), String("1"));
  write(RowKind::kDelete, "gone", absent, absent);
  write(RowKind::kInsert, "back", String("1"), String("1"));
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  write(RowKind::kDelete, "back", absent, absent);
  write(RowKind::kInsert, "back", String("3"), absent);
  write(RowKind::kInsert, "folded", String("4"), Value::Null());
  write(RowKind::kUpdateAfter, "folded", absent, String("5"));
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(world_->Rows("one", {"id", "a", "b"}), (Lines{"back|3|null", "folded|4|5"}));
}

TEST_P(PostgresTablesConformanceTest, TheFrontierIsTheLeastOfItsWritersAndNeverFalls) {
  CreateFamily();
  auto job = Started(2);
  ASSERT_EQ(job->Watermark({2000, 7}, 0).ToString(), "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(Frontier(), "null") << "the other one knows nothing yet";
  ASSERT_EQ(job->Watermark({1000, 3}, 1).ToString(), "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(Frontier(), "1000.0000000003");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(Frontier(), "1000.0000000003");
  ASSERT_EQ(job->Watermark({3000, 0}, 1).ToString(), "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(Frontier(), "2000.0000000007");
  ASSERT_EQ(job->Watermark(EventTime::Max(), 0).ToString(), "ok");
  ASSERT_EQ(job->Watermark(EventTime::Max(), 1).ToString(), "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(Frontier(), "2000.0000000007") << "the input's end is no time of the source";
  // A new start knows nothing, and may read again what is older.
  job = Started(1, 2);
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(Frontier(), "2000.0000000007");
  ASSERT_EQ(job->Watermark({1500, 0}).ToString(), "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(Frontier(), "2000.0000000007");
}

TEST_P(PostgresTablesConformanceTest, TheFrontierOfACheckpointThatWasGivenUpDoesNotHoldTheNextBack) {
  CreateFamily();
  const auto job = Started(2);
  for (size_t subtask = 0; subtask < 2; ++subtask) ASSERT_EQ(job->Watermark({1000, 0}, subtask).ToString(), "ok");
  auto sealed = *job->Seal();
  for (size_t subtask = 0; subtask < 2; ++subtask) ASSERT_EQ(job->Watermark({2000, 0}, subtask).ToString(), "ok");
  const auto more = *job->Seal();
  sealed.insert(sealed.end(), more.begin(), more.end());
  ASSERT_EQ(job->Apply(sealed).ToString(), "ok");
  EXPECT_EQ(Frontier(), "2000.0000000000");
}

TEST_P(PostgresTablesConformanceTest, AnotherStorageBeginsTheFrontierAnew) {
  CreateFamily();
  auto job = Started(1);
  ASSERT_EQ(job->Watermark({2000, 7}).ToString(), "ok");
  ASSERT_EQ(job->Checkpoint().ToString(), "ok");
  EXPECT_EQ(Frontier(), "2000.0000000007");
  const Definition definition = {{"table-column", Text("t")}};
  PostgresJob other(*world_, definition, 2);
  other.UseStorage({.high = 8, .low = 8});
  ASSERT_EQ(other.Start().ToString(), "ok");
  EXPECT_EQ(Frontier(), "null");
  ASSERT_EQ(other.Watermark({1000, 0}).ToString(), "ok");
  ASSERT_EQ(other.Checkpoint().ToString(), "ok");
  EXPECT_EQ(Frontier(), "1000.0000000000");
}

// A source with transactions over three tables, the sink's three subtasks with a part of the keys each. At each
// checkpoint the target is the source as of the frontier, and no statement leaves a child without its parent.
class Family {
 public:
  struct Row {
    std::string refers;  // empty: to nothing
    std::string n;
  };
  using Table = std::map<std::string, Row>;

  explicit Family(uint64_t seed) : random_(seed) {}

  // The changes of one source transaction: table, key, and the row or nothing.
  struct Change {
    std::string table, key;
    std::optional<Row> row;
  };
  std::vector<Change> Next() {
    std::vector<Change> changes;
    for (uint64_t i = 0, count = 1 + random_.Below(3); i < count; ++i) Step(changes);
    return changes;
  }
  Lines Show(const std::string& table) const {
    Lines lines;
    const auto found = tables_.find(table);
    if (found == tables_.end()) return lines;
    for (const auto& [key, row] : found->second) {
      const std::string refers = row.refers.empty() ? "null" : row.refers;
      lines.push_back(table == "parent" ? key + "|" + row.n : key + "|" + refers + "|" + row.n);
    }
    return lines;
  }

 private:
  void Put(std::vector<Change>& changes, const std::string& table, const std::string& key, std::optional<Row> row) {
    // A transaction changes a row once.
    for (const Change& change : changes) {
      if (change.table == table && change.key == key) return;
    }
    if (row.has_value()) {
      tables_[table][key] = *row;
    } else {
      tables_[table].erase(key);
    }
    changes.push_back({table, key, std::move(row)});
  }
  bool IsReferred(const std::string& table, const std::string& key) const {
    const auto found = tables_.find(table == "parent" ? "child" : "node");
    if (table == "child" || found == tables_.end()) return false;
    return std::ranges::any_of(found->second, [&](const auto& one) { return one.second.refers == key; });
  }
  std::string AnyKey(const std::string& table) {
    const Table& rows = tables_[table];
    if (rows.empty()) return {};
    return std::next(rows.begin(), static_cast<std::ptrdiff_t>(random_.Below(rows.size())))->first;
  }
  void Step(std::vector<Change>& changes) {
    const char* const names[] = {"parent", "child", "node"};
    const std::string table = names[random_.Below(3)];
    const std::string n = std::to_string(++count_);
    const std::string key = std::to_string(random_.Below(12));
    if (random_.OneIn(3)) {
      if (tables_[table].contains(key) && !IsReferred(table, key)) Put(changes, table, key, std::nullopt);
      return;
    }
    Row row{.refers = {}, .n = n};
    if (table == "child") row.refers = AnyKey("parent");
    if (table == "node" && !random_.OneIn(3)) row.refers = AnyKey("node");
    if (table == "child" && row.refers.empty()) return;
    Put(changes, table, key, row);
  }

  SeededRandom random_;
  std::map<std::string, Table> tables_;
  uint64_t count_ = 0;
};

class FamilyTest : public PostgresTablesConformanceTest {
 protected:
  static Status Write(PostgresJob& job, const Family::Change& change, int64_t time, size_t subtask) {
    texts().push_back(change);
    const Family::Change& kept = texts().back();
    const Value refers = !kept.row.has_value() || kept.row->refers.empty() ? Value::Null() : String(kept.row->refers);
    const Value n = kept.row.has_value() ? String(kept.row->n) : Value::Null();
    const RowKind kind = kept.row.has_value() ? RowKind::kUpdateAfter : RowKind::kDelete;
    const EventTime at{time, 1};
    if (kept.table == "parent") {
      return job.Write({"t", "id", "n"}, {{kind, {String(kept.table), String(kept.key), n}, at}}, subtask);
    }
    const std::string refers_column = kept.table == "child" ? "parent" : "up";
    return job.Write({"t", "id", refers_column, "n"}, {{kind, {String(kept.table), String(kept.key), refers, n}, at}},
                     subtask);
  }
  // Text of values stays.
  static std::deque<Family::Change>& texts() {
    thread_local std::deque<Family::Change> texts;
    return texts;
  }
};

TEST_P(FamilyTest, B19_B28_EachCheckpointIsTheSourceAsOfTheFrontier) {
  CreateFamily();
  uint64_t deletes = 0;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Family family(seed);
    SeededRandom random(seed + 100);
    const auto job = Started(3, seed);
    int64_t time = static_cast<int64_t>(seed) * 1'000'000;
    for (int checkpoint = 0; checkpoint < 25; ++checkpoint) {
      for (uint64_t i = 0, count = random.Below(20); i < count; ++i) {
        ++time;
        for (const Family::Change& change : family.Next()) {
          if (!change.row.has_value()) ++deletes;
          ASSERT_EQ(Write(*job, change, time, std::hash<std::string>()(change.table + change.key) % 3).ToString(),
                    "ok");
        }
      }
      for (size_t subtask = 0; subtask < 3; ++subtask) {
        ASSERT_EQ(job->Watermark({time, 5}, subtask).ToString(), "ok");
      }
      ASSERT_EQ(job->Checkpoint().ToString(), "ok") << "seed " << seed << ", checkpoint " << checkpoint;
      const auto sorted = [](Lines lines) {
        std::ranges::sort(lines);
        return lines;
      };
      ASSERT_EQ(world_->Rows("parent", {"id", "n"}), sorted(family.Show("parent")));
      ASSERT_EQ(world_->Rows("child", {"id", "parent", "n"}), sorted(family.Show("child")));
      ASSERT_EQ(world_->Rows("node", {"id", "up", "n"}), sorted(family.Show("node")));
      ASSERT_EQ(Frontier(), std::to_string(time) + ".0000000005");
    }
    // The next seed begins with empty tables.
    for (const char* table : {"child", "node", "parent"}) {
      Lines keys = world_->Rows(table, {"id"});
      for (const std::string& key : keys) {
        ASSERT_EQ(Write(*job, {table, key, std::nullopt}, ++time, 0).ToString(), "ok");
      }
    }
    ASSERT_EQ(job->Checkpoint().ToString(), "ok");
    ASSERT_EQ(world_->Rows("node", {"id"}), Lines());
  }
  EXPECT_GT(deletes, 50U);
}

INSTANTIATE_TEST_SUITE_P(Worlds, PostgresTablesConformanceTest, testing::Values(false, true),
                         [](const testing::TestParamInfo<bool>& world) {
                           return world.param ? "RealServer" : "Simulated";
                         });
INSTANTIATE_TEST_SUITE_P(Worlds, FamilyTest, testing::Values(false, true),
                         [](const testing::TestParamInfo<bool>& world) {
                           return world.param ? "RealServer" : "Simulated";
                         });

}  // namespace
}  // namespace weir::postgres_test
