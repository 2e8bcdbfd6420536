// The world of one simulated job: a disk, a Kafka cluster, a PostgreSQL and a clock that outlive it, and a process that
// runs the real code of jobs/ on them, dies at a drawn moment and starts again, until the job has finished. Everything
// follows from the seed.
//
// Some processes do not die but freeze, in the midst of a transaction too, while a successor starts on a copy of the
// disk that has all that was durable by then: a zombie. Calls of its committers may be done while the successor starts,
// and later it goes on beside it, until it finds that it has been taken over.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/random.h"
#include "checkpoint/committer.h"
#include "jobs/job.h"
#include "tests/simulation/applied_offsets.h"
#include "tests/simulation/manual_clock.h"
#include "tests/simulation/planted_bugs.h"
#include "tests/simulation/random_job.h"
#include "tests/simulation/sim_file_system.h"
#include "tests/simulation/sim_kafka.h"
#include "tests/simulation/sim_postgres.h"
#include "tests/simulation/sim_process.h"

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
    bool freezes = false;                     // it does not die at site or step: it becomes a zombie
    bool MayFail() const { return disk_error || free_bytes.has_value(); }
  };
  enum class LifeEnd : uint8_t {
    kDied,
    kFinished,
    kBroken,
    kVanished,
    kUnavailable,  // a start that must sign did not hear whether it has: the next one finds out
    kFrozen,       // a successor takes over, or has done so already
    kLost,         // a table written at least once was out of reach for too long: a restart strategy's to bring back
  };
  struct Zombie {
    std::unique_ptr<SimFileSystem> disk;
    std::unique_ptr<SimProcess> process;
    std::set<std::string> attempts;  // in the markers when it froze: its own
    uint64_t durable = 0;            // number of its newest checkpoint then
    uint64_t frozen_for = 0;         // steps of its successors
    uint64_t durable_seen = 0;
  };

  Death DrawDeath();
  void ArmDeath(const Death& death);
  LifeEnd Live(const Death* death);
  // Asks for a savepoint now and then; each that was told done must be whole from then on, whatever crashes.
  void MaybeAskForSavepoint();
  // A few times the cluster can't be reached for a while, in the midst of whatever it was asked: not before a
  // life's first checkpoint, since a start that can't ask where its splits begin fails.
  void MaybeLoseKafka();
  // Everything outside is well again.
  void Heal();
  // The same of PostgreSQL, whose sessions and transactions also fail one by one then.
  void MaybeLosePostgres();
  void CheckSavepoints();
  std::string StartJob();
  bool StepOnce();
  void AtSite(std::string_view site);
  // From now on nothing more reaches the disk.
  void Crash();
  bool MayFreeze() const;
  bool MayFreezeNow() const;
  // A start did not come up, and the next one may.
  bool MayStartAgain(const std::string& problem) const;
  // Who wrote the markers of the systems.
  std::set<std::string> MarkerAttempts() const;
  void Freeze(bool power);
  // In the midst of a call of the zombie: its successor starts and runs for a while.
  void RunSuccessorWithin();
  void MaybeRunZombie();
  void StepZombie();
  // To its end, which must be that it has been taken over.
  void EndZombie();
  void BuryZombie();
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
  std::optional<checkpoint::Marker> KafkaMarker() const;
  // Of rows that are written at least once: doubled only by a life more.
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
  std::unique_ptr<SimFileSystem> disk_;
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
  int restarts_ = 0;                                // because of that
  std::map<std::string, CheckpointId> savepoints_;  // told done, by folder

  // Of one life of the process.
  std::unique_ptr<SimProcess> process_;
  Death death_;                            // what is armed of it: its site
  std::set<std::string> attempts_before_;  // in the markers before it started
  bool frozen_ = false;                    // within a call of its own
  std::string died_at_;

  std::unique_ptr<Zombie> zombie_;
  bool zombie_runs_ = false;
};

}  // namespace weir::simulation
