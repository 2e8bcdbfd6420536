// Mistakes that the simulator must find, planted around the real code and not in it. Made by SimProcess for one life of
// the process; used on the thread of the schedule.
#pragma once

#include <cstdint>
#include <memory>

#include "base/file_system.h"
#include "base/random.h"
#include "connectors/kafka/client.h"
#include "connectors/postgres/client.h"
#include "operators/registry.h"

namespace weir::simulation {

enum class PlantedBug : uint8_t {
  kNone,
  kSkippedFsync,          // nothing that is synced reaches the disk before the kernel likes
  kEarlyAcknowledgement,  // sources acknowledge upstream what a durable checkpoint holds and not what an applied one
                          // does
  // A committer takes a system to be where it last knew it to be, whatever the marker says after the fence.
  kKafkaMarkerIgnored,
  kPostgresMarkerIgnored,
  // Segments are deleted once their rows were sent, though nobody knows whether they are there.
  kKafkaReleasedEarly,
  kPostgresReleasedEarly,
  kKafkaNotFenced,     // each process has a transactional id of its own
  kPostgresNotFenced,  // the fence leaves the marker's row to its owner and says that this is us
  kPostgresUnproved,   // the first statement of a transaction changes the marker's row whoever owns it
};

// Sync and SyncDirectory say ok and do nothing; the rest is `fs`, which outlives it.
std::unique_ptr<FileSystem> MakeForgetful(FileSystem& fs);

// What was given, with the bug in it if it belongs there. `random` is the process's.
operators::Registry WithPlantedBug(PlantedBug bug, const operators::Registry& registry);
std::unique_ptr<connectors::KafkaClientFactory> WithPlantedBug(PlantedBug bug,
                                                               std::unique_ptr<connectors::KafkaClientFactory> factory,
                                                               const Random& random);
std::unique_ptr<connectors::PostgresClientFactory> WithPlantedBug(
    PlantedBug bug, std::unique_ptr<connectors::PostgresClientFactory> factory);

}  // namespace weir::simulation
