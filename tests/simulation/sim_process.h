// One life of the simulated process: the real code of jobs/ over the simulated ports, on one thread. What it works on,
// the world, outlives it. Destroyed as a process dies: nothing that waits will run. Who kills it makes its disk fail
// first, so that no destructor's last write arrives.
#pragma once

#include <memory>
#include <string>

#include "base/file_system.h"
#include "base/random.h"
#include "jobs/job.h"
#include "tests/simulation/manual_clock.h"
#include "tests/simulation/manual_worker.h"
#include "tests/simulation/planted_bugs.h"
#include "tests/simulation/sim_executor.h"
#include "tests/simulation/sim_file_system.h"
#include "tests/simulation/sim_kafka.h"
#include "tests/simulation/sim_postgres.h"

namespace weir::simulation {

class SimProcess {
 public:
  struct World {
    ManualClock* clock = nullptr;
    SimFileSystem* disk = nullptr;
    SimKafka* kafka = nullptr;
    SimPostgres* postgres = nullptr;
  };

  SimProcess(const World& world, std::unique_ptr<Random> random, PlantedBug bug);
  ~SimProcess();
  SimProcess(const SimProcess&) = delete;
  SimProcess& operator=(const SimProcess&) = delete;

  // Empty, or why the job does not run.
  std::string Start(const std::string& definition);
  // False: it is stuck.
  bool Step();
  // Lets a committer's call that waits be done, and nothing else; nothing if none waits.
  void RunOneCommit() { (void)workers_.RunOneOf("commit"); }

  // Null before Start was well.
  jobs::Job* job() const { return job_.get(); }
  uint64_t trace() const { return executor_.trace(); }

 private:
  class KafkaStep;

  const World world_;
  const std::unique_ptr<Random> random_;
  const std::unique_ptr<FileSystem> planted_;  // in front of the disk
  FileSystem& file_system_;
  ManualWorkerFactory workers_;
  SimExecutor executor_;
  const std::unique_ptr<connectors::KafkaClientFactory> kafka_;
  const std::unique_ptr<connectors::PostgresClientFactory> postgres_;
  operators::Registry registry_;
  const std::unique_ptr<state::LocalStoreFactory> stores_;
  state::StateBudget budget_;
  std::unique_ptr<jobs::Job> job_;
  std::unique_ptr<KafkaStep> kafka_step_;
};

}  // namespace weir::simulation
