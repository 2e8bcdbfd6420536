#include "base/local_socket.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <future>

namespace weir {
namespace {

class LocalSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "weir-socket-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    top_ = name;
    folder_ = top_ + "/" + std::string(150, 'f');  // longer than a socket's address
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(top_); }
  void Start(LocalSocketServer::Handler handler) {
    auto server = LocalSocketServer::Start(folder_, "sock", *workers_, std::move(handler));
    ASSERT_TRUE(server.has_value()) << server.error().ToString();
    server_ = std::move(*server);
  }

  std::string top_, folder_;
  std::unique_ptr<WorkerFactory> workers_ = NewThreadWorkerFactory();
  std::unique_ptr<LocalSocketServer> server_;
};

TEST_F(LocalSocketTest, AnswersLineByLine) {
  Start([](const std::string& line) { return "<" + line + ">"; });
  for (const std::string line : {"one", "", "\xc3\xa4 \x01", "last"}) {
    const auto answer = AskLocalSocket(folder_, "sock", line);
    ASSERT_TRUE(answer.has_value()) << answer.error().ToString();
    EXPECT_EQ(*answer, "<" + line + ">");
  }
}

TEST_F(LocalSocketTest, OnlyItsUserMayConnect) {
  Start([](const std::string&) { return "yes"; });
  struct stat info{};
  ASSERT_EQ(stat((folder_ + "/sock").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST_F(LocalSocketTest, NobodyThereIsNotFound) {
  EXPECT_EQ(AskLocalSocket(folder_, "sock", "?").error().code(), StatusCode::kNotFound);
  EXPECT_EQ(AskLocalSocket(top_ + "/missing", "sock", "?").error().code(), StatusCode::kNotFound);
  Start([](const std::string&) { return "yes"; });
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/sock"));
  EXPECT_EQ(AskLocalSocket(folder_, "sock", "?").error().code(), StatusCode::kNotFound);
}

TEST_F(LocalSocketTest, ReplacesWhatADeadProcessLeft) {
  Start([](const std::string&) { return "old"; });
  const std::unique_ptr<LocalSocketServer> former = std::move(server_);
  Start([](const std::string&) { return "new"; });
  EXPECT_EQ(AskLocalSocket(folder_, "sock", "?").value_or(""), "new");
}

TEST_F(LocalSocketTest, TheEndWaitsForTheAnswerThatIsBeingMade) {
  std::promise<void> asked;
  std::promise<void> go;
  Start([&](const std::string&) {
    asked.set_value();
    go.get_future().wait();
    return "late";
  });
  auto client = workers_->NewWorker("client");
  std::promise<std::string> answer;
  client->Submit([&] { answer.set_value(AskLocalSocket(folder_, "sock", "?").value_or("none")); });
  asked.get_future().wait();
  auto ending = workers_->NewWorker("ending");
  ending->Submit([&] { server_.reset(); });
  go.set_value();
  EXPECT_EQ(answer.get_future().get(), "late");
  ending.reset();
}

}  // namespace
}  // namespace weir
