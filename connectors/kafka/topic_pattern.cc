#include "connectors/kafka/topic_pattern.h"

#include <regex.h>

#include <array>

namespace weir::connectors {

struct TopicPattern::Compiled {
  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    if (valid) regfree(&expression);
  }
  regex_t expression{};
  bool valid = false;
};

Result<TopicPattern> TopicPattern::Compile(const std::string& pattern) {
  auto compiled = std::make_shared<Compiled>();
  const std::string anchored = "^(" + pattern + ")$";
  const int error = regcomp(&compiled->expression, anchored.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error != 0) {
    std::array<char, 256> reason{};
    regerror(error, &compiled->expression, reason.data(), reason.size());
    return weir::Error(Status::InvalidArgument("topic-pattern \"" + pattern + "\": " + reason.data()));
  }
  compiled->valid = true;
  return TopicPattern(std::move(compiled));
}

bool TopicPattern::Matches(const std::string& topic) const {
  return regexec(&compiled_->expression, topic.c_str(), 0, nullptr, 0) == 0;
}

}  // namespace weir::connectors
