// A child process and what it cost. One thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weir::bench {

struct RunOptions {
  std::vector<std::string> arguments;                            // the program's path first
  std::vector<std::pair<std::string, std::string>> environment;  // besides our own
  std::string output_path;                                       // what it prints; empty: where ours goes
};

struct RunCost {
  bool ok = false;   // exit code 0
  double cpu_s = 0;  // user and system, of the whole process
  double wall_s = 0;
  double peak_mb = 0;  // resident
};

// Comes back when the program has ended.
RunCost RunMeasured(const RunOptions& options);

}  // namespace weir::bench
