// Reads one member out of the text of a JSON object (simdjson, hidden here). A JsonReader belongs to one thread; its
// buffer grows to the longest text seen.
#pragma once

#include <memory>
#include <string_view>

#include "operators/batch.h"
#include "operators/value.h"

namespace weir::operators::expression {

class JsonReader {
 public:
  JsonReader();
  ~JsonReader();
  JsonReader(JsonReader&&) noexcept;
  JsonReader& operator=(JsonReader&&) noexcept;

  enum class Outcome { kFound, kAbsent, kNotAnObject, kBroken };
  // The member of that name: numbers exact, an object or array as kJson, JSON null as kNull. New text goes to `arena`.
  Outcome Read(std::string_view json, std::string_view member, Arena& arena, Value* out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// True for one complete JSON value.
bool IsJson(std::string_view text);

}  // namespace weir::operators::expression
