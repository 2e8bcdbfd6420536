#include "tests/simulation/random_job.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace weir::simulation {
namespace {

constexpr uint64_t kRowsMax = 4000;  // of one output, so that fan-out and broadcast stay small

int64_t ValueOfKey(int64_t k) { return (k * 7919) % 23; }

uint64_t Count(const SimRows& rows) {
  uint64_t count = 0;
  for (const auto& [row, times] : rows) count += times;
  return count;
}

SimRows Transform(const SimRows& rows, const std::function<bool(const SimRow&)>& keep,
                  const std::function<SimRow(const SimRow&)>& change) {
  SimRows result;
  for (const auto& [row, times] : rows) {
    if (keep(row)) result[change(row)] += times;
  }
  return result;
}

SimRows CountByKey(const SimRows& rows) {
  std::map<int64_t, uint64_t> counts;
  for (const auto& [row, times] : rows) counts[row.k] += times;
  SimRows result;
  for (const auto& [k, count] : counts) {
    for (uint64_t i = 1; i <= count; ++i) ++result[{k, ValueOfKey(k), static_cast<int64_t>(i)}];
  }
  return result;
}

// An output that something may read.
struct Outlet {
  std::string name;
  SimRows rows;
  bool read = false;
};

class Builder {
 public:
  explicit Builder(Random& random) : random_(random) {}

  RandomJob Build() {
    const uint64_t sources = 1 + random_.Below(3);
    for (uint64_t i = 0; i < sources; ++i) AddSource();
    AddUnion();
    AddCount();
    const uint64_t more = random_.Below(8);
    for (uint64_t i = 0; i < more && job_.operators < 12; ++i) AddAny();
    AddSinks();
    if (random_.OneIn(3)) job_.output_bytes_max = 1 + random_.Below(2000);
    return std::move(job_);
  }

 private:
  std::string NewId(const char* prefix) { return prefix + std::to_string(++ids_); }

  void Add(const char* list, std::string text) { job_.nodes.push_back({list, std::move(text)}); }

  static std::string Quoted(const std::string& text) { return "\"" + text + "\""; }

  void AddSource() {
    SimTopic topic;
    topic.name = NewId("topic");
    topic.partitions.resize(1 + random_.Below(4));
    const auto keys = static_cast<int64_t>(1 + random_.Below(40));
    SimRows rows;
    for (auto& partition : topic.partitions) {
      const uint64_t count = random_.Below(60);
      for (uint64_t i = 0; i < count; ++i) {
        const auto k = static_cast<int64_t>(random_.Below(static_cast<uint64_t>(keys)));
        partition.push_back({k, ValueOfKey(k), static_cast<int64_t>(i)});
        ++rows[partition.back()];
      }
    }
    const std::string id = NewId("s");
    Add("sources", "\"id\":" + Quoted(id) + ",\"connector\":\"kafka\",\"bootstrap-servers\":\"sim:1\",\"topics\":[" +
                       Quoted(topic.name) + "],\"start\":\"earliest\",\"end\":\"latest\",\"format\":\"json\"" +
                       (random_.OneIn(3) ? "" : ",\"group\":" + Quoted("readers-of-" + id)));
    job_.topics.push_back(std::move(topic));
    outlets_.push_back({id, std::move(rows)});
  }

  // Prefers what nobody reads yet, so that graphs grow deep.
  size_t Pick() {
    std::vector<size_t> unread;
    for (size_t i = 0; i < outlets_.size(); ++i) {
      if (!outlets_[i].read) unread.push_back(i);
    }
    if (!unread.empty() && !random_.OneIn(4)) return unread[random_.Below(unread.size())];
    return random_.Below(outlets_.size());
  }

  std::string Parallelism() {
    return random_.OneIn(3) ? ",\"parallelism\":" + std::to_string(1 + random_.Below(4)) : "";
  }

  void AddOperator(const std::string& id, const std::string& type, const std::string& input, const std::string& rest) {
    ++job_.operators;
    Add("operators", "\"id\":" + Quoted(id) + ",\"type\":" + Quoted(type) + ",\"input\":" + Quoted(input) + rest);
  }

  void AddFilter() {
    const size_t in = Pick();
    const auto modulus = static_cast<int64_t>(2 + random_.Below(3));
    const std::string id = NewId("filter");
    AddOperator(id, "filter", outlets_[in].name,
                Parallelism() + ",\"where\":\"n % " + std::to_string(modulus) + " <> 0\"");
    outlets_[in].read = true;
    outlets_.push_back({id, Transform(
                                outlets_[in].rows, [=](const SimRow& row) { return row.n % modulus != 0; },
                                [](const SimRow& row) { return row; })});
  }

  void AddProject() {
    const size_t in = Pick();
    const std::string id = NewId("project");
    AddOperator(id, "project", outlets_[in].name,
                Parallelism() + ",\"columns\":{\"k\":\"k\",\"v\":\"v\",\"n\":\"n * 2 + v\"}");
    outlets_[in].read = true;
    outlets_.push_back({id, Transform(
                                outlets_[in].rows, [](const SimRow&) { return true; },
                                [](const SimRow& row) { return SimRow{row.k, row.v, row.n * 2 + row.v}; })});
  }

  void AddUnion() {
    const size_t a = Pick();
    outlets_[a].read = true;
    const size_t b = Pick();
    outlets_[b].read = true;
    const std::string id = NewId("union");
    ++job_.operators;
    // The same output twice would be one edge to some and two to others: read it through a filter that keeps all.
    std::string second = outlets_[b].name;
    if (a == b) {
      second = NewId("all");
      AddOperator(second, "filter", outlets_[b].name, ",\"where\":\"k >= 0\"");
    }
    Add("operators", "\"id\":" + Quoted(id) + ",\"type\":\"union\",\"inputs\":[" + Quoted(outlets_[a].name) + "," +
                         Quoted(second) + "]" + Parallelism());
    SimRows rows = outlets_[a].rows;
    for (const auto& [row, times] : outlets_[b].rows) rows[row] += times;
    outlets_.push_back({id, std::move(rows)});
  }

  void AddCount() {
    const size_t in = Pick();
    const std::string key_id = NewId("key");
    AddOperator(key_id, "key_by", outlets_[in].name, ",\"keys\":[\"k\"]");
    const std::string id = NewId("count");
    AddOperator(id, "aggregate", key_id,
                Parallelism() +
                    ",\"aggregates\":{\"n\":{\"function\":\"count\"},\"v\":{\"function\":\"max\",\"column\":\"v\"}}");
    outlets_[in].read = true;
    outlets_.push_back({id, CountByKey(outlets_[in].rows)});
  }

  // Keyed by all that a row has, and with records of one time, it lets each row go once: with a window at once, since
  // no watermark comes, without one at the end of the input.
  void AddSequence() {
    const size_t in = Pick();
    const std::string key_id = NewId("row");
    AddOperator(key_id, "key_by", outlets_[in].name, ",\"keys\":[\"k\",\"v\",\"n\"]");
    const std::string id = NewId("sequence");
    AddOperator(id, "sequence", key_id, Parallelism() + (random_.OneIn(3) ? "" : ",\"best-effort-window\":\"1h\""));
    outlets_[in].read = true;
    SimRows rows = outlets_[in].rows;
    for (auto& [row, times] : rows) times = 1;
    outlets_.push_back({id, std::move(rows)});
  }

  void AddRoute() {
    const size_t in = Pick();
    const std::string id = NewId("route");
    AddOperator(id, "route", outlets_[in].name, ",\"routes\":{\"odd\":\"n % 2 = 1\",\"even\":\"n % 2 = 0\"}");
    outlets_[in].read = true;
    const auto keep = [](const SimRow& row) { return row; };
    const SimRows rows = outlets_[in].rows;
    outlets_.push_back({id + ".odd", Transform(rows, [](const SimRow& row) { return row.n % 2 == 1; }, keep)});
    outlets_.push_back({id + ".even", Transform(rows, [](const SimRow& row) { return row.n % 2 == 0; }, keep)});
  }

  void AddBroadcast() {
    const size_t in = Pick();
    const uint64_t parallelism = 1 + random_.Below(3);
    if (Count(outlets_[in].rows) * parallelism > kRowsMax) return;
    const std::string id = NewId("copy");
    AddOperator(id, "filter", outlets_[in].name,
                ",\"parallelism\":" + std::to_string(parallelism) + ",\"edge\":\"broadcast\",\"where\":\"k >= 0\"");
    outlets_[in].read = true;
    SimRows rows;
    for (const auto& [row, times] : outlets_[in].rows) rows[row] = times * parallelism;
    outlets_.push_back({id, std::move(rows)});
  }

  void AddAny() {
    switch (random_.Below(7)) {
      case 0: AddFilter(); break;
      case 1: AddProject(); break;
      case 2:
        if (Count(outlets_.back().rows) < kRowsMax / 2) AddUnion();
        break;
      case 3: AddCount(); break;
      case 4: AddRoute(); break;
      case 5: AddSequence(); break;
      default: AddBroadcast(); break;
    }
  }

  void AddKafkaSink(const Outlet& outlet) {
    const std::string topic = NewId("results");
    const bool exact = !random_.OneIn(3);
    Add("sinks", "\"id\":" + Quoted(NewId("out")) + ",\"connector\":\"kafka\",\"input\":" + Quoted(outlet.name) +
                     ",\"bootstrap-servers\":\"sim:1\",\"topic\":" + Quoted(topic) +
                     ",\"delivery\":" + Quoted(exact ? "exactly-once" : "at-least-once"));
    (exact ? job_.exact_topics : job_.at_least_once)[topic] = outlet.rows;
  }

  // Rows of one k and n are the same: an upsert leaves one of them, whatever the order.
  void AddTable(const Outlet& outlet) {
    const std::string name = "public." + NewId("table");
    SimTable& table = job_.tables[name];
    table.exact = !random_.OneIn(3);
    table.upsert = !table.exact || random_.OneIn(2);
    job_.writes_tables_at_least_once |= !table.exact;
    for (const auto& [row, times] : outlet.rows) table.rows[row] = table.upsert ? 1 : times;
    Add("sinks", "\"id\":" + Quoted(NewId("out")) + ",\"connector\":\"postgres\",\"input\":" + Quoted(outlet.name) +
                     ",\"connection\":\"host=sim\",\"table\":" + Quoted(name) +
                     ",\"mode\":" + Quoted(table.upsert ? "upsert" : "append") +
                     ",\"delivery\":" + Quoted(table.exact ? "exactly-once" : "at-least-once"));
  }

  void AddSinks() {
    size_t folder = 0;
    const bool no_folders = random_.OneIn(3);
    for (const Outlet& outlet : outlets_) {
      if (outlet.read && !random_.OneIn(5)) continue;
      if (random_.OneIn(no_folders ? 2 : 4)) {
        AddTable(outlet);
        continue;
      }
      if (no_folders || random_.OneIn(3)) {
        AddKafkaSink(outlet);
        continue;
      }
      // Sinks may share a folder: then they share a committer too.
      if (folder == 0 || !random_.OneIn(3)) ++folder;
      const std::string path = "/out/" + std::to_string(folder);
      Add("sinks", "\"id\":" + Quoted(NewId("out")) + ",\"connector\":\"file\",\"input\":" + Quoted(outlet.name) +
                       ",\"path\":" + Quoted(path));
      SimRows& rows = job_.sinks[path];
      for (const auto& [row, times] : outlet.rows) rows[row] += times;
    }
  }

  Random& random_;
  RandomJob job_;
  std::vector<Outlet> outlets_;
  int ids_ = 0;
};

}  // namespace

std::string RandomJob::Definition(uint32_t parallelism) const {
  std::string text = "{\"name\":\"random\",\"parallelism\":" + std::to_string(parallelism) +
                     ",\"checkpoint\":{\"storage\":\"/checkpoints\",\"interval\":\"10ms\",\"timeout\":\"60s\"" +
                     (output_bytes_max == 0 ? "" : ",\"output-bytes-max\":" + std::to_string(output_bytes_max)) + "}";
  for (const char* list : {"sources", "operators", "sinks"}) {
    text += ",\"" + std::string(list) + "\":[";
    bool first = true;
    for (const Node& node : nodes) {
      if (node.list != list) continue;
      if (!std::exchange(first, false)) text += ",";
      text += "{" + node.text + "}";
    }
    text += "]";
  }
  return text + "}";
}

std::string ToJson(const SimRow& row) {
  return "{\"k\":" + std::to_string(row.k) + ",\"v\":" + std::to_string(row.v) + ",\"n\":" + std::to_string(row.n) +
         "}";
}

RandomJob MakeRandomJob(Random& random) { return Builder(random).Build(); }

}  // namespace weir::simulation
