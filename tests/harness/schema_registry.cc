#include "tests/harness/schema_registry.h"

#include <httplib.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "base/json_escape.h"

namespace weir {

struct TestSchemaRegistry::State {
  httplib::Server server;
  int port = 0;
  std::thread thread;

  std::mutex mutex;
  std::condition_variable released;
  std::map<std::string, std::string> schemas;  // by id
  std::string authorization;                   // empty: none is asked for
  int status = 0;
  std::string body;
  bool hold = false;
  uint64_t requests = 0;

  void Serve(const httplib::Request& request, httplib::Response& response) {
    std::unique_lock lock(mutex);
    ++requests;
    released.wait(lock, [this] { return !hold; });
    response.status = 200;
    if (!authorization.empty() && request.get_header_value("Authorization") != authorization) {
      response.status = 401;
      return;
    }
    if (status != 0) {
      response.status = status;
      response.set_content(body, "text/plain");
      return;
    }
    const auto schema = schemas.find(request.matches[1].str());
    std::string answer = R"({"error_code":40403,"message":"Schema not found"})";
    if (schema == schemas.end()) {
      response.status = 404;
    } else {
      answer = R"({"schema":)";
      AppendJsonString(answer, schema->second);
      answer += '}';
    }
    response.set_content(answer, "application/vnd.schemaregistry.v1+json");
  }
};

TestSchemaRegistry::TestSchemaRegistry() : state_(std::make_unique<State>()) {
  State* const state = state_.get();
  state->server.Get(R"(/schemas/ids/(\d+))", [state](const httplib::Request& request, httplib::Response& response) {
    state->Serve(request, response);
  });
  state->port = state->server.bind_to_any_port("127.0.0.1");
  state->thread = std::thread([state] { state->server.listen_after_bind(); });
}

TestSchemaRegistry::~TestSchemaRegistry() {
  Release();
  // Stop does nothing before the thread listens.
  while (!state_->server.is_running()) std::this_thread::yield();
  state_->server.stop();
  state_->thread.join();
}

std::string TestSchemaRegistry::url() const { return "http://127.0.0.1:" + std::to_string(state_->port); }

uint32_t TestSchemaRegistry::Add(const std::string& schema) {
  const std::lock_guard lock(state_->mutex);
  const auto id = static_cast<uint32_t>(state_->schemas.size() + 1);
  state_->schemas[std::to_string(id)] = schema;
  return id;
}

void TestSchemaRegistry::RequireLogin(const std::string& username, const std::string& password) {
  const std::lock_guard lock(state_->mutex);
  state_->authorization = httplib::make_basic_authentication_header(username, password).second;
}

void TestSchemaRegistry::Answer(int status, const std::string& body) {
  const std::lock_guard lock(state_->mutex);
  state_->status = status;
  state_->body = body;
}

void TestSchemaRegistry::Hold() {
  const std::lock_guard lock(state_->mutex);
  state_->hold = true;
}

void TestSchemaRegistry::Release() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->hold = false;
  }
  state_->released.notify_all();
}

uint64_t TestSchemaRegistry::requests() const {
  const std::lock_guard lock(state_->mutex);
  return state_->requests;
}

}  // namespace weir
