// A POSIX extended regular expression that a topic's whole name must match. Compiled once; matched on any one thread.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace weir::connectors {

class TopicPattern {
 public:
  // InvalidArgument with the library's reason.
  static Result<TopicPattern> Compile(const std::string& pattern);
  bool Matches(const std::string& topic) const;

 private:
  struct Compiled;
  explicit TopicPattern(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace weir::connectors
