// Every file of the newest checkpoint is damaged in every way that a disk or a hand has been seen to do it. The job
// must find out and either go on exactly from an older checkpoint or stop with one error: it never takes wrong bytes
// and never starts empty.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "tests/checkpoint/fake_job.h"

namespace weir::checkpoint {
namespace {

constexpr const char* kRoot = "/storage/count";

struct World {
  explicit World(bool applied) : system("kafka") {
    job = NewJob();
    EXPECT_TRUE(job->Start().ok());
    Round(5);
    Round(5);
    system.up = applied;  // else no marker names the newest
    Round(5);
    newest = *job->storage().LoadMetadata(4);
    older = *job->storage().LoadMetadata(3);
    job.reset();
    system.up = true;
  }
  std::unique_ptr<FakeJob> NewJob() {
    auto made = std::make_unique<FakeJob>(machine, std::vector<FakeSystem*>{&system});
    made->options.interval = std::chrono::minutes(60);
    return made;
  }
  void Round(uint64_t rows) {
    job->Emit(rows);
    job->Checkpoint();
  }
  // The files of the newest that no older checkpoint needs, and its metadata.
  std::vector<std::string> OwnFiles() const {
    std::vector<std::string> files = {"chk-4/_metadata"};
    for (const state::StateFile& file : newest.StateFiles()) {
      bool shared = false;
      for (const state::StateFile& other : older.StateFiles()) shared = shared || other.path == file.path;
      if (!shared) files.push_back(file.path);
    }
    return files;
  }

  Machine machine{21};
  FakeSystem system;
  std::unique_ptr<FakeJob> job;
  CheckpointMetadata newest;
  CheckpointMetadata older;
};

using Damage = std::function<void(World&, const std::string& path)>;

Damage Edit(std::function<void(std::string&)> edit) {
  return [edit = std::move(edit)](World& world, const std::string& path) {
    ASSERT_TRUE(world.machine.fs.Damage(path, edit).ok());
  };
}

std::vector<std::pair<std::string, Damage>> Damages() {
  std::vector<std::pair<std::string, Damage>> all = {
      {"cut to 0", Edit([](std::string& bytes) { bytes.clear(); })},
      {"cut to 1", Edit([](std::string& bytes) { bytes.resize(1, '#'); })},
      {"cut to half", Edit([](std::string& bytes) { bytes.resize(bytes.size() / 2); })},
      {"cut by one", Edit([](std::string& bytes) { bytes.pop_back(); })},
      {"one byte more", Edit([](std::string& bytes) { bytes += '\0'; })},
      {"removed", [](World& world, const std::string& path) { ASSERT_TRUE(world.machine.fs.Remove(path).ok()); }},
      {"first bit", Edit([](std::string& bytes) { bytes[0] = static_cast<char>(bytes[0] ^ 1); })},
      {"last bit", Edit([](std::string& bytes) { bytes.back() = static_cast<char>(bytes.back() ^ 0x80); })},
      {"middle bit",
       Edit([](std::string& bytes) { bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x10); })}};
  all.emplace_back("swapped with an older one", [](World& world, const std::string& path) {
    const bool is_metadata = path.ends_with("_metadata");
    const std::string other =
        std::string(kRoot) + "/" + (is_metadata ? "chk-3/_metadata" : world.older.StateFiles().front().path);
    const std::string bytes = *ReadFile(world.machine.fs, other);
    ASSERT_TRUE(world.machine.fs.Damage(path, [&bytes](std::string& content) { content = bytes; }).ok());
  });
  return all;
}

class DamagedCheckpointTest : public testing::TestWithParam<bool> {
 protected:
  DamagedCheckpointTest() { SetLogLevel(LogLevel::kError); }
  ~DamagedCheckpointTest() override { SetLogLevel(LogLevel::kInfo); }
};

TEST_P(DamagedCheckpointTest, NeverGoesUnnoticed) {
  const bool applied = GetParam();
  size_t cases = 0;
  for (const auto& [name, damage] : Damages()) {
    const size_t files = World(applied).OwnFiles().size();
    ASSERT_EQ(files, 2U);
    for (size_t i = 0; i < files; ++i) {
      World world(applied);
      const std::string file = world.OwnFiles()[i];
      SCOPED_TRACE(name + ": " + file);
      damage(world, std::string(kRoot) + "/" + file);
      const uint64_t rows = world.system.rows.size();
      auto job = world.NewJob();
      const Status status = job->Start();
      ++cases;
      if (applied) {
        EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.ToString();
        EXPECT_EQ(world.system.rows.size(), rows);
        continue;
      }
      ASSERT_TRUE(status.ok()) << status.ToString();
      EXPECT_EQ(job->restored().checkpoint->id.number, 3U);
      EXPECT_EQ(job->offset(), 10U);
      job->Emit(7);
      EXPECT_EQ(job->Checkpoint(), 5U);
      EXPECT_EQ(world.system.rows.size(), 17U);
      EXPECT_EQ(world.system.broken, "");
      const bool is_aborted_now = name == "removed" && file.ends_with("_metadata");
      EXPECT_EQ(Exists(world.machine.fs, std::string(kRoot) + "/chk-4.damaged"), !is_aborted_now);
    }
  }
  EXPECT_EQ(cases, 20U);
}

INSTANTIATE_TEST_SUITE_P(AppliedOrNot, DamagedCheckpointTest, testing::Bool(),
                         [](const auto& parameter) { return parameter.param ? "Applied" : "NotApplied"; });

TEST_F(DamagedCheckpointTest, ASystemThatIsDownKeepsADamagedCheckpointFromBeingPassedOver) {
  World world(false);
  ASSERT_TRUE(world.machine.fs.Remove(std::string(kRoot) + "/" + world.OwnFiles()[1]).ok());
  world.system.up = false;
  EXPECT_EQ(world.NewJob()->Start().code(), StatusCode::kUnavailable);
  world.system.up = true;
  EXPECT_TRUE(world.NewJob()->Start().ok());
}

TEST_F(DamagedCheckpointTest, AFileThatAllCheckpointsShareStopsTheJob) {
  World world(true);
  const std::string shared = world.older.StateFiles().front().path;
  ASSERT_TRUE(
      world.machine.fs.Damage(std::string(kRoot) + "/" + shared, [](std::string& bytes) { bytes[0] = '9'; }).ok());
  const Status status = world.NewJob()->Start();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(shared), std::string::npos) << status.ToString();
}

// Without systems no marker remembers that there was something.
TEST_F(DamagedCheckpointTest, AJobWithoutSystemsDoesNotStartEmptyEither) {
  Machine machine(22);
  const auto new_job = [&machine] { return std::make_unique<FakeJob>(machine, std::vector<FakeSystem*>{}); };
  auto job = new_job();
  ASSERT_TRUE(job->Start().ok());
  job->Emit(5);
  job->Checkpoint();
  job.reset();
  for (const char* number : {"1", "2"}) {
    ASSERT_TRUE(machine.fs.Remove(std::string(kRoot) + "/chk-" + number + "/_metadata").ok());
  }
  const Status status = new_job()->Start();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("has had checkpoints and none is left"), std::string::npos) << status.ToString();
  RestoreRequest none;
  none.from = RestoreRequest::From::kNone;
  job = new_job();
  ASSERT_TRUE(job->Start(none).ok());
  EXPECT_EQ(job->restored().checkpoint->id.number, 3U);
}

TEST_F(DamagedCheckpointTest, TheStoragesIdentityIsNotMadeAnewBesideCheckpoints) {
  World world(true);
  const std::string path = std::string(kRoot) + "/storage-id";
  ASSERT_TRUE(world.machine.fs.Damage(path, [](std::string& bytes) { bytes.resize(7); }).ok());
  EXPECT_EQ(world.NewJob()->Start().code(), StatusCode::kCorruption);
  ASSERT_TRUE(world.machine.fs.Remove(path).ok());
  EXPECT_EQ(world.NewJob()->Start().code(), StatusCode::kCorruption);
}

TEST_F(DamagedCheckpointTest, AForeignCheckpointFolderIsNotOurs) {
  World world(false);
  Machine other(23);
  FakeSystem system("kafka");
  {
    FakeJob foreign(other, {&system});
    ASSERT_TRUE(foreign.Start().ok());
    foreign.Emit(3);
    for (int i = 0; i < 8; ++i) foreign.Checkpoint();
    const std::string bytes = *ReadFile(other.fs, std::string(kRoot) + "/chk-9/_metadata");
    ASSERT_TRUE(world.machine.fs.CreateDirectories(std::string(kRoot) + "/chk-9").ok());
    ASSERT_TRUE(WriteFileDurably(world.machine.fs, std::string(kRoot) + "/chk-9/_metadata", bytes).ok());
  }
  auto job = world.NewJob();
  ASSERT_TRUE(job->Start().ok());
  EXPECT_EQ(job->restored().checkpoint->id.number, 4U);
  EXPECT_NE(job->restored().report[0].text.find("does not belong here"), std::string::npos);
}

}  // namespace
}  // namespace weir::checkpoint
