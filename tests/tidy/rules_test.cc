// Each rule finds a planted violation, and leaves alone what only looks like one.
#include "tests/tidy/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/tidy/exceptions.h"

namespace weir::tidy {
namespace {

std::vector<std::string> Subjects(const Violations& violations) {
  std::vector<std::string> subjects;
  for (const Violation& violation : violations) subjects.push_back(violation.subject);
  return subjects;
}
using Texts = std::vector<std::string>;

std::string Repeat(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(SourceFileTest, BlanksCommentsAndLiteralsAndKeepsLines) {
  EXPECT_EQ(CodeOnly("a; // b\nc"), "a;     \nc");
  EXPECT_EQ(CodeOnly("a /* b\n c */ d"), "a     \n      d");
  EXPECT_EQ(CodeOnly("f(\"x{\\\"}\") + '{'"), "f(\"     \") + ' '");
  EXPECT_EQ(CodeOnly("n = 1'000'000; g()"), "n = 1'000'000; g()");
  EXPECT_EQ(CodeOnly("R\"x(a\n)\" b)x\" + c"), "     \n        + c");
  EXPECT_EQ(CodeOnly("\"// no comment\" z"), "\"             \" z");
}

TEST(SourceFileTest, TakesPreprocessorLinesAway) {
  EXPECT_EQ(WithoutPreprocessor("#define A \\\n  {\nb"), "           \n   \nb");
}

TEST(SourceFileTest, ReadsTheTree) {
  const std::vector<SourceFile> tree = ReadTree(WEIR_SOURCE_DIR);
  Texts paths;
  for (const SourceFile& file : tree) paths.push_back(file.path);
  EXPECT_NE(std::ranges::find(paths, "base/status.h"), paths.end());
  EXPECT_NE(std::ranges::find(paths, "Makefile"), paths.end());
  EXPECT_TRUE(std::ranges::none_of(paths, [](const std::string& p) { return p.starts_with("build/"); }));
}

TEST(IncludeDirectionTest, FindsAnIncludeThatGoesUp) {
  EXPECT_EQ(Subjects(CheckIncludeDirection({"base/a.h", "#include \"state/snapshot.h\"\n"})),
            Texts({"state/snapshot.h"}));
  EXPECT_EQ(Subjects(CheckIncludeDirection({"operators/a.cc", "#include \"connectors/kafka/x.h\"\n"})),
            Texts({"connectors/kafka/x.h"}));
  EXPECT_EQ(Subjects(CheckIncludeDirection({"jobs/a.cc", "#include \"tests/harness/x.h\"\n"})),
            Texts({"tests/harness/x.h"}));
  EXPECT_EQ(Subjects(CheckIncludeDirection({"state/a.cc", "#include \"key_groups.h\"\n"})), Texts({"key_groups.h"}));
}

TEST(IncludeDirectionTest, AllowsSingleHeadersWhereTheWholeFolderIsNot) {
  const std::string text = "#include \"state/snapshot.h\"\n#include \"state/rocksdb_store.h\"\n";
  EXPECT_EQ(Subjects(CheckIncludeDirection({"checkpoint/a.h", text})), Texts({"state/rocksdb_store.h"}));
  const std::string barrier = "#include \"checkpoint/barrier.h\"\n#include \"checkpoint/checkpoint_coordinator.h\"\n";
  EXPECT_EQ(Subjects(CheckIncludeDirection({"connectors/a.h", barrier})),
            Texts({"checkpoint/checkpoint_coordinator.h"}));
}

TEST(IncludeDirectionTest, AllowsTheWayDownAndTestsAll) {
  EXPECT_TRUE(CheckIncludeDirection({"jobs/a.cc", "#include \"base/status.h\"\n#include <vector>\n"}).empty());
  EXPECT_TRUE(CheckIncludeDirection({"tests/a.cc", "#include \"jobs/a.h\"\n#include \"tests/b.h\"\n"}).empty());
}

TEST(LibraryTest, FindsALibraryOutsideItsFiles) {
  for (const std::string include :
       {"rocksdb/db.h", "librdkafka/rdkafka.h", "nlohmann/json.hpp", "simdjson.h", "yaml-cpp/yaml.h", "spdlog/spdlog.h",
        "boost/program_options.hpp", "libpq-fe.h", "google/protobuf/message.h"}) {
    const std::string text = "#include <" + include + ">\n";
    EXPECT_EQ(Subjects(CheckLibraries({"operators/a.cc", text})), Texts({include}));
    EXPECT_TRUE(CheckLibraries({"tests/state/a_test.cc", text}).empty());
  }
  EXPECT_TRUE(CheckLibraries({"base/log.cc", "#include <spdlog/spdlog.h>\n"}).empty());
  EXPECT_TRUE(CheckLibraries({"state/rocksdb_store.cc", "#include <rocksdb/db.h>\n"}).empty());
  EXPECT_FALSE(CheckLibraries({"state/rocksdb_store.h", "#include <rocksdb/db.h>\n"}).empty());
}

TEST(PortTest, FindsWhatReachesOutside) {
  const Texts uses = {"auto t = std::chrono::steady_clock::now();",
                      "std::this_thread::sleep_for(d);",
                      "std::jthread worker(f);",
                      "std::thread worker(f);",
                      "worker.detach();",
                      "std::random_device device;",
                      "const char* v = std::getenv(\"X\");",
                      "int fd = open(path, O_RDONLY);",
                      "if (::fsync(fd) != 0) {}",
                      "std::ofstream out(path);",
                      "std::filesystem::remove(path);",
                      "time(nullptr);"};
  for (const std::string& use : uses) {
    EXPECT_EQ(CheckPorts({"operators/a.cc", use + "\n"}).size(), 1U) << use;
    EXPECT_TRUE(CheckPorts({"base/a.cc", use + "\n"}).empty()) << use;
    EXPECT_TRUE(CheckPorts({"tests/a.cc", use + "\n"}).empty()) << use;
    EXPECT_TRUE(CheckPorts({"operators/a.cc", "// " + use + "\n"}).empty()) << use;
  }
}

TEST(PortTest, LeavesMethodsAndValuesAlone) {
  EXPECT_TRUE(
      CheckPorts({"operators/a.cc", "fs.open(x); fs->rename(a, b); std::thread::id id; lifetime(0);\n"}).empty());
}

TEST(HeaderTest, FindsAMissingCommentAndGuard) {
  EXPECT_EQ(CheckHeaders({"base/a.h", "// What it is.\n#pragma once\n"}).size(), 0U);
  EXPECT_EQ(CheckHeaders({"base/a.h", "#pragma once\n"}).size(), 1U);
  EXPECT_EQ(CheckHeaders({"base/a.h", "// #pragma once\n"}).size(), 1U);
  EXPECT_EQ(CheckHeaders({"base/a.cc", "int x;\n"}).size(), 0U);
}

TEST(DeadFileTest, FindsASourceThatNoBuildFileNames) {
  const std::vector<SourceFile> tree = {
      {"base/CMakeLists.txt", "status.cc"},
      {"base/status.cc", ""},
      {"base/dead.cc", ""},
      {"operators/CMakeLists.txt", "runtime/task.cc"},
      {"operators/runtime/task.cc", ""},
      {"operators/runtime/dead.cc", ""},
      {"tests/a/parts.cmake", "a_test.cc ../harness/side.cc ${PROJECT_SOURCE_DIR}/tests/b/c.cc"},
      {"tests/a/a_test.cc", ""},
      {"tests/b/c.cc", ""},
      {"tests/harness/side.cc", ""}};
  EXPECT_EQ(Subjects(CheckDeadFiles(tree)), Texts({"dead.cc", "dead.cc"}));
}

TEST(FaultSiteRuleTest, FindsSitesThatAreNotListedAndListedOnesThatAreNotReached) {
  const std::string site = std::string("FAULT_") + "SITE";
  const std::vector<SourceFile> tree = {
      {"base/fault_site.cc", "    \"a.reached\",\n    \"b.never\",\n"},
      {"checkpoint/a.cc", site + "(\"a.reached\");\n" + site + "(\"c.unlisted\");\n"}};
  EXPECT_EQ(Subjects(CheckFaultSites(tree)), Texts({"c.unlisted", "b.never"}));
}

TEST(SizeTest, FindsLongFilesAndLines) {
  EXPECT_TRUE(CheckSizes({"base/a.h", Repeat("//\n", 250)}).empty());
  EXPECT_EQ(CheckSizes({"base/a.h", Repeat("//\n", 251)})[0].measure, 251);
  EXPECT_TRUE(CheckSizes({"base/a.cc", Repeat("//\n", 500)}).empty());
  EXPECT_EQ(CheckSizes({"base/a.cc", Repeat("//\n", 501)}).size(), 1U);
  EXPECT_TRUE(CheckSizes({"base/a.cc", Repeat("x", 120) + "\n"}).empty());
  EXPECT_EQ(CheckSizes({"base/a.cc", Repeat("x", 121) + "\n"})[0].rule, "line-length");
  EXPECT_TRUE(CheckSizes({"base/a.cc", "// " + Repeat("ü", 117) + "\n"}).empty());
}

TEST(SizeTest, MeasuresFunctions) {
  const std::string body = Repeat("  x();\n", 69);
  for (const std::string head :
       {"void F() {\n", "template <class A, class B = X<int>>\nA G(int a) const {\n",
        "Foo::Foo(int a) : a_(a), b_{1} {\n", "TEST(Suite, Name) {\n", "auto H() -> std::map<int, int> {\n"}) {
    const std::string text = "namespace a {\nclass B {\n" + head + body + "}\n};\n}\n";
    const Violations violations = CheckSizes({"base/a.cc", text});
    ASSERT_EQ(violations.size(), 1U) << head;
    EXPECT_GE(violations[0].measure, 71) << head;
    EXPECT_EQ(violations[0].line, 3) << head;
  }
  EXPECT_TRUE(CheckSizes({"base/a.cc", "void F() {\n" + Repeat("  x();\n", 68) + "}\n"}).empty());
  EXPECT_TRUE(CheckSizes({"base/a.cc", "struct S {\n" + Repeat("  int x{};\n", 90) + "};\n"}).empty());
  EXPECT_TRUE(CheckSizes({"base/a.cc", Repeat("void F() {\n  x();\n}\n", 60)}).empty());
}

TEST(SizeTest, NamesTheFunction) {
  const std::string body = Repeat("  x();\n", 80) + "}\n";
  EXPECT_EQ(CheckSizes({"base/a.cc", "Status Foo::Bar(int x) {\n" + body})[0].subject, "Foo::Bar");
  EXPECT_EQ(CheckSizes({"base/a.cc", "TEST_F(Suite, Case) {\n" + body})[0].subject, "Suite.Case");
}

TEST(NameTest, FindsWordsThatSayNothing) {
  EXPECT_EQ(CheckNames({"base/string_util.h", ""}).size(), 1U);
  EXPECT_EQ(Subjects(CheckNames({"base/a.h", "class StateManager;\nstruct KafkaHelper {};\nenum class Common {};\n"})),
            Texts({"StateManager", "KafkaHelper", "Common"}));
  EXPECT_TRUE(CheckNames({"base/a.h", "class Task;  // no manager\nint common = 1;\n"}).empty());
}

TEST(WordTest, FindsWhatDoesNotBelong) {
  const auto rules = [](const std::string& path, const std::string& text) {
    Texts found;
    for (const Violation& violation : CheckWords({path, text})) found.push_back(violation.rule);
    return found;
  };
  EXPECT_EQ(rules("base/a.h", std::string("// TO") + "DO: later\n"), Texts({"left-over"}));
  EXPECT_EQ(rules("docs/a.md", std::string("see /ho") + "me/someone/x\n"), Texts({"machine-path"}));
  EXPECT_TRUE(rules("docs/a.md", "GET /metrics, docs/root/xyz, /home/x, https://host/home/xyz\n").empty());
  EXPECT_EQ(rules("base/a.cc", "throw 1;\n"), Texts({"throw"}));
  EXPECT_TRUE(rules("base/a.cc", "// never throw\n").empty());
  EXPECT_EQ(rules("base/a.cc", "using namespace std;\n"), Texts({"using-namespace"}));
  EXPECT_EQ(rules("tests/a.cc", std::string("  GTEST") + "_SKIP();\n"), Texts({"skipped-test"}));
  EXPECT_EQ(rules("base/a.cc", std::string("x(); // NO") + "LINT\n"), Texts({"no-lint"}));
  EXPECT_TRUE(rules("base/a.cc", std::string("x(); // NO") + "LINT(bugprone-x): a reason\n").empty());
}

TEST(JudgeTest, ExcusesWhatIsListedAsLongAsItDoesNotGrow) {
  const Violations found = {{"function-size", "a.cc", 1, "F", 80, ""}, {"function-size", "a.cc", 90, "G", 75, ""}};
  const std::vector<Exception> exceptions = {{"function-size", "a.cc", "F", 80, "one switch"},
                                             {"function-size", "a.cc", "G", 74, "was shorter"},
                                             {"function-size", "a.cc", "H", 90, "is gone"}};
  const Judgement judgement = Judge(found, exceptions);
  EXPECT_EQ(Subjects(judgement.violations), Texts({"G"}));
  ASSERT_EQ(judgement.unused.size(), 2U);
  EXPECT_EQ(judgement.unused[1].subject, "H");
}

}  // namespace
}  // namespace weir::tidy
