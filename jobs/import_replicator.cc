// The idea: one table names every flag with what becomes of it, so that a flag that is missing there is unknown; then
// the definition is built from the values that were given.
#include "jobs/import_replicator.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

namespace weir::jobs {
namespace {

using Json = nlohmann::ordered_json;

enum class Fate : uint8_t { kMapped, kNeedless, kRefused };

struct Flag {
  std::string_view name;
  bool is_switch;  // takes no value
  Fate fate;
  std::string_view why = {};  // of what is not mapped: the end of a note or problem
};

constexpr std::string_view kNoStaging = "there is no staging database: rows wait in the job's own state";
constexpr std::string_view kOnePool = "one connection for each task and one for the committer, kept open";

constexpr std::array kFlags = {
    Flag{"broker", false, Fate::kMapped},
    Flag{"topic", false, Fate::kMapped},
    Flag{"group", false, Fate::kMapped},
    Flag{"strategy", false, Fate::kMapped},
    Flag{"minTimestamp", false, Fate::kMapped},
    Flag{"maxTimestamp", false, Fate::kMapped},
    Flag{"resolvedInterval", false, Fate::kMapped},
    Flag{"targetSchema", false, Fate::kMapped},
    Flag{"targetConn", false, Fate::kMapped},
    Flag{"saslMechanism", false, Fate::kMapped},
    Flag{"saslUser", false, Fate::kMapped},
    Flag{"saslPassword", false, Fate::kMapped},
    Flag{"saslClientID", false, Fate::kMapped},
    Flag{"saslClientSecret", false, Fate::kMapped},
    Flag{"saslTokenURL", false, Fate::kMapped},
    Flag{"saslScope", false, Fate::kMapped},
    Flag{"saslGrantType", false, Fate::kMapped},
    Flag{"tlsCACertificate", false, Fate::kMapped},
    Flag{"tlsCertificate", false, Fate::kMapped},
    Flag{"tlsPrivateKey", false, Fate::kMapped},
    Flag{"insecureSkipVerify", true, Fate::kMapped},
    Flag{"immediate", true, Fate::kMapped},
    Flag{"bestEffortOnly", true, Fate::kMapped},
    Flag{"bestEffortWindow", false, Fate::kMapped},
    Flag{"flushPeriod", false, Fate::kMapped},
    Flag{"flushSize", false, Fate::kMapped},
    Flag{"retireOffset", false, Fate::kMapped},
    Flag{"parallelism", false, Fate::kMapped},
    Flag{"applyTimeout", false, Fate::kMapped},
    Flag{"dlqTableName", false, Fate::kMapped},
    Flag{"gracePeriod", false, Fate::kMapped},
    Flag{"metricsAddr", false, Fate::kMapped},
    Flag{"batchSize", false, Fate::kNeedless, "rows go out with each checkpoint, in statements of up to 1,000"},
    Flag{"disableCheckpointStream", true, Fate::kNeedless, "resolved times reach the job's own coordinator at once"},
    Flag{"limitLookahead", false, Fate::kNeedless,
         "what waits is bounded in bytes, by frontier.waiting-bytes-max of the source"},
    Flag{"assumeIdempotent", true, Fate::kNeedless,
         "there is no staging to spare: re-deliveries are told by their time"},
    Flag{"quiescentPeriod", false, Fate::kNeedless, "a moved frontier wakes those who wait for it"},
    Flag{"scanSize", false, Fate::kNeedless, kNoStaging},
    Flag{"taskGracePeriod", false, Fate::kNeedless, "a stuck job shows in its health and ends by checkpoint.timeout"},
    Flag{"timestampLimit", false, Fate::kNeedless,
         "rows that wait for their parents lie in a table of the target, however many"},
    Flag{"stagingConn", false, Fate::kNeedless, kNoStaging},
    Flag{"stagingSchema", false, Fate::kNeedless, kNoStaging},
    Flag{"stagingCreateSchema", true, Fate::kNeedless, kNoStaging},
    Flag{"stagingIdleTime", false, Fate::kNeedless, kNoStaging},
    Flag{"stagingJitterTime", false, Fate::kNeedless, kNoStaging},
    Flag{"stagingMaxLifetime", false, Fate::kNeedless, kNoStaging},
    Flag{"stagingMaxPoolSize", false, Fate::kNeedless, kNoStaging},
    Flag{"targetIdleTime", false, Fate::kNeedless, kOnePool},
    Flag{"targetJitterTime", false, Fate::kNeedless, kOnePool},
    Flag{"targetMaxLifetime", false, Fate::kNeedless, kOnePool},
    Flag{"targetMaxPoolSize", false, Fate::kNeedless, kOnePool},
    Flag{"targetStatementCacheSize", false, Fate::kNeedless, "statements take arrays, so that there are few of them"},
    Flag{"stageMarkAppliedLimit", false, Fate::kNeedless, kNoStaging},
    Flag{"stageSanityCheckPeriod", false, Fate::kNeedless, kNoStaging},
    Flag{"stageSanityCheckWindow", false, Fate::kNeedless, kNoStaging},
    Flag{"stageUnappliedPeriod", false, Fate::kNeedless, kNoStaging},
    Flag{"schemaRefresh", false, Fate::kNeedless, "the target's catalogue is asked when a table or column is new"},
    Flag{"verbose", true, Fate::kNeedless, "the log tells what a person must know, the metrics the rest"},
    Flag{"userscript", false, Fate::kRefused,
         "scripts in JavaScript are not run: write the same hooks for a script operator, or use its tables' options"},
    Flag{"logFormat", false, Fate::kRefused, "the log is lines of text on standard error"},
    Flag{"logDestination", false, Fate::kRefused, "the log goes to standard error: redirect it"},
};

const Flag* FindFlag(std::string_view name) {
  const auto* found = std::ranges::find(kFlags, name, &Flag::name);
  return found == kFlags.end() ? nullptr : found;
}

// A switch's value as Go reads it; nothing if it is none.
std::optional<bool> GoBool(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTrue = {"1", "t", "T", "TRUE", "true", "True"};
  constexpr std::array<std::string_view, 6> kFalse = {"0", "f", "F", "FALSE", "false", "False"};
  if (std::ranges::find(kTrue, text) != kTrue.end()) return true;
  if (std::ranges::find(kFalse, text) != kFalse.end()) return false;
  return std::nullopt;
}

// A duration as Go writes it, "1h30m" or "1.5s", in whole milliseconds, rounded up; nothing if it is none.
std::optional<int64_t> GoDurationMs(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 7> kUnits = {
      {{"ms", 1}, {"us", 1e-3}, {"\u00b5s", 1e-3}, {"ns", 1e-6}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}}};
  double ms = 0;
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc() || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    const auto* unit = std::ranges::find_if(kUnits, [&](const auto& each) { return text.starts_with(each.first); });
    if (unit == kUnits.end()) return std::nullopt;
    ms += number * unit->second;
    text.remove_prefix(unit->first.size());
  }
  constexpr double kLongest = 9.2e12;  // Go's own bound, 292 years
  return ms <= kLongest ? std::optional(static_cast<int64_t>(std::ceil(ms))) : std::nullopt;
}

class Importer {
 public:
  ImportedJob Import(const std::vector<std::string>& words) {
    Read(words);
    CheckNeeded();
    if (job_.problems.empty()) job_.definition = Definition().dump(2) + "\n";
    if (!job_.problems.empty()) job_.definition.clear();
    return std::move(job_);
  }

 private:
  void Read(const std::vector<std::string>& words);
  void Take(const Flag& flag, const std::string& value);
  void CheckNeeded();

  bool Has(const std::string& name) const { return values_.contains(name); }
  // Of the flag's last occurrence, as the model takes it.
  std::string Value(const std::string& name) const { return Has(name) ? values_.at(name).back() : std::string(); }
  bool On(const std::string& name) const { return Has(name); }  // a switch
  // Rows never wait for the frontier.
  bool AtOnce() const { return On("immediate") || On("bestEffortOnly"); }
  void Note(const std::string& flag, const std::string& text) { job_.notes.push_back("--" + flag + ": " + text); }
  void Problem(const std::string& flag, const std::string& text) { job_.problems.push_back("--" + flag + " " + text); }
  void CopyTo(Json& object, const char* option, const std::string& flag) const {
    if (Has(flag)) object[option] = Value(flag);
  }
  // The same for a duration, which Weir writes otherwise.
  void CopyDurationTo(Json& object, const char* option, const std::string& flag);
  // The same for a whole number.
  void CopyNumberTo(Json& object, const char* option, const std::string& flag);
  // The value is a secret: the environment holds it.
  std::string Reference(const std::string& flag, const std::string& variable) {
    Note(flag, "the definition reads it from the environment: set " + variable);
    return "${" + variable + "}";
  }

  Json Definition();
  Json Source();
  Json Sasl();
  Json Tls() const;
  Json Sequence();
  Json Sink();

  std::map<std::string, std::vector<std::string>> values_;
  bool best_effort_ = false;  // rows may come before those that they refer to
  ImportedJob job_;
};

void Importer::Read(const std::vector<std::string>& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "kafka" && i == 0) continue;
    if (word == "-v" || word == "-vv") {
      Take(*FindFlag("verbose"), {});
      continue;
    }
    if (!word.starts_with("--") || word.size() == 2) {
      job_.problems.push_back("\"" + word + "\" is no flag");
      continue;
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    const Flag* flag = FindFlag(name);
    if (flag == nullptr) {
      job_.problems.push_back("--" + name + " is not a flag of replicator's kafka command");
      continue;
    }
    if (equals != std::string::npos) {
      Take(*flag, word.substr(equals + 1));
    } else if (flag->is_switch) {
      Take(*flag, "true");
    } else if (i + 1 < words.size()) {
      Take(*flag, words[++i]);
    } else {
      Problem(name, "has no value");
    }
  }
}

void Importer::Take(const Flag& flag, const std::string& value) {
  const std::string name(flag.name);
  if (flag.is_switch) {
    const std::optional<bool> is_on = GoBool(value);
    const bool counts = flag.fate == Fate::kMapped;
    if (counts && !is_on.has_value()) return Problem(name, "is \"" + value + "\": expected true or false");
    // The last one counts.
    if (is_on == false) values_.erase(name);
    if (is_on == false) return;
  }
  if (flag.fate == Fate::kRefused) Problem(name, "has no equal: " + std::string(flag.why));
  if (flag.fate == Fate::kNeedless && !Has(name)) Note(name, "not needed: " + std::string(flag.why));
  values_[name].push_back(value);
}

void Importer::CheckNeeded() {
  for (const char* flag : {"broker", "group", "topic", "targetSchema", "targetConn"}) {
    if (!Has(flag)) Problem(flag, "is missing");
  }
  const std::string connection = Value("targetConn");
  if (!connection.empty() && !connection.starts_with("postgres://") && !connection.starts_with("postgresql://")) {
    Problem("targetConn", "names no PostgreSQL: postgres:// is the only target that Weir has");
  }
  constexpr std::array<std::string_view, 3> kStrategies = {"sticky", "roundrobin", "range"};
  if (Has("strategy") && std::ranges::find(kStrategies, Value("strategy")) == kStrategies.end()) {
    Problem("strategy", "is \"" + Value("strategy") + "\": expected sticky, roundrobin or range");
  }
  if (On("immediate") && On("bestEffortOnly")) Problem("bestEffortOnly", "is another mode than --immediate: take one");
}

void Importer::CopyDurationTo(Json& object, const char* option, const std::string& flag) {
  if (!Has(flag)) return;
  if (const std::optional<int64_t> ms = GoDurationMs(Value(flag))) {
    object[option] = *ms % 1'000 == 0 ? std::to_string(*ms / 1'000) + "s" : std::to_string(*ms) + "ms";
  } else {
    Problem(flag, "is \"" + Value(flag) + "\": expected a duration such as 1h30m");
  }
}

void Importer::CopyNumberTo(Json& object, const char* option, const std::string& flag) {
  if (!Has(flag)) return;
  const std::string text = Value(flag);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) {
    object[option] = number;
  } else {
    Problem(flag, "is \"" + text + "\": expected a whole number");
  }
}

Json Importer::Sasl() {
  Json sasl;
  sasl["mechanism"] = Value("saslMechanism");
  CopyTo(sasl, "username", "saslUser");
  if (Has("saslPassword")) sasl["password"] = Reference("saslPassword", "SASL_PASSWORD");
  CopyTo(sasl, "token-url", "saslTokenURL");
  CopyTo(sasl, "client-id", "saslClientID");
  if (Has("saslClientSecret")) sasl["client-secret"] = Reference("saslClientSecret", "SASL_CLIENT_SECRET");
  if (Has("saslScope")) sasl["scopes"] = values_.at("saslScope");
  CopyTo(sasl, "grant-type", "saslGrantType");
  return sasl;
}

Json Importer::Tls() const {
  Json tls;
  CopyTo(tls, "ca", "tlsCACertificate");
  CopyTo(tls, "certificate", "tlsCertificate");
  CopyTo(tls, "private-key", "tlsPrivateKey");
  if (On("insecureSkipVerify")) tls["skip-verify"] = true;
  return tls;
}

Json Importer::Source() {
  Json source = {{"id", "feed"}, {"connector", "kafka"}};
  std::string brokers;
  for (const std::string& broker : values_.at("broker")) brokers += (brokers.empty() ? "" : ",") + broker;
  source["bootstrap-servers"] = brokers;
  source["topics"] = values_.at("topic");
  source["format"] = "cockroachdb";
  source["metadata"] = {{"table", "__table"}, {"key", "__key"}};
  source["group"] = Value("group");
  Note("group",
       "the job assigns the partitions itself and goes on from its checkpoints; the group is told their offsets");
  if (Has("strategy")) {
    Note("strategy",
         "of no effect as long as the job assigns the partitions; with assignment: group, sticky is "
         "cooperative-sticky");
  }
  CopyTo(source, "min-timestamp", "minTimestamp");
  CopyTo(source, "max-timestamp", "maxTimestamp");
  CopyDurationTo(source, "resolved-interval", "resolvedInterval");
  if (Has("saslMechanism")) source["sasl"] = Sasl();
  if (const Json tls = Tls(); !tls.is_null()) source["tls"] = tls;
  if (!AtOnce()) {
    source["frontier"] = Json::object();
    CopyNumberTo(source["frontier"], "release-rows-max", "flushSize");
  }
  return source;
}

// The model's default: consistent, and best effort when far behind.
Json Importer::Sequence() {
  Json sequence = {{"id", "ordered"}, {"type", "sequence"}, {"input", "by_key"}, {"best-effort-window", "1h"}};
  CopyDurationTo(sequence, "best-effort-window", "bestEffortWindow");
  if (sequence["best-effort-window"] == "0s") sequence.erase("best-effort-window");
  best_effort_ = sequence.contains("best-effort-window");
  if (!best_effort_) Note("bestEffortWindow", "0 means never, in Weir too: the job is consistent however far behind");
  return sequence;
}

Json Importer::Sink() {
  Json sink = {{"id", "target"}, {"connector", "postgres"}, {"input", AtOnce() ? "newest" : "ordered"}};
  sink["connection"] = Reference("targetConn", "TARGET_CONN");
  sink["table-column"] = "__table";
  sink["key-column"] = "__key";
  const std::string schema = Value("targetSchema");
  const size_t dot = schema.rfind('.');
  sink["schema"] = dot == std::string::npos ? "public" : schema.substr(dot + 1);
  if (dot == std::string::npos) Note("targetSchema", "\"" + schema + "\" is a database: its schema public is taken");
  if (best_effort_) sink["on-missing-parent"] = "wait";
  CopyDurationTo(sink, "statement-timeout", "applyTimeout");
  CopyTo(sink, "dead-letter-table", "dlqTableName");
  if (Has("dlqTableName")) Note("dlqTableName", "rows that the target refuses go there too, not only a merge's");
  return sink;
}

Json Importer::Definition() {
  Json job;
  job["name"] = Value("group");
  CopyNumberTo(job, "parallelism", "parallelism");
  job["checkpoint"] = {{"storage", "./checkpoints"}, {"interval", "1s"}};
  CopyDurationTo(job["checkpoint"], "interval", "flushPeriod");
  if (Has("gracePeriod")) CopyDurationTo(job["stop"], "timeout", "gracePeriod");
  if (Has("metricsAddr")) {
    const std::string address = Value("metricsAddr");
    const size_t colon = address.rfind(':');
    const std::string port = colon == std::string::npos ? address : address.substr(colon + 1);
    job["metrics"] = {{"port", Json::parse(port, nullptr, false)}};
    if (colon != std::string::npos && colon > 0) job["metrics"]["host"] = address.substr(0, colon);
    if (colon == 0) Note("metricsAddr", "without a host Weir listens on loopback alone");
  }
  job["sources"] = {Source()};
  job["operators"] = {{{"id", "by_key"}, {"type", "key_by"}, {"input", "feed"}, {"keys", {"__table", "__key"}}}};
  best_effort_ = On("bestEffortOnly");
  if (AtOnce()) {
    if (Has("bestEffortWindow")) Note("bestEffortWindow", "not needed: rows never wait for the frontier");
    Json newest = {{"id", "newest"}, {"type", "deduplicate"}, {"input", "by_key"}};
    CopyDurationTo(newest, "retention", "retireOffset");
    job["operators"].push_back(newest);
  } else {
    if (Has("retireOffset")) Note("retireOffset", "not needed: what the frontier has passed is known to be applied");
    job["operators"].push_back(Sequence());
  }
  job["sinks"] = {Sink()};
  return job;
}

}  // namespace

ImportedJob ImportReplicator(const std::vector<std::string>& words) { return Importer().Import(words); }

bool SplitWords(std::string_view text, std::vector<std::string>& words) {
  std::optional<std::string> word;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (quote == 0 && blank) {
      if (word.has_value()) words.push_back(*std::exchange(word, std::nullopt));
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
      if (!word.has_value()) word.emplace();
    } else if (quote != 0 && c == quote) {
      quote = 0;
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      if (text[++i] == '\n') continue;
      if (!word.has_value()) word.emplace();
      *word += text[i];
    } else {
      if (!word.has_value()) word.emplace();
      *word += c;
    }
  }
  if (word.has_value()) words.push_back(*word);
  return quote == 0;
}

}  // namespace weir::jobs
