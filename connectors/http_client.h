// One HTTP or HTTPS request and its answer (libcurl), for what connectors ask beside their system: a token endpoint, a
// schema registry. Waits, so that it is called on a Worker or on a client library's own thread. No message of it holds
// a header, a body, a password or the part of the URL that may hold one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace weir::connectors {

struct HttpRequest {
  std::string url;                                                // http or https
  std::optional<std::string> body = {};                           // given: POST, otherwise GET
  std::vector<std::pair<std::string, std::string>> headers = {};  // name, value
  std::optional<std::pair<std::string, std::string>> basic = {};  // user name, password
  std::string ca_file = {};                                       // PEM; empty: the system's
  Duration timeout = std::chrono::seconds(10);                    // for all of it
  uint64_t answer_bytes_max = 4 << 20;
};

struct HttpAnswer {
  int status = 0;  // 200, 404, ...
  std::string body;
};

// Any status is an answer; redirections are not followed. Unavailable: no answer within the timeout, and why.
// InvalidArgument: no URL of http or https. ResourceExhausted: a longer body than allowed.
Result<HttpAnswer> SendHttp(const HttpRequest& request);

// Scheme, host, port and path of a URL, for messages; nothing if it is none of http or https.
std::optional<std::string> SpeakableUrl(const std::string& url);

// As in a form's body: letters, digits and -._~ stay, all else becomes %XX.
std::string UrlEncoded(std::string_view text);

}  // namespace weir::connectors
