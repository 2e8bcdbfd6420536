#include "base/http_server.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/harness/http_request.h"

namespace weir {
namespace {

using harness::GetHttp;
using harness::HttpReply;
using harness::SendHttp;

class HttpServerTest : public testing::Test {
 protected:
  void Start(HttpBounds bounds = {}) {
    auto server = HttpServer::Start({}, bounds, *workers_, clock_, [this](std::string_view path) {
      ++asked_;
      if (path == "/here") return HttpAnswer{.body = "it is here\n"};
      if (path == "/large") return HttpAnswer{.body = std::string(5'000'000, 'x')};
      return HttpAnswer{.code = 404, .body = "nothing\n"};
    });
    ASSERT_TRUE(server.has_value()) << server.error().ToString();
    server_ = std::move(*server);
  }
  uint16_t port() const { return server_->port(); }

  SystemClock clock_;
  std::unique_ptr<WorkerFactory> workers_ = NewThreadWorkerFactory();
  std::atomic<int> asked_ = 0;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersGetAndHead) {
  Start();
  EXPECT_EQ(server_->address(), "127.0.0.1:" + std::to_string(port()));
  EXPECT_TRUE(server_->is_loopback());
  const HttpReply got = GetHttp(port(), "/here?a=b");
  EXPECT_EQ(got.code, 200);
  EXPECT_EQ(got.body, "it is here\n");
  EXPECT_NE(got.head.find("Content-Length: 11\r\n"), std::string::npos) << got.head;
  const HttpReply head = GetHttp(port(), "/here", "HEAD");
  EXPECT_EQ(head.code, 200);
  EXPECT_EQ(head.head, got.head);
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(GetHttp(port(), "/large").body.size(), 5'000'000U);
}

TEST_F(HttpServerTest, OtherMethodsAreRefusedWithoutTheHandler) {
  Start();
  for (const std::string method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW", "get"}) {
    const HttpReply reply = GetHttp(port(), "/here", method);
    EXPECT_EQ(reply.code, 405) << method;
    EXPECT_NE(reply.head.find("Allow: GET, HEAD"), std::string::npos) << reply.head;
  }
  const std::string body(20'000, 'b');
  EXPECT_EQ(SendHttp(port(), "POST /here HTTP/1.1\r\nContent-Length: 20000\r\n\r\n" + body).code, 405);
  EXPECT_EQ(asked_, 0);
}

// Nothing is decoded, so that nothing can be hidden behind an encoding.
TEST_F(HttpServerTest, case_H70_PathTricksFindNothing) {
  Start();
  for (const std::string path :
       {"/../etc/passwd", "/here/../../etc/passwd", "/%2e%2e/etc/passwd", "/%252e%252e/etc/passwd",
        "/..%2fetc%2fpasswd", "/.%2e/%2e./etc/passwd", "//etc/passwd", "/%2fetc/passwd", "/etc/passwd",
        "/..\\etc\\passwd", "/%68ere", "/here/", "//here", "/./here", "http://localhost/here", "file:///etc/passwd",
        "*", "/here%00", "/HERE"}) {
    const HttpReply reply = GetHttp(port(), path);
    EXPECT_EQ(reply.code, 404) << path;
    EXPECT_EQ(reply.body, "nothing\n") << path;
  }
}

TEST_F(HttpServerTest, WhatIsNotHttpIsRefused) {
  Start();
  for (const std::string bytes : {"\r\n\r\n", "GET /here\r\n\r\n", "hello\r\n\r\n", "GET /here SPDY/3\r\n\r\n"}) {
    EXPECT_EQ(SendHttp(port(), bytes).code, 400) << bytes;
  }
  EXPECT_EQ(asked_, 0);
}

TEST_F(HttpServerTest, ARequestHasABound) {
  Start({.request_bytes_max = 1'000});
  EXPECT_EQ(SendHttp(port(), "GET /" + std::string(2'000, 'a')).code, 431);
  EXPECT_EQ(SendHttp(port(), "GET /here HTTP/1.1\r\nA: " + std::string(2'000, 'a') + "\r\n\r\n").code, 431);
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(GetHttp(port(), "/here").code, 200);
}

TEST_F(HttpServerTest, ASlowClientHoldsUpNobodyAndIsDropped) {
  Start({.connections_max = 2, .patience = std::chrono::milliseconds(300)});
  const int slow = harness::ConnectTo(port());
  ASSERT_GE(slow, 0);
  (void)!send(slow, "GET /he", 7, MSG_NOSIGNAL);
  EXPECT_EQ(GetHttp(port(), "/here").code, 200);
  // With every place taken by clients that say nothing, others wait until those are dropped.
  const int second = harness::ConnectTo(port());
  const int third = harness::ConnectTo(port());
  EXPECT_EQ(GetHttp(port(), "/here").code, 200);
  EXPECT_EQ(harness::ReadToClose(slow), "");
  for (const int each : {slow, second, third}) close(each);
}

TEST_F(HttpServerTest, APortThatIsTakenIsAnError) {
  Start();
  const auto second =
      HttpServer::Start({.port = port()}, {}, *workers_, clock_, [](std::string_view) { return HttpAnswer{}; });
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), StatusCode::kIoError);
  EXPECT_NE(second.error().message().find("127.0.0.1:" + std::to_string(port())), std::string::npos);
  const auto nowhere =
      HttpServer::Start({.host = "no such host"}, {}, *workers_, clock_, [](std::string_view) { return HttpAnswer{}; });
  EXPECT_EQ(nowhere.error().code(), StatusCode::kInvalidArgument);
}

TEST_F(HttpServerTest, EndsWithConnectionsOpen) {
  Start();
  const int open = harness::ConnectTo(port());
  const uint16_t former = port();
  server_.reset();
  EXPECT_EQ(harness::ReadToClose(open), "");
  close(open);
  EXPECT_EQ(GetHttp(former, "/here").code, 0);
}

}  // namespace
}  // namespace weir
