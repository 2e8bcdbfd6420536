// What becomes of a record that can't be processed: by policy it fails the job, is skipped and counted, or goes to the
// side output "<id>.dead-letter" with its original content and the error. Used by sources and operators on their task's
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "operators/batch.h"
#include "operators/metrics.h"
#include "operators/options.h"
#include "operators/output.h"

namespace weir::operators {

enum class BadRecordPolicy : uint8_t { kFail, kSkip, kDeadLetter };

// The option `on-error`: fail (default), skip or dead-letter.
OptionSpec OnErrorSpec();
BadRecordPolicy OnError(const Options& options);

// topic, partition, offset, key, value, error, uid. `key` and `value` are bytes for a record from outside, and for a
// row the key's and the row's JSON as strings.
SchemaPtr DeadLetterSchema();

struct DeadLetter {
  std::optional<std::string_view> topic;  // or the file's name
  std::optional<int64_t> partition;
  std::optional<int64_t> offset;
  Value key = Value::Null();
  Value value = Value::Null();
  std::string_view error;
  EventTime time;
};

// The bad records of one source or operator.
class BadRecords {
 public:
  BadRecords(std::string uid, BadRecordPolicy policy, SubtaskMetrics* metrics);

  BadRecordPolicy policy() const { return policy_; }
  // Counts the record and keeps its letter, copied, by policy. kFail: InvalidArgument with the error, the topic,
  // partition and offset.
  Status Add(const DeadLetter& letter);
  // The same for a row of an operator's input.
  Status AddRow(const Batch& batch, size_t row, std::string_view error);
  // What was kept leaves; to be called before the operator returns.
  Status EmitTo(Output& output);

 private:
  std::string uid_;
  BadRecordPolicy policy_;
  SubtaskMetrics* metrics_;
  SchemaPtr schema_;
  std::vector<Batch> full_;
  Batch kept_;
};

}  // namespace weir::operators
