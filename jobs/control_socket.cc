#include "jobs/control_socket.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <utility>

#include "base/process.h"

namespace weir::jobs {
namespace {

using Json = nlohmann::json;

constexpr const char* kName = "control.sock";

std::string ToLine(const Json& message) { return message.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::optional<ControlRequest> ParseRequest(const std::string& line) {
  const Json message = Json::parse(line, nullptr, false);
  if (!message.is_object() || !message.contains("command")) return std::nullopt;
  const auto flag = [&message](const char* name) {
    const auto found = message.find(name);
    return found != message.end() && found->is_boolean() && found->get<bool>();
  };
  ControlRequest request{.savepoint_folder = {}, .stop = flag("stop"), .drain = flag("drain")};
  if (message["command"] == "stop") {
    request.stop = true;
    return request;
  }
  const auto folder = message.find("folder");
  if (message["command"] != "savepoint" || folder == message.end() || !folder->is_string()) return std::nullopt;
  request.savepoint_folder = folder->get<std::string>();
  if (!request.savepoint_folder.starts_with('/')) return std::nullopt;
  return request;
}

std::string Answer(const std::string& line, ControlHandler& handler) {
  Json answer = {{"ok", false}, {"pid", ProcessId()}};
  const std::optional<ControlRequest> request = ParseRequest(line);
  if (!request.has_value()) {
    answer["error"] = "invalid argument: not a request that this version knows";
    return ToLine(answer);
  }
  const Result<uint64_t> done = handler(*request);
  if (done.has_value()) {
    answer["ok"] = true;
    answer["checkpoint"] = *done;
  } else {
    answer["error"] = done.error().ToString();
  }
  return ToLine(answer);
}

}  // namespace

Result<std::unique_ptr<LocalSocketServer>> ServeControl(const std::string& folder, WorkerFactory& workers,
                                                        ControlHandler handler) {
  return LocalSocketServer::Start(
      folder, kName, workers,
      [handler = std::move(handler)](const std::string& line) mutable { return Answer(line, handler); });
}

Result<ControlAnswer> AskJob(const std::string& folder, const ControlRequest& request) {
  Json message = {{"command", request.savepoint_folder.empty() ? "stop" : "savepoint"}, {"drain", request.drain}};
  if (!request.savepoint_folder.empty()) {
    message["folder"] = request.savepoint_folder;
    message["stop"] = request.stop;
  }
  WEIR_ASSIGN_OR_RETURN(const std::string line, AskLocalSocket(folder, kName, ToLine(message)));
  const Json answer = Json::parse(line, nullptr, false);
  if (!answer.is_object() || !answer.contains("ok") || !answer["ok"].is_boolean()) {
    return Error(Status::Internal("the job's answer is none: " + line));
  }
  if (!answer["ok"].get<bool>()) return Error(Status::Unavailable(answer.value("error", "?")));
  return ControlAnswer{.pid = answer.value("pid", int64_t{0}), .checkpoint = answer.value("checkpoint", uint64_t{0})};
}

}  // namespace weir::jobs
