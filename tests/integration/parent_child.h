// The parent/child workload of a changefeed: steps that insert, change, move and delete parents and their children,
// each a source transaction of one or several rows with one `updated`, spread over the partitions of two topics as
// CockroachDB does it (32-bit FNV-1a of the key). Also what the two tables are as of any source time. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "operators/event_time.h"

namespace weir::job_test {

struct FeedMessage {
  std::string topic;
  int32_t partition = 0;
  std::optional<std::string> key = {};
  std::string value;
};

// The two tables.
struct Family {
  struct Child {
    int64_t parent = 0;
    int64_t value = 0;
  };
  std::map<int64_t, int64_t> parents;  // id -> value
  std::map<int64_t, Child> children;

  // "1:10 2:20" and "7:1:30": id, (parent,) value, by id; as the SQL of ParentChildTables gives them.
  std::string ParentsText() const;
  std::string ChildrenText() const;
};

class ParentChild {
 public:
  struct Options {
    uint64_t seed = 1;
    std::string prefix;       // of both topics, which end with "parent" and "child"
    int partitions = 5;       // of each topic
    bool diff = false;        // messages tell the row before
    bool redelivers = false;  // messages come again now and then, behind newer ones, as after a changefeed's restart
  };
  explicit ParentChild(Options options);

  std::string parent_topic() const { return options_.prefix + "parent"; }
  std::string child_topic() const { return options_.prefix + "child"; }

  // 1 to 10 steps; their messages in the order of the source.
  std::vector<FeedMessage> Iterate();
  // All that happened before `now` has been told: on every partition.
  std::vector<FeedMessage> Resolve();
  // The source's clock: later than every row so far.
  operators::EventTime now() const { return now_; }
  // Nothing happens until then; later than now().
  void SkipTo(int64_t wall_ns) { now_ = {.wall_ns = wall_ns, .logical = 0}; }

  // Takes a replay forward, with every row at or below `time`.
  class Replay {
   public:
    explicit Replay(const ParentChild& source) : source_(source) {}
    // `time` never falls.
    const Family& AdvanceTo(operators::EventTime time);

   private:
    const ParentChild& source_;
    size_t next_ = 0;
    Family family_;
  };
  const Family& latest() const { return latest_; }

 private:
  struct Change {
    operators::EventTime time;
    bool child = false;
    int64_t id = 0;
    std::optional<Family::Child> row = {};  // nothing: deleted
  };
  static void Apply(const Change& change, Family& family);

  void Step();
  void DeleteWithChildren(int64_t parent);
  void Put(bool child, int64_t id, std::optional<Family::Child> row);
  FeedMessage MessageOf(const Change& change, const std::string& before) const;

  const Options options_;
  SeededRandom random_;
  operators::EventTime now_{.wall_ns = 1'700'000'000'000'000'000, .logical = 0};
  int64_t last_id_ = 0;
  Family latest_;
  std::vector<Change> log_;
  std::vector<FeedMessage> fresh_;  // of the iteration
  std::vector<FeedMessage> told_;   // of all iterations, if some are to come again
};

// One row of one snapshot: the marker's frontier, then both tables as Family's texts have them. Without a job: NULL in
// place of the frontier.
std::string ParentChildTables(const std::string& job);

bool IsPrime(int number);

}  // namespace weir::job_test
