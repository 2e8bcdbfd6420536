// What a running job shows over HTTP, for tests. One thread.
#pragma once

#include <cstdlib>
#include <string>

#include "tests/harness/http_request.h"
#include "tests/integration/job_definitions.h"

namespace weir::job_test {

class JobHttp {
 public:
  // Of a process that was started with port 0; waits until it says where it listens.
  explicit JobHttp(Weir& weir) {
    static const std::string kSays = "diagnostics at http://127.0.0.1:";
    Eventually(std::chrono::seconds(30), [&] { return weir.Says(kSays) || !weir.Running(); });
    const std::string output = weir.Output();
    const size_t at = output.find(kSays);
    if (at != std::string::npos) port_ = static_cast<uint16_t>(std::atoi(output.c_str() + at + kSays.size()));
  }
  uint16_t port() const { return port_; }
  harness::HttpReply Get(const std::string& path) const { return harness::GetHttp(port_, path); }
  std::string Metrics() const { return Get("/metrics").body; }
  Json Diagnostics() const { return Json::parse(Get("/diagnostics").body, nullptr, false); }
  bool HealthIs(int code) const {
    return Eventually(std::chrono::seconds(30), [&] { return Get("/health").code == code; });
  }
  // The sum of a metric's samples whose labels hold `labels`; -1: there is none.
  double Metric(const std::string& name, const std::string& labels = "") const {
    double sum = -1;
    for (const std::string& line : LinesOf(Metrics())) {
      const size_t end = line.find_first_of("{ ");
      if (line.substr(0, end) != name || line.find(labels) == std::string::npos) continue;
      sum = (sum < 0 ? 0 : sum) + std::atof(line.c_str() + line.rfind(' '));
    }
    return sum;
  }

 private:
  uint16_t port_ = 0;
};

}  // namespace weir::job_test
