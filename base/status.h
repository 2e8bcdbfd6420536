// The one way Weir reports a failure that can be expected. Any thread may make and read a Status; it is a plain value.
// A broken invariant is not a Status but a WEIR_CHECK (base/check.h). Nothing here throws.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace weir {

enum class StatusCode : uint8_t {
  kOk,
  kInvalidArgument,     // the user's input is wrong: a definition, an option, a record that the policy refuses
  kNotFound,            // the named object does not exist
  kAlreadyExists,       // the named object exists and must not
  kFailedPrecondition,  // the world is not as the request needs it: storage locked, marker unknown, state left over
  kCorruption,          // bytes that were read are not the bytes that were written
  kIoError,             // the disk answered with an error
  kUnavailable,         // an outside system can't be reached now: the only code for which a retry can help
  kCancelled,           // stopped on request
  kResourceExhausted,   // a configured bound was reached and waiting can't help
  kFenced,              // another attempt has taken over
  kInternal,            // a failure of a library that fits nothing above
};

// The code's name as messages print it, for example "invalid argument".
std::string_view StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status Ok() { return {}; }
  static Status InvalidArgument(std::string m) { return {StatusCode::kInvalidArgument, std::move(m)}; }
  static Status NotFound(std::string m) { return {StatusCode::kNotFound, std::move(m)}; }
  static Status AlreadyExists(std::string m) { return {StatusCode::kAlreadyExists, std::move(m)}; }
  static Status FailedPrecondition(std::string m) { return {StatusCode::kFailedPrecondition, std::move(m)}; }
  static Status Corruption(std::string m) { return {StatusCode::kCorruption, std::move(m)}; }
  static Status IoError(std::string m) { return {StatusCode::kIoError, std::move(m)}; }
  static Status Unavailable(std::string m) { return {StatusCode::kUnavailable, std::move(m)}; }
  static Status Cancelled(std::string m) { return {StatusCode::kCancelled, std::move(m)}; }
  static Status ResourceExhausted(std::string m) { return {StatusCode::kResourceExhausted, std::move(m)}; }
  static Status Fenced(std::string m) { return {StatusCode::kFenced, std::move(m)}; }
  static Status Internal(std::string m) { return {StatusCode::kInternal, std::move(m)}; }

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  bool retryable() const { return code_ == StatusCode::kUnavailable; }

  // The same failure with "context: " in front of its message; an ok status stays as it is.
  Status WithContext(std::string_view context) const;

  // "ok", or "<code name>: <message>".
  std::string ToString() const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

template <class T>
using Result = std::expected<T, Status>;

// Lets a Status leave a function that returns a Result: `return Error(status)` or `return
// Error(Status::NotFound(...))`.
inline std::unexpected<Status> Error(Status status) { return std::unexpected<Status>(std::move(status)); }

namespace status_internal {
// Both return types in one macro: a Status converts as it is, a Result through Error.
struct Propagate {
  Status status;
  operator Status() && { return std::move(status); }  // NOLINT(google-explicit-constructor): that is its purpose
  template <class T>
  operator std::expected<T, Status>() && {  // NOLINT(google-explicit-constructor)
    return std::unexpected<Status>(std::move(status));
  }
};
}  // namespace status_internal

}  // namespace weir

#define WEIR_CONCAT_INNER(a, b) a##b
#define WEIR_CONCAT(a, b) WEIR_CONCAT_INNER(a, b)

// Leaves the function (which returns Status or Result) if `expr`, a Status, is not ok.
#define WEIR_RETURN_IF_ERROR(expr)                                        \
  do {                                                                    \
    if (::weir::Status weir_status_ = (expr); !weir_status_.ok()) {       \
      return ::weir::status_internal::Propagate{std::move(weir_status_)}; \
    }                                                                     \
  } while (false)

// `lhs` becomes the value of `expr`, a Result; leaves the function if it holds an error.
#define WEIR_ASSIGN_OR_RETURN(lhs, expr) WEIR_ASSIGN_OR_RETURN_INNER(WEIR_CONCAT(weir_result_, __LINE__), lhs, expr)
#define WEIR_ASSIGN_OR_RETURN_INNER(name, lhs, expr)                                         \
  auto name = (expr);                                                                        \
  if (!name.has_value()) return ::weir::status_internal::Propagate{std::move(name).error()}; \
  lhs = std::move(*name)
