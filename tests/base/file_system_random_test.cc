// Random operations on a few names, on the machine's disk and on the simulated one: both must answer the same, step by
// step. Finds what nobody thought of writing a case for.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/random.h"
#include "tests/simulation/sim_file_system.h"

namespace weir {
namespace {

constexpr int kSeeds = 20;
constexpr int kSteps = 300;

std::string CodeName(const Status& status) { return std::string(StatusCodeName(status.code())); }

// What a file system answers, as text that does not name its folder.
class Player {
 public:
  Player(FileSystem& fs, std::string folder) : fs_(fs), folder_(std::move(folder)) {}

  std::string Step(Random& random) {
    const std::string one = Name(random);
    const std::string two = Name(random);
    switch (random.Below(13)) {
      case 0: return "create " + Write(one, WriteMode::kCreateNew, random);
      case 1: return "truncate " + Write(one, WriteMode::kTruncate, random);
      case 2: return "append " + Write(one, WriteMode::kAppend, random);
      case 3: return "rename " + one + ' ' + two + ' ' + CodeName(fs_.Rename(At(one), At(two)));
      case 4: return "link " + one + ' ' + two + ' ' + CodeName(fs_.Link(At(one), At(two)));
      case 5: return "remove " + one + ' ' + CodeName(fs_.Remove(At(one)));
      case 6: return random.OneIn(4) ? "remove tree " + one + ' ' + CodeName(fs_.RemoveTree(At(one))) : "nothing";
      case 7: return "mkdir " + one + ' ' + CodeName(fs_.CreateDirectories(At(one)));
      case 8: return "read " + one + ' ' + Content(one);
      case 9: return "list " + one + ' ' + List(one);
      case 10: return "stat " + one + ' ' + Stat(one);
      case 11: return "sync directory " + one + ' ' + CodeName(fs_.SyncDirectory(At(one)));
      default: return "sync " + one + ' ' + CodeName(SyncFile(fs_, At(one)));
    }
  }

 private:
  std::string At(const std::string& name) const { return folder_ + name; }

  static std::string Name(Random& random) {
    constexpr std::array<std::string_view, 3> kNames = {"/a", "/b", "/c"};
    std::string name(kNames.at(random.Below(kNames.size())));
    while (name.size() < 6 && random.OneIn(3)) name += kNames.at(random.Below(kNames.size()));
    return name;
  }

  std::string Write(const std::string& name, WriteMode mode, Random& random) {
    const std::string data = std::to_string(random.Below(100'000));
    auto file = fs_.OpenForWrite(At(name), mode);
    if (!file.has_value()) return name + ' ' + CodeName(file.error());
    const Status appended = (*file)->Append(data);
    return name + ' ' + CodeName(appended) + ' ' + CodeName((*file)->Close());
  }
  std::string Content(const std::string& name) {
    const auto content = ReadFile(fs_, At(name));
    return content.has_value() ? *content : CodeName(content.error());
  }
  std::string List(const std::string& name) {
    const auto names = fs_.List(At(name));
    if (!names.has_value()) return CodeName(names.error());
    std::string all;
    for (const std::string& entry : *names) all += entry + ',';
    return all;
  }
  std::string Stat(const std::string& name) {
    const auto info = fs_.Stat(At(name));
    if (!info.has_value()) return CodeName(info.error());
    return info->directory ? "folder" : std::to_string(info->size_bytes);
  }

  FileSystem& fs_;
  const std::string folder_;
};

TEST(FileSystemRandomTest, TheSimulatedDiskAnswersAsTheRealOne) {
  const std::unique_ptr<FileSystem> posix = NewPosixFileSystem();
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::string folder = (std::filesystem::temp_directory_path() / "weir-fs-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    simulation::SimFileSystem sim(seed);
    ASSERT_TRUE(sim.CreateDirectories("/ground").ok());
    Player real(*posix, folder);
    Player simulated(sim, "/ground");
    SeededRandom real_random(seed);
    SeededRandom sim_random(seed);
    std::string story;
    for (int step = 0; step < kSteps; ++step) {
      const std::string expected = real.Step(real_random);
      story += expected + '\n';
      ASSERT_EQ(simulated.Step(sim_random), expected) << "seed " << seed << " after\n" << story;
    }
    std::filesystem::remove_all(folder);
  }
}

}  // namespace
}  // namespace weir
