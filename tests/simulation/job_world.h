// The world of one simulated job: a disk, a Kafka cluster, a PostgreSQL and a clock that outlive it, and a process that
// runs the real code of jobs/ on them, dies at a drawn moment and starts again, until the job has finished. Everything
// follows from the seed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/random.h"
#include "jobs/job.h"
#include "tests/simulation/applied_offsets.h"
#include "tests/simulation/manual_clock.h"
#include "tests/simulation/manual_worker.h"
#include "tests/simulation/planted_bugs.h"
#include "tests/simulation/random_job.h"
#include "tests/simulation/sim_executor.h"
#include "tests/simulation/sim_file_system.h"
#include "tests/simulation/sim_kafka.h"
#include "tests/simulation/sim_postgres.h"

namespace weir::simulation {

struct WorldOptions {
  uint64_t seed = 0;
  uint32_t crashes = 3;  // deaths before the process is left alone
  PlantedBug bug = PlantedBug::kNone;
};

struct WorldResult {
  std::string failure;                         // empty: as the oracle says
  std::map<std::string, uint64_t> crashes_at;  // "<fault site or kind of moment>, power" or ", process" -> deaths
  uint64_t steps = 0;
  uint64_t starts = 0;
  uint64_t checkpoints = 0;
  uint64_t savepoints = 0;
  uint64_t trace = 0;
};

class JobWorld {
 public:
  JobWorld(WorldOptions options, RandomJob job);
  ~JobWorld();
  JobWorld(const JobWorld&) = delete;
  JobWorld& operator=(const JobWorld&) = delete;

  // To the end, or to the first thing that is wrong.
  WorldResult Run();

 private:
  // How this life of the process ends.
  struct Death {
    std::string site;  // at the nth visit of a fault site; empty: by the other two
    uint64_t nth = 1;
    uint64_t disk_operation = 0;              // at the nth operation on the disk
    uint64_t step = 0;                        // or after so many steps
    bool power = false;                       // the machine dies, not the process alone
    bool disk_error = false;                  // the disk operation fails and nothing dies with it
    std::optional<uint64_t> free_bytes = {};  // or the disk has no more room than this until `step`
    bool MayFail() const { return disk_error || free_bytes.has_value(); }
  };
  enum class LifeEnd : uint8_t {
    kDied,
    kFinished,
    kBroken,
    kVanished,
    kUnavailable,  // a start that must sign did not hear whether it has: the next one finds out
  };

  Death DrawDeath();
  void ArmDeath(const Death& death);
  LifeEnd Live(const Death* death);
  // Asks for a savepoint now and then; each that was told done must be whole from then on, whatever crashes.
  void MaybeAskForSavepoint();
  // A few times the cluster can't be reached for a while, in the midst of whatever it was asked: not before a
  // life's first checkpoint, since a start that can't ask where its splits begin fails.
  void MaybeLoseKafka();
  // The same of PostgreSQL, whose sessions and transactions also fail one by one then.
  void MaybeLosePostgres();
  void CheckSavepoints();
  std::string StartJob();
  bool StepOnce();
  // A known limit (connectors/file/README.md): a sink's folder whose name failed to sync once, and the power then went.
  // A second sync says ok without having done anything, and a folder can't be made anew as a file can. What is wrong is
  // seen: the start is refused.
  bool IsVanishedFolder(const std::string& problem);
  // The job has failed, or could not be started: right only if something on the disk did.
  LifeEnd Failed(const Death* death, const std::string& what);
  void CheckOutput(bool finished);
  SimRows ReadTopic(const std::string& topic);
  SimRows ReadTable(const std::string& table);
  void CheckExact(const std::string& place, const SimRows& found, const SimRows& expected, bool finished);
  // Number of the newest checkpoint whose output the cluster has, 0: none.
  uint64_t KafkaMarker() const;
  void CheckTopic(const std::string& topic, const SimRows& expected, bool finished);
  void CheckAcknowledgements();
  SimRows ReadFolder(const std::string& folder);
  // One line more; false: it is no row.
  bool AddRow(const std::string& line, SimRows& rows);
  void Fail(const std::string& what);
  void Bury(const Death& death);
  void Count(const Death& death);

  const WorldOptions options_;
  const RandomJob job_;
  SeededRandom root_;
  std::unique_ptr<Random> random_;
  ManualClock clock_;
  SimFileSystem disk_;
  std::unique_ptr<FileSystem> planted_;  // in front of the disk
  SimKafka kafka_;
  SimPostgres postgres_;
  WorldResult result_;
  AppliedOffsets applied_offsets_;
  uint64_t commits_checked_ = 0;  // of the groups
  uint64_t durable_seen_ = 0;     // number of a checkpoint
  bool disk_failed_ = false;      // an operation, in this life or one before
  uint64_t savepoints_asked_ = 0;
  std::optional<MonotonicTime> kafka_back_at_;      // while it can't be reached
  std::optional<MonotonicTime> postgres_back_at_;   // the same
  int losses_ = 0;                                  // of either, in this life
  std::map<std::string, CheckpointId> savepoints_;  // told done, by folder

  // Of one life of the process.
  std::unique_ptr<ManualWorkerFactory> workers_;
  std::unique_ptr<SimExecutor> executor_;
  std::unique_ptr<connectors::KafkaClientFactory> clients_;
  std::unique_ptr<connectors::PostgresClientFactory> postgres_clients_;
  std::unique_ptr<operators::Registry> registry_;
  std::unique_ptr<state::LocalStoreFactory> stores_;
  std::unique_ptr<state::StateBudget> budget_;
  std::unique_ptr<Random> job_random_;
  std::unique_ptr<jobs::Job> running_;
  class KafkaStep;
  std::unique_ptr<KafkaStep> kafka_step_;
  std::string died_at_;
};

}  // namespace weir::simulation
