// JSON through nlohmann's event parser. Its events carry no position, but it takes its input one character at a time
// from an iterator: ours leaves a mark of how far the parser has read, and the line of a value is counted up to that
// mark.
#include <nlohmann/json.hpp>

#include <iterator>
#include <utility>

#include "jobs/definition_reader.h"

namespace weir::jobs {
namespace {

using operators::RawKind;
using operators::RawValue;

class MarkingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  MarkingIterator(const char* at, const char** mark) : at_(at), mark_(mark) {}
  reference operator*() const { return *at_; }
  MarkingIterator& operator++() {
    *mark_ = ++at_;
    return *this;
  }
  MarkingIterator operator++(int) {
    const MarkingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const MarkingIterator& a, const MarkingIterator& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  const char** mark_;
};

class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(std::string_view text, std::vector<ReadProblem>& problems)
      : mark_(text.data()), counted_to_(text.data()), problems_(problems) {}

  const char** mark() { return &mark_; }
  RawValue& root() { return root_; }

  bool null() override { return Add(RawKind::kNull, {}); }
  bool boolean(bool value) override {
    if (!Add(RawKind::kBool, {})) return false;
    newest_->boolean = value;
    return true;
  }
  bool number_integer(number_integer_t value) override { return Add(RawKind::kNumber, std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Add(RawKind::kNumber, std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return Add(RawKind::kNumber, text); }
  bool string(string_t& value) override { return Add(RawKind::kString, std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return Open(RawKind::kObject); }
  bool start_array(std::size_t) override { return Open(RawKind::kList); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    key_ = std::move(name);
    key_line_ = Line();
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    std::string message = error.what();
    const size_t bracket = message.find("] ");
    if (bracket != std::string::npos) message.erase(0, bracket + 2);
    return Refuse("this is not JSON: " + message);
  }

 private:
  // The line of the character that was read last: the last one of the token, or for a number the one behind it.
  uint64_t Line() {
    for (; counted_to_ + 1 < mark_; ++counted_to_) {
      if (*counted_to_ == '\n') ++line_;
    }
    return line_;
  }

  bool Refuse(std::string message) {
    problems_.push_back({Line(), {"", "", "", std::move(message)}});
    return false;
  }

  bool Add(RawKind kind, std::string text) {
    if (++values_ > kDefinitionValuesMax) return Refuse("the definition holds more than 100000 values");
    RawValue value;
    value.kind = kind;
    value.text = std::move(text);
    value.line = Line();
    if (open_.empty()) {
      root_ = std::move(value);
      newest_ = &root_;
      return true;
    }
    RawValue& parent = *open_.back();
    if (parent.kind == RawKind::kList) {
      parent.list.push_back(std::move(value));
      newest_ = &parent.list.back();
      return true;
    }
    value.line = key_line_;
    if (parent.Find(key_) != nullptr) {
      problems_.push_back({key_line_, {PathOfKey(), "", "each key once", "key \"" + key_ + "\" stands twice"}});
      ignored_.push_back(std::make_unique<RawValue>(std::move(value)));
      newest_ = ignored_.back().get();
      return true;
    }
    parent.members.emplace_back(std::move(key_), std::move(value));
    newest_ = &parent.members.back().second;
    return true;
  }

  // Paths are set once the tree stands; this one is for a problem on the way.
  std::string PathOfKey() const {
    std::string path;
    for (size_t i = 0; i + 1 < open_.size(); ++i) {
      const RawValue& parent = *open_[i];
      path = parent.kind == RawKind::kList ? operators::PathJoin(path, std::to_string(parent.list.size() - 1))
                                           : operators::PathJoin(path, parent.members.back().first);
    }
    return operators::PathJoin(path, key_);
  }

  bool Open(RawKind kind) {
    if (open_.size() >= kDefinitionDepthMax) return Refuse("the definition is nested more than 64 deep");
    if (!Add(kind, {})) return false;
    open_.push_back(newest_);  // stays where it is: nothing is added to its parent before it closes
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  const char* mark_;
  const char* counted_to_;
  uint64_t line_ = 1;
  size_t values_ = 0;
  RawValue root_;
  std::vector<RawValue*> open_;
  RawValue* newest_ = nullptr;
  std::vector<std::unique_ptr<RawValue>> ignored_;
  std::string key_;
  uint64_t key_line_ = 0;
  std::vector<ReadProblem>& problems_;
};

}  // namespace

std::optional<RawValue> ReadJsonDefinition(std::string_view text, std::vector<ReadProblem>& problems) {
  try {
    TreeBuilder builder(text, problems);
    const MarkingIterator first(text.data(), builder.mark());
    const MarkingIterator last(text.data() + text.size(), builder.mark());
    if (!nlohmann::json::sax_parse(first, last, &builder)) return std::nullopt;
    SetPaths(builder.root(), "");
    return std::move(builder.root());
  } catch (const std::exception& error) {
    problems.push_back({0, {"", "", "", std::string("this is not JSON: ") + error.what()}});
    return std::nullopt;
  }
}

}  // namespace weir::jobs
