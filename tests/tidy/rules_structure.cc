#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <utility>

#include "tests/tidy/rules.h"

namespace weir::tidy {
namespace {

struct Include {
  int line = 0;
  bool quoted = false;
  std::string path;
};

std::vector<Include> IncludesOf(const SourceFile& file) {
  static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> includes;
  int number = 0;
  for (const std::string_view line : Lines(file.text)) {
    ++number;
    std::cmatch match;
    if (line.find('#') == std::string_view::npos) continue;
    if (!std::regex_search(line.data(), line.data() + line.size(), match, pattern)) continue;
    includes.push_back({number, match[1] == "\"", match[2]});
  }
  return includes;
}

// What a folder may include of others: whole folders, or single headers.
const std::map<std::string, std::vector<std::string>>& Direction() {
  static const std::map<std::string, std::vector<std::string>> direction = {
      {"base", {"base/"}},
      {"state", {"base/", "state/"}},
      {"checkpoint", {"base/", "state/snapshot.h", "checkpoint/"}},
      {"operators", {"base/", "state/", "checkpoint/", "operators/"}},
      {"connectors",
       {"base/", "operators/", "checkpoint/barrier.h", "checkpoint/committable.h", "checkpoint/committer.h",
        "checkpoint/sealed_file.h", "connectors/"}},
      {"jobs", {"base/", "state/", "checkpoint/", "operators/", "connectors/", "jobs/"}},
  };
  return direction;
}

bool IsTest(const SourceFile& file) { return file.folder() == "tests" || file.folder() == "bench"; }

// A library that is expensive to include, or throws, or is to be had behind one door only; who may include it.
struct Library {
  std::string name;
  std::regex header;
  std::regex files;
};

const std::vector<Library>& Libraries() {
  static const std::vector<Library> libraries = {
      {"RocksDB", std::regex("^rocksdb/"), std::regex("^state/rocksdb_[a-z_]+\\.cc$")},
      {"librdkafka", std::regex("^librdkafka/"), std::regex("^connectors/kafka/(rdkafka|mock)_[a-z_]+\\.(h|cc)$")},
      {"libcurl", std::regex("^curl/"), std::regex("^connectors/http_client\\.cc$")},
      {"libpq", std::regex("^(postgresql/)?libpq|^pg_"), std::regex("^connectors/postgres/libpq_[a-z_]+\\.cc$")},
      {"nlohmann/json", std::regex("^nlohmann/json\\.hpp$"),
       std::regex("^(jobs/(control_socket|import_replicator|json_definition_reader|definition_schema|diagnostics|"
                  "demo_command|position_edit)|connectors/(marker_text|file/(enumerator|part|position)|"
                  "format/(avro_schema|schema_registry)|generator/source|"
                  "kafka/(frontier_event|rdkafka_token|split)))\\.cc$")},
      {"simdjson", std::regex("^simdjson"),
       std::regex("^(connectors/format/json_[a-z_]+|operators/expression/json_member)\\.cc$")},
      {"yaml-cpp", std::regex("^yaml-cpp/"), std::regex("^jobs/yaml_definition_reader\\.cc$")},
      {"spdlog", std::regex("^(spdlog|fmt)/"), std::regex("^base/log\\.cc$")},
      {"Protobuf", std::regex("^google/protobuf/|\\.pb\\.h$"), std::regex("^checkpoint/[a-z_]*metadata[a-z_]*\\.cc$")},
      {"Boost.Program_options", std::regex("^boost/program_options"), std::regex("^jobs/main\\.cc$")},
      {"xxhash", std::regex("^xxhash\\.h$"), std::regex("^base/bytes\\.cc$")},
      {"Lua", std::regex("^lua"), std::regex("^operators/script/script_[a-z]+\\.cc$")},
      {"lz4, zstd or snappy", std::regex("^(lz4|zstd|snappy)"), std::regex("^base/compression\\.cc$")},
  };
  return libraries;
}

struct Port {
  std::string name;
  std::vector<std::string> words;  // one of them is in whatever `use` matches
  std::regex use;
};

// What reaches outside. Only base/ does; everybody else gets a port through a constructor.
const std::vector<Port>& Ports() {
  static const std::vector<Port> ports = {
      {"clock",
       {"_clock", "clock_", "time"},
       std::regex(R"((steady|system|high_resolution)_clock|\b(clock_gettime|gettimeofday|localtime|gmtime)(_r)?\s*\()"
                  R"(|\bstd::time\s*\(|\btime\s*\(\s*(nullptr|NULL|0)\s*\))")},
      {"sleep", {"sleep"}, std::regex(R"(\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\()")},
      {"thread",
       {"std::", "pthread_create", "detach"},
       std::regex(R"(\bstd::(jthread|async)\b|\bstd::thread\b(?!::)|\bpthread_create\b|\.detach\s*\()")},
      {"random number",
       {"std::", "rand", "getentropy"},
       std::regex(R"(\bstd::(random_device|mt19937|rand|minstd_rand)\b|\b(srand|getrandom|getentropy)\s*\()")},
      {"environment", {"getenv"}, std::regex(R"(\b(secure_)?getenv\s*\()")},
      {"disk",
       {"open", "creat", "fsync", "fdatasync", "rename", "unlink", "mk", "flock", "fstream", "std::filesystem"},
       std::regex(R"((^|[^.\w>])(open|openat|creat|fopen|fsync|fdatasync|rename|unlink|mkdir|mkdtemp|mkstemp)\s*\()"
                  R"(|\bflock\s*\(|\bstd::(basic_)?[io]?fstream\b|\bstd::filesystem\b)")},
  };
  return ports;
}

}  // namespace

Violations CheckIncludeDirection(const SourceFile& file) {
  Violations violations;
  if (!file.is_cpp()) return violations;
  const auto allowed = Direction().find(file.folder());
  for (const Include& include : IncludesOf(file)) {
    if (!include.quoted || include.path.ends_with(".pb.h") || include.path.ends_with(".tab.h")) continue;
    const bool known = Direction().contains(include.path.substr(0, include.path.find('/')));
    if (IsTest(file)) {
      if (known || include.path.starts_with("tests/") || include.path.starts_with("bench/")) continue;
    } else if (allowed == Direction().end() || std::ranges::any_of(allowed->second, [&](const std::string& p) {
                 return include.path.starts_with(p);
               })) {
      continue;
    }
    violations.push_back({"include-direction", file.path, include.line, include.path, 0,
                          "base <- state <- checkpoint <- operators <- connectors <- jobs; paths start at the root"});
  }
  return violations;
}

Violations CheckLibraries(const SourceFile& file) {
  Violations violations;
  if (!file.is_cpp() || IsTest(file)) return violations;
  for (const Include& include : IncludesOf(file)) {
    for (const Library& library : Libraries()) {
      if (!std::regex_search(include.path, library.header) || std::regex_search(file.path, library.files)) continue;
      violations.push_back({"library", file.path, include.line, include.path, 0,
                            library.name + " is included by the files that tests/tidy/rules_structure.cc lists"});
    }
  }
  return violations;
}

Violations CheckPorts(const SourceFile& file) {
  Violations violations;
  if (!file.is_cpp() || IsTest(file) || file.folder() == "base") return violations;
  const std::string code = WithoutPreprocessor(CodeOnly(file.text));
  int number = 0;
  for (const std::string_view line : Lines(code)) {
    ++number;
    for (const Port& port : Ports()) {
      if (!HoldsOneOf(line, port.words)) continue;
      std::cmatch match;
      if (!std::regex_search(line.data(), line.data() + line.size(), match, port.use)) continue;
      violations.push_back(
          {"port", file.path, number, match.str(), 0, "the " + port.name + " is reached through base/"});
    }
  }
  return violations;
}

Violations CheckHeaders(const SourceFile& file) {
  Violations violations;
  if (!file.is_header()) return violations;
  if (!file.text.starts_with("//")) {
    violations.push_back({"header-comment", file.path, 1, file.name(), 0,
                          "a header opens with what it is, who calls it on which thread, what it never does"});
  }
  if (CodeOnly(file.text).find("#pragma once") == std::string::npos) {
    violations.push_back({"pragma-once", file.path, 1, file.name(), 0, "a header has #pragma once"});
  }
  return violations;
}

Violations CheckDeadFiles(const std::vector<SourceFile>& tree) {
  static const std::regex source_pattern(R"([\w./-]+\.cc\b)");
  std::set<std::string> named;
  for (const SourceFile& file : tree) {
    if (file.name() != "CMakeLists.txt" && !file.path.ends_with(".cmake")) continue;
    const std::filesystem::path folder = std::filesystem::path(file.path).parent_path();
    for (auto match = std::sregex_iterator(file.text.begin(), file.text.end(), source_pattern);
         match != std::sregex_iterator(); ++match) {
      // "${PROJECT_SOURCE_DIR}/tests/x.cc" leaves "/tests/x.cc", from the root; others are from the folder.
      const std::string text = (*match)[0];
      const bool from_root = match->prefix().str().ends_with("${PROJECT_SOURCE_DIR}");
      const std::string relative = text.substr(text.starts_with('/') ? 1 : 0);
      named.insert((from_root ? std::filesystem::path(relative) : folder / relative).lexically_normal().string());
    }
  }
  Violations violations;
  for (const SourceFile& file : tree) {
    if (!file.path.ends_with(".cc") || named.contains(file.path)) continue;
    violations.push_back({"dead-file", file.path, 1, file.name(), 0, "no build file of CMake names it"});
  }
  return violations;
}

Violations CheckFaultSites(const std::vector<SourceFile>& tree) {
  static const std::regex listed_pattern("^    \"([a-z.-]+)\",$");
  static const std::regex reached_pattern("FAULT_SITE\\(\"([^\"]*)\"\\)");
  Violations violations;
  const auto list = std::ranges::find(tree, "base/fault_site.cc", &SourceFile::path);
  if (list == tree.end()) return violations;
  std::map<std::string, int> listed;
  int number = 0;
  for (const std::string_view line : Lines(list->text)) {
    ++number;
    std::cmatch match;
    if (std::regex_search(line.data(), line.data() + line.size(), match, listed_pattern)) listed[match[1]] = number;
  }
  std::set<std::string> reached;
  for (const SourceFile& file : tree) {
    if (!file.is_cpp() || IsTest(file) || file.path == "base/fault_site.h") continue;
    for (auto match = std::sregex_iterator(file.text.begin(), file.text.end(), reached_pattern);
         match != std::sregex_iterator(); ++match) {
      reached.insert((*match)[1]);
      if (listed.contains((*match)[1])) continue;
      violations.push_back({"fault-site", file.path, LineAt(file.text, static_cast<size_t>(match->position())),
                            (*match)[1], 0, "base/fault_site.cc lists all sites"});
    }
  }
  for (const auto& [site, line] : listed) {
    if (reached.contains(site)) continue;
    violations.push_back({"fault-site", list->path, line, site, 0, "a listed site is reached somewhere"});
  }
  return violations;
}

}  // namespace weir::tidy
