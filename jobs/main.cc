// The command line: `weir VERB ...`. Takes arguments apart and calls jobs/commands.h; decides nothing itself.
#include <boost/program_options.hpp>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault_site.h"
#include "base/process.h"
#include "jobs/commands.h"
#include "jobs/operation.h"

namespace po = boost::program_options;

namespace weir::jobs {
namespace {

constexpr int64_t kWorkersMax = 1024;        // threads
constexpr int64_t kDemoRowsMax = 1'000'000;  // more would be trimmed by the mock cluster before they are read

constexpr const char* kUsage =
    "weir - stream processing with exactly-once checkpoints\n"
    "\n"
    "  weir run JOB [options]       run the job of a definition (JSON or YAML)\n"
    "  weir savepoint JOB --to DIR  copy a running job's state to a folder [--stop] [--drain]\n"
    "  weir stop JOB [--drain]      stop a running job after a last checkpoint\n"
    "  weir validate JOB [options]  check a definition and report every problem\n"
    "  weir preflight JOB [options] ask Kafka and PostgreSQL whether the job would find what it needs\n"
    "  weir plan JOB [--from PATH]  what a start from a checkpoint would restore, drop or refuse\n"
    "  weir state VERB PATH ...     look into a checkpoint or savepoint, compare, export, edit: weir state --help\n"
    "  weir import replicator ...   a command line of CockroachDB's replicator as a definition\n"
    "  weir schema                  print the JSON schema of definitions\n"
    "  weir demo [options]          the main job on an embedded Kafka mock, killed and restored\n"
    "  weir VERB --help             what a verb takes\n"
    "  weir --version               which version this is\n"
    "  weir --list-fault-sites      places where WEIR_FAULT=site:nth:kill can end the process\n"
    "\n"
    "Exit codes: 0 finished or stopped; 1 the job failed; 2 wrong usage or definition; 3 start refused;\n"
    "4 taken over by another start; 5 stopped, but output waits for a system; 6 kept failing, gave up restarting;\n"
    "7 of weir plan alone: starts, but state is new or left behind. Of weir preflight: 1 problems.\n";

constexpr const char* kStateUsage =
    "weir state - what is in a checkpoint or savepoint; no job has to run, and none is disturbed\n"
    "\n"
    "  weir state show PATH                  offsets, operators and sizes\n"
    "  weir state diff PATH PATH             what differs: exit code 0 nothing, 1 something\n"
    "  weir state export PATH                every entry as a line of JSON [--operator UID] [--state NAME]\n"
    "\n"
    "Each of these writes a new savepoint to --to DIR, a new or empty folder, and leaves PATH as it is:\n"
    "\n"
    "  weir state set-offset PATH --source UID --split S --offset JSON-or-number --to DIR\n"
    "  weir state drop-operator PATH --operator UID --to DIR\n"
    "  weir state rename-operator PATH --operator OLD --as NEW --to DIR\n"
    "\n"
    "PATH: a checkpoint's folder, its _metadata, or a job's folder, which means its newest checkpoint.\n";

int Code(ExitCode code) { return static_cast<int>(code); }

int Usage(const std::string& problem) {
  std::cerr << "weir: " << problem << "\n\n" << kUsage;
  return Code(ExitCode::kBadUsage);
}

// "path=value" -> pair; the value may hold further '='.
bool SplitPair(const std::string& text, std::pair<std::string, std::string>& out) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  out = {text.substr(0, equals), text.substr(equals + 1)};
  return true;
}

bool ReadDefinition(const po::variables_map& vm, DefinitionArguments& out, std::string& problem) {
  if (vm.count("job") == 0) {
    problem = "the path of a job definition is missing";
    return false;
  }
  out.path = vm["job"].as<std::string>();
  if (vm.count("instance") != 0) {
    out.instance = vm["instance"].as<std::string>();
    if (out.instance.empty()) {
      problem = "--instance expects a name";
      return false;
    }
  }
  if (vm.count("set") == 0) return true;
  for (const std::string& text : vm["set"].as<std::vector<std::string>>()) {
    if (SplitPair(text, out.overrides.emplace_back())) continue;
    problem = "--set expects path=value, found \"" + text + "\"";
    return false;
  }
  return true;
}

// Leaves `out` alone where the option is absent. Signed: the library reads "-1" as the greatest unsigned number.
template <typename Out>
bool ReadNumber(const po::variables_map& vm, const std::string& name, int64_t min, int64_t max, Out& out,
                std::string& problem) {
  if (vm.count(name) == 0) return true;
  const int64_t value = vm[name].as<int64_t>();
  if (value >= min && value <= max) {
    out = static_cast<Out>(value);
    return true;
  }
  problem = "--" + name + " expects a whole number from " + std::to_string(min) + " to " + std::to_string(max) +
            ", found " + std::to_string(value);
  return false;
}

// What a restore does with operators that are not the same in checkpoint and definition.
void AddMatchOptions(po::options_description& options, bool& allow_non_restored_state) {
  options.add_options()("allow-non-restored-state", po::bool_switch(&allow_non_restored_state),
                        "drop the state of operators that the definition lacks")(
      "map-operator", po::value<std::vector<std::string>>(),
      "OLD=NEW: operator NEW of the definition has the state of OLD in the checkpoint; may be repeated");
}

bool ReadMapOperators(const po::variables_map& vm, std::map<std::string, std::string>& out, std::string& problem) {
  if (vm.count("map-operator") == 0) return true;
  for (const std::string& text : vm["map-operator"].as<std::vector<std::string>>()) {
    std::pair<std::string, std::string> pair;
    if (SplitPair(text, pair) && !pair.second.empty() && pair.first != pair.second && out.insert(pair).second) continue;
    problem = "--map-operator expects OLD=NEW, each OLD once, found \"" + text + "\"";
    return false;
  }
  return true;
}

po::variables_map ParseArguments(const std::vector<std::string>& words, const po::options_description& options,
                                 std::initializer_list<const char*> positional) {
  po::positional_options_description positions;
  for (const char* name : positional) positions.add(name, 1);
  po::variables_map vm;
  po::store(po::command_line_parser(words).options(options).positional(positions).run(), vm);
  po::notify(vm);
  return vm;
}

// True if help was asked for, and is printed.
bool PrintHelp(const po::variables_map& vm, const po::options_description& options) {
  if (vm.count("help") == 0) return false;
  std::cout << options;
  return true;
}

void AddDefinitionOptions(po::options_description& options) {
  options.add_options()("job", po::value<std::string>(), "path of the definition")(
      "set", po::value<std::vector<std::string>>(), "override, path=value; may be repeated")(
      "instance", po::value<std::string>(),
      "name of this process among those that share the input of a job with assignment group")("help,h", "this text");
}

// The same command line without --supervise, which the child must not see.
int Supervise(const std::vector<std::string>& words, const std::string& self, const RunArguments& run,
              SignalWaiter& signals) {
  if (run.restore == "none") {
    return Usage(
        "--supervise repeats the command line, and --restore none would begin anew each time: "
        "begin once without --supervise");
  }
  SuperviseArguments arguments;
  arguments.definition = run.definition;
  arguments.command = {self, "run"};
  for (const std::string& word : words) {
    if (word != "--supervise") arguments.command.push_back(word);
  }
  return Code(SuperviseCommand(arguments, signals));
}

int Run(const std::vector<std::string>& words, const std::string& self, SignalWaiter& signals) {
  RunArguments run;
  po::options_description options("weir run JOB [options]");
  AddDefinitionOptions(options);
  options.add_options()(
      "restore", po::value(&run.restore),
      "latest (default), none, or the path of a checkpoint: its folder, its _metadata, or a job's folder")(
      "claim", po::bool_switch(&run.claim),
      "the savepoint that --restore names is the job's: deleted when the job has a checkpoint of its own")(
      "rewind", po::value<int64_t>(), "the newest checkpoint that --restore PATH may give up")(
      "assume", po::value<int64_t>(), "what a system whose marker is missing is taken to have")(
      "drop-output", po::value(&run.drop_output), "a removed system whose waiting output may be dropped")(
      "workers", po::value<int64_t>(), "threads that run tasks (default: cores)")("quiet", po::bool_switch(&run.quiet),
                                                                                  "no status lines")(
      "metrics", po::value<std::string>(),
      "HOST:PORT or PORT of an HTTP server for /metrics, /health and /diagnostics (default: the definition's)")(
      "supervise", "run the job in a child process and start that again when it dies");
  AddMatchOptions(options, run.allow_non_restored_state);
  const po::variables_map vm = ParseArguments(words, options, {"job"});
  if (PrintHelp(vm, options)) return 0;
  std::string problem;
  if (!ReadDefinition(vm, run.definition, problem)) return Usage(problem);
  if (!ReadMapOperators(vm, run.map_operators, problem)) return Usage(problem);
  const bool numbers = ReadNumber(vm, "rewind", 0, INT64_MAX, run.rewind, problem) &&
                       ReadNumber(vm, "assume", 0, INT64_MAX, run.assume, problem) &&
                       ReadNumber(vm, "workers", 1, kWorkersMax, run.workers, problem);
  if (!numbers) return Usage(problem);
  if (vm.count("metrics") != 0) {
    auto address = ParseHttpAddress(vm["metrics"].as<std::string>());
    if (!address.has_value()) return Usage("--metrics: " + address.error().message());
    run.metrics = std::move(*address);
  }
  if (run.claim && (run.restore == "latest" || run.restore == "none")) {
    return Usage("--claim is about the savepoint that --restore PATH names, found --restore " + run.restore);
  }
  if (vm.count("supervise") != 0) return Supervise(words, self, run, signals);
  return Code(RunCommand(run, signals));
}

int Plan(const std::vector<std::string>& words) {
  PlanArguments plan;
  po::options_description options("weir plan JOB [--from PATH] [options]");
  AddDefinitionOptions(options);
  options.add_options()("from", po::value(&plan.from),
                        "a checkpoint's folder, its _metadata, or a job's folder; default: the job's newest one")(
      "json", po::bool_switch(&plan.json), "one JSON object instead of lines for people");
  AddMatchOptions(options, plan.allow_non_restored_state);
  const po::variables_map vm = ParseArguments(words, options, {"job"});
  if (PrintHelp(vm, options)) return 0;
  std::string problem;
  if (!ReadDefinition(vm, plan.definition, problem)) return Usage(problem);
  if (!ReadMapOperators(vm, plan.map_operators, problem)) return Usage(problem);
  return Code(PlanCommand(plan));
}

int Savepoint(const std::vector<std::string>& words) {
  SavepointArguments arguments;
  po::options_description options("weir savepoint JOB --to FOLDER [options]");
  AddDefinitionOptions(options);
  options.add_options()("to", po::value(&arguments.folder), "a new or empty folder for the savepoint")(
      "stop", po::bool_switch(&arguments.stop), "the job stops behind the savepoint")(
      "drain", po::bool_switch(&arguments.drain), "the job ends its input as at its end, and stops for good");
  const po::variables_map vm = ParseArguments(words, options, {"job"});
  if (PrintHelp(vm, options)) return 0;
  std::string problem;
  if (!ReadDefinition(vm, arguments.definition, problem)) return Usage(problem);
  if (arguments.folder.empty()) return Usage("weir savepoint needs --to FOLDER");
  arguments.stop = arguments.stop || arguments.drain;
  return Code(SavepointCommand(arguments));
}

int Stop(const std::vector<std::string>& words) {
  SavepointArguments arguments;
  arguments.stop = true;
  po::options_description options("weir stop JOB [options]");
  AddDefinitionOptions(options);
  options.add_options()("drain", po::bool_switch(&arguments.drain), "the job ends its input first, and stops for good");
  const po::variables_map vm = ParseArguments(words, options, {"job"});
  if (PrintHelp(vm, options)) return 0;
  std::string problem;
  if (!ReadDefinition(vm, arguments.definition, problem)) return Usage(problem);
  return Code(SavepointCommand(arguments));
}

// A verb that takes a definition and nothing else.
int OfDefinition(const std::string& verb, ExitCode (*command)(const DefinitionArguments&),
                 const std::vector<std::string>& words) {
  po::options_description options("weir " + verb + " JOB [options]");
  AddDefinitionOptions(options);
  const po::variables_map vm = ParseArguments(words, options, {"job"});
  if (PrintHelp(vm, options)) return 0;
  DefinitionArguments arguments;
  std::string problem;
  if (!ReadDefinition(vm, arguments, problem)) return Usage(problem);
  return Code(command(arguments));
}

constexpr const char* kPathText = "a checkpoint's folder, its _metadata, or a job's folder: its newest checkpoint";

// `weir state VERB`, its words taken apart.
class StateVerb {
 public:
  StateVerb(const std::string& verb, const std::vector<std::string>& words) : verb_(verb), words_(words) {}

  int Run() {
    if (verb_ == "show") return Show();
    if (verb_ == "diff") return Diff();
    if (verb_ == "export") return Export();
    if (verb_ == "set-offset") return SetOffset();
    if (verb_ == "drop-operator") return DropOperator();
    if (verb_ == "rename-operator") return RenameOperator();
    if (verb_ == "--help" || verb_ == "-h") {
      std::cout << kStateUsage;
      return 0;
    }
    std::cerr << "weir: unknown verb \"state " << verb_ << "\"\n\n" << kStateUsage;
    return Code(ExitCode::kBadUsage);
  }

 private:
  using Texts = std::vector<std::pair<const char*, std::string*>>;

  // Nothing: go on. `needed`: names with where their texts go; a positional one is named as such.
  std::optional<int> Parse(po::options_description& options, std::initializer_list<const char*> positional,
                           const Texts& needed) {
    options.add_options()("help,h", "this text");
    const po::variables_map vm = ParseArguments(words_, options, positional);
    if (PrintHelp(vm, options)) return 0;
    for (const auto& [name, text] : needed) {
      if (!text->empty()) continue;
      std::cerr << "weir: weir state " << verb_ << " lacks " << name << "\n\n" << options;
      return Code(ExitCode::kBadUsage);
    }
    return std::nullopt;
  }

  int Show() {
    std::string path;
    po::options_description options("weir state show PATH");
    options.add_options()("path", po::value(&path), kPathText);
    if (const auto code = Parse(options, {"path"}, {{"PATH", &path}})) return *code;
    return Code(StateShowCommand(path));
  }

  int Diff() {
    std::string first;
    std::string second;
    po::options_description options("weir state diff PATH PATH");
    options.add_options()("first", po::value(&first), kPathText)("second", po::value(&second), "another one");
    if (const auto code = Parse(options, {"first", "second"}, {{"PATH", &first}, {"a second PATH", &second}})) {
      return *code;
    }
    return Code(StateDiffCommand(first, second));
  }

  int Export() {
    StateExportArguments arguments;
    po::options_description options("weir state export PATH [--operator UID] [--state NAME]");
    options.add_options()("path", po::value(&arguments.path), kPathText)(
        "operator", po::value(&arguments.uid), "of this operator alone")("state", po::value(&arguments.state),
                                                                         "the state of this name alone");
    if (const auto code = Parse(options, {"path"}, {{"PATH", &arguments.path}})) return *code;
    return Code(StateExportCommand(arguments));
  }

  // What every edit takes besides.
  static void AddEditOptions(po::options_description& options, StateEditArguments& edit) {
    options.add_options()("path", po::value(&edit.path), kPathText)(
        "to", po::value(&edit.to), "a new or empty folder for the savepoint that is written");
  }

  int SetOffset() {
    StateEditArguments edit;
    StateOffsetArguments offset;
    po::options_description options("weir state set-offset PATH --source UID --split S --offset JSON --to DIR");
    AddEditOptions(options, edit);
    options.add_options()("source", po::value(&offset.source), "the source's id")("split", po::value(&offset.split),
                                                                                  "as weir state show names it")(
        "offset", po::value(&offset.offset), "a number, or JSON of the members of the position that change");
    const auto code = Parse(options, {"path"},
                            {{"PATH", &edit.path},
                             {"--source", &offset.source},
                             {"--split", &offset.split},
                             {"--offset", &offset.offset},
                             {"--to", &edit.to}});
    return code.has_value() ? *code : Code(StateSetOffsetCommand(edit, offset));
  }

  int DropOperator() {
    StateEditArguments edit;
    std::string uid;
    po::options_description options("weir state drop-operator PATH --operator UID --to DIR");
    AddEditOptions(options, edit);
    options.add_options()("operator", po::value(&uid), "whose state goes");
    const auto code = Parse(options, {"path"}, {{"PATH", &edit.path}, {"--operator", &uid}, {"--to", &edit.to}});
    return code.has_value() ? *code : Code(StateDropOperatorCommand(edit, uid));
  }

  int RenameOperator() {
    StateEditArguments edit;
    std::string from;
    std::string to;
    po::options_description options("weir state rename-operator PATH --operator OLD --as NEW --to DIR");
    AddEditOptions(options, edit);
    options.add_options()("operator", po::value(&from), "whose state it is")("as", po::value(&to),
                                                                             "whose it is from then on");
    const auto code =
        Parse(options, {"path"}, {{"PATH", &edit.path}, {"--operator", &from}, {"--as", &to}, {"--to", &edit.to}});
    return code.has_value() ? *code : Code(StateRenameOperatorCommand(edit, from, to));
  }

  const std::string verb_;
  const std::vector<std::string> words_;
};

int State(const std::vector<std::string>& words) {
  if (words.empty()) return StateVerb("", {}).Run();
  return StateVerb(words[0], {words.begin() + 1, words.end()}).Run();
}

int Demo(const std::vector<std::string>& words, const std::string& self, SignalWaiter& signals) {
  DemoArguments demo;
  demo.self = self;
  po::options_description options("weir demo [options]");
  options.add_options()("rows", po::value<int64_t>(), "rows of the changefeed (default 400,000)")(
      "directory", po::value(&demo.directory), "where to keep checkpoints and output (default: temporary)")(
      "help,h", "this text");
  const po::variables_map vm = ParseArguments(words, options, {"directory"});
  if (PrintHelp(vm, options)) return 0;
  std::string problem;
  if (!ReadNumber(vm, "rows", 1, kDemoRowsMax, demo.rows, problem)) return Usage(problem);
  return Code(DemoCommand(demo, signals));
}

int Dispatch(const std::string& self, const std::string& verb, const std::vector<std::string>& words,
             std::optional<SignalWaiter>& signals) {
  if (verb == "run") return Run(words, self, *signals);
  if (verb == "validate") return OfDefinition(verb, &ValidateCommand, words);
  if (verb == "preflight") return OfDefinition(verb, &PreflightCommand, words);
  if (verb == "plan") return Plan(words);
  if (verb == "savepoint") return Savepoint(words);
  if (verb == "stop") return Stop(words);
  if (verb == "state") return State(words);
  if (verb == "schema") return Code(SchemaCommand());
  if (verb == "demo") return Demo(words, self, *signals);
  if (verb == "--list-fault-sites") return Code(ListFaultSitesCommand());
  if (verb == "import") {
    if (words.empty() || words[0] != "replicator") return Usage("weir import replicator '<its command line>'");
    return Code(ImportReplicatorCommand({words.begin() + 1, words.end()}));
  }
  if (verb == "--version") {
    std::cout << "weir " << WEIR_VERSION << "\n";
    return 0;
  }
  if (verb == "--help" || verb == "-h" || verb == "help") {
    std::cout << kUsage;
    return 0;
  }
  return Usage("unknown verb \"" + verb + "\"");
}

// The verbs that a signal stops in order; the others have nothing to put in order.
bool IsStopped(std::string_view verb) { return verb == "run" || verb == "demo"; }

}  // namespace
}  // namespace weir::jobs

// jemalloc reads it before main; the environment's MALLOC_CONF comes on top. Pages that are free go back to the system
// within a second, whichever thread had them: its own default keeps them until that thread allocates again, which shows
// as memory beyond what is configured.
extern "C" {
extern const char* const malloc_conf;
const char* const malloc_conf = "background_thread:true,dirty_decay_ms:1000";
}

int main(int argc, char** argv) {
  std::optional<weir::SignalWaiter> signals;  // first of all: a stop may come at once
  if (argc > 1 && weir::jobs::IsStopped(argv[1])) signals.emplace();
  weir::OpenStandardStreams();
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) {
    std::cerr << weir::jobs::kUsage;
    return static_cast<int>(weir::jobs::ExitCode::kBadUsage);
  }
  try {
    return weir::jobs::Dispatch(argv[0], words[0], {words.begin() + 1, words.end()}, signals);
  } catch (const po::error& e) {
    return weir::jobs::Usage(e.what());
  }
}
