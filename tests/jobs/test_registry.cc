#include "tests/jobs/test_registry.h"

namespace weir::jobs {

using operators::OptionSpec;
using operators::OptionType;

operators::Registry TestRegistry() {
  operators::Registry registry;
  operators::RegisterOperators(registry);
  OptionSpec start{"start", OptionType::kEnum, false, "earliest", ""};
  start.choices = {"earliest", "latest"};
  OptionSpec poll{"poll", OptionType::kDuration, false, "100ms", ""};
  poll.min = 1;
  OptionSpec fetch{"fetch", OptionType::kBytes, false, "1MiB", ""};
  fetch.min = 1;
  OptionSpec batch{"batch", OptionType::kInteger, false, "10", ""};
  batch.min = 1;
  batch.max = 100;
  OptionSpec tls{"tls", OptionType::kObject, false, "{}", ""};
  tls.members = {{"verify", OptionType::kBool, false, "true", ""}, {"ca", OptionType::kString, false, "", ""}};
  OptionSpec columns{"columns", OptionType::kObjectMap, false, "", ""};
  columns.members = {{"type", OptionType::kString, true, "", ""}};
  OptionSpec parts{"parts", OptionType::kObjectList, false, "", ""};
  parts.members = {{"at", OptionType::kInteger, true, "", ""}};
  OptionSpec password{"password", OptionType::kString, false, "", ""};
  password.secret = true;
  operators::SourceType source;
  source.name = "feed";
  source.doc = "For tests.";
  source.options = {{"topics", OptionType::kStringList, true, "", ""},
                    start,
                    poll,
                    fetch,
                    batch,
                    tls,
                    columns,
                    parts,
                    password,
                    {"follow", OptionType::kBool, false, "false", ""},
                    {"keep", OptionType::kExpression, false, "", ""},
                    {"properties", OptionType::kStringMap, false, "", ""}};
  source.check = [](const operators::Options& options, operators::Problems& problems) {
    if (!options.Has("password") || options.String("password") != "wrong password") return;
    problems.push_back(
        {options.PathOf("password"), options.String("password"), "another", options.String("password") + " is wrong"});
  };
  source.create = [](const operators::Options&) -> Result<std::unique_ptr<operators::Source>> {
    return Error(Status::Internal("only a type"));
  };
  registry.Add(source);
  operators::SinkType sink;
  sink.name = "shelf";
  sink.doc = "For tests.";
  sink.options = {{"path", OptionType::kString, true, "", ""}, {"extra", OptionType::kExpressionMap, false, "", ""}};
  sink.create = [](const operators::Options&) -> Result<std::unique_ptr<operators::Sink>> {
    return Error(Status::Internal("only a type"));
  };
  registry.Add(sink);
  return registry;
}

}  // namespace weir::jobs
