// A schema registry of the tests' own: an HTTP server on a loopback port that knows the schemas it is given, as
// Confluent's answers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace weir {

class TestSchemaRegistry {
 public:
  TestSchemaRegistry();
  ~TestSchemaRegistry();

  std::string url() const;
  // Its id, from 1.
  uint32_t Add(const std::string& schema);
  // From now on who asks must say so.
  void RequireLogin(const std::string& username, const std::string& password);
  // The next answers, whatever is asked; status 0: as it is.
  void Answer(int status, const std::string& body);
  // No answer before Release or the end.
  void Hold();
  void Release();
  uint64_t requests() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weir
