// Type name -> what the type is and how to make it. Filled by two explicit functions (RegisterOperators here,
// RegisterConnectors in connectors/), never by static objects. Set up once at start, then read only, any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "operators/operator.h"
#include "operators/options.h"
#include "operators/sink.h"
#include "operators/source.h"

namespace weir::operators {

struct OperatorType {
  std::string name;  // "filter"
  std::string doc;
  std::vector<OptionSpec> options;
  bool needs_key = false;  // the input must come from key_by: the edge is a hash exchange
  bool has_state = false;
  int max_inputs = 1;  // -1: any number
  // Tags of side outputs that other nodes may name as "<id>.<tag>", besides dead-letter; may depend on the options
  // (route).
  std::function<std::vector<std::string>(const Options&)> side_outputs = {};
  // What the specs can't say, e.g. that an expression parses. Appends to `problems`.
  std::function<void(const Options&, Problems& problems)> check = {};
  std::function<Result<std::unique_ptr<Operator>>(const Options&)> create;
};

struct SourceType {
  std::string name;  // "kafka"
  std::string doc;
  std::vector<OptionSpec> options;
  // True: an outside system divides the input among processes, and the source keeps no position. Such a job runs as
  // named instances, keeps nothing in its checkpoints, and `create` finds the instance's name as the option "instance"
  // (absent where the definition is only looked at). Empty: never.
  std::function<bool(const Options&)> divided_outside = {};
  std::function<void(const Options&, Problems& problems)> check = {};
  std::function<Result<std::unique_ptr<Source>>(const Options&)> create;
};

struct SinkType {
  std::string name;
  std::string doc;
  std::vector<OptionSpec> options;
  std::function<void(const Options&, Problems& problems)> check = {};
  std::function<Result<std::unique_ptr<Sink>>(const Options&)> create;
};

class Registry {
 public:
  void Add(OperatorType type);
  void Add(SourceType type);
  void Add(SinkType type);
  // Null if there is no such type.
  const OperatorType* FindOperator(const std::string& name) const;
  const SourceType* FindSource(const std::string& name) const;
  const SinkType* FindSink(const std::string& name) const;
  const std::map<std::string, OperatorType>& operators() const { return operators_; }
  const std::map<std::string, SourceType>& sources() const { return sources_; }
  const std::map<std::string, SinkType>& sinks() const { return sinks_; }

 private:
  std::map<std::string, OperatorType> operators_;
  std::map<std::string, SourceType> sources_;
  std::map<std::string, SinkType> sinks_;
};

// aggregate, deduplicate, filter, key_by, project, route, script, sequence, union.
void RegisterOperators(Registry& registry);

}  // namespace weir::operators
