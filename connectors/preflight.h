// What a job would meet in the systems that its sources and sinks name, asked before a start. Reads only: nothing is
// begun, fenced, made or committed there. Each question waits for its system, at most as long as the definition lets a
// request wait. The main thread.
#pragma once

#include <string>
#include <vector>

#include "connectors/register_connectors.h"
#include "operators/options.h"

namespace weir::connectors {

struct PreflightFinding {
  bool ok = false;
  std::string text;  // "topic orders has 3 partitions"
};
using PreflightFindings = std::vector<PreflightFinding>;

// `type` is a source's in the registry, `options` passed its check. Empty: it names no system.
PreflightFindings PreflightSource(const std::string& type, const operators::Options& options,
                                  const ConnectorPorts& ports);
// The same of a sink.
PreflightFindings PreflightSink(const std::string& type, const operators::Options& options,
                                const ConnectorPorts& ports);

}  // namespace weir::connectors
