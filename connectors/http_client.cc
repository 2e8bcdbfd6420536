#include "connectors/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>
#include <mutex>

namespace weir::connectors {
namespace {

struct CurlDelete {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  void operator()(char* text) const { curl_free(text); }
};
template <class T>
using CurlPtr = std::unique_ptr<T, CurlDelete>;

struct Received {
  std::string body;
  uint64_t bytes_max = 0;
  bool too_long = false;
};

size_t Receive(char* bytes, size_t size, size_t count, void* target) {
  auto* received = static_cast<Received*>(target);
  const size_t length = size * count;
  received->too_long = received->body.size() + length > received->bytes_max;
  if (received->too_long) return 0;  // ends the transfer
  received->body.append(bytes, length);
  return length;
}

std::string PartOf(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return {};
  const CurlPtr<char> owned(text);
  return text;
}

}  // namespace

std::optional<std::string> SpeakableUrl(const std::string& url) {
  const CurlPtr<CURLU> parsed(curl_url());
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return std::nullopt;
  const std::string scheme = PartOf(parsed.get(), CURLUPART_SCHEME);
  const std::string host = PartOf(parsed.get(), CURLUPART_HOST);
  if ((scheme != "http" && scheme != "https") || host.empty()) return std::nullopt;
  const std::string port = PartOf(parsed.get(), CURLUPART_PORT);
  return scheme + "://" + host + (port.empty() ? "" : ":" + port) + PartOf(parsed.get(), CURLUPART_PATH);
}

std::string UrlEncoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    if (plain) {
      encoded += c;
    } else {
      encoded += '%';
      encoded += kDigits[byte >> 4U];
      encoded += kDigits[byte & 0xfU];
    }
  }
  return encoded;
}

Result<HttpAnswer> SendHttp(const HttpRequest& request) {
  const std::optional<std::string> name = SpeakableUrl(request.url);
  if (!name.has_value()) return Error(Status::InvalidArgument("not a URL of http or https"));
  static std::once_flag prepared;
  std::call_once(prepared, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  const CurlPtr<CURL> curl(curl_easy_init());
  if (curl == nullptr) return Error(Status::ResourceExhausted(*name + ": no memory for a request"));
  Received received{.body = {}, .bytes_max = request.answer_bytes_max};
  CurlPtr<curl_slist> headers;
  for (const auto& [header, value] : request.headers) {
    headers.reset(curl_slist_append(headers.release(), (header + ": " + value).c_str()));
  }
  const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(curl.get(), option, value); };
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_TIMEOUT_MS,
      static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(request.timeout).count()));
  set(CURLOPT_WRITEFUNCTION, &Receive);
  set(CURLOPT_WRITEDATA, &received);
  if (headers != nullptr) set(CURLOPT_HTTPHEADER, headers.get());
  if (!request.ca_file.empty()) set(CURLOPT_CAINFO, request.ca_file.c_str());
  if (request.basic.has_value()) {
    set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    set(CURLOPT_USERNAME, request.basic->first.c_str());
    set(CURLOPT_PASSWORD, request.basic->second.c_str());
  }
  if (request.body.has_value()) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body->size()));
    set(CURLOPT_POSTFIELDS, request.body->c_str());
  }
  const CURLcode code = curl_easy_perform(curl.get());
  if (received.too_long) {
    return Error(
        Status::ResourceExhausted(*name + ": the answer is above " + std::to_string(received.bytes_max) + " bytes"));
  }
  if (code != CURLE_OK) return Error(Status::Unavailable(*name + ": " + curl_easy_strerror(code)));
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  return HttpAnswer{.status = static_cast<int>(status), .body = std::move(received.body)};
}

}  // namespace weir::connectors
