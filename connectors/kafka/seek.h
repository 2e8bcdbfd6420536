// Where a first start with min-timestamp begins: in each partition at the newest resolved message strictly before that
// time which has no row of that time or later in front of it. All partitions are sought at once, by one consumer.
//
// What makes it right: a row of time T was written at T or later, by the writers' clocks. So nothing that was written
// well before min-timestamp is wanted, and the search begins at the first record that was written `resolved-interval`
// before it. From there it reads up to the first message that is not before min-timestamp; without a resolved message
// in between it goes back step by step, each twice as long. If there is none in any of them, reading begins where the
// search began. Only records before the end at the time of the plan are read, each once at most.
//
// Plan asks the cluster and runs on the enumerator's Worker, all else on the control thread; the one hands over to the
// other through the enumerator's mailbox. Nothing here waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connectors/format/format.h"
#include "connectors/kafka/client.h"
#include "connectors/kafka/options.h"
#include "connectors/kafka/split.h"
#include "operators/source.h"

namespace weir::connectors {

class KafkaSeek {
 public:
  enum class Progress : uint8_t {
    kReading,   // call again when woken, at least each second
    kLogMoved,  // retention was faster: to be planned again
    kDone,      // the splits have their offsets
  };

  // `options` and `factory` outlive it.
  KafkaSeek(const KafkaSourceOptions& options, KafkaClientFactory& factory, std::unique_ptr<Deserializer> deserializer);
  ~KafkaSeek();

  // The partitions that there are. May be called again.
  Result<std::vector<KafkaSplit>> Plan(KafkaAdmin& admin);
  // Of the newest plan.
  Status Start(const operators::EnumeratorContext& context, std::vector<KafkaSplit> splits);
  // Reads one block at most. Unavailable: no answer within the request timeout.
  Result<Progress> Step();
  // After kDone.
  std::vector<KafkaSplit> TakeSplits() { return std::move(splits_); }

 private:
  class TimeReader;
  struct Search;

  Status ReadBlock(const FetchedBlock& block);
  Status ReadRecord(const KafkaRecord& record, Search& search);
  // Goes on in every partition whose present part is read: to the part before it, or to its answer.
  Status Advance();
  Status Finish(uint32_t partition);
  void WarnOfRetention(uint32_t partition) const;
  Status NoAnswer() const;

  // Set once.
  const KafkaSourceOptions& options_;
  KafkaClientFactory& factory_;
  const std::unique_ptr<Deserializer> deserializer_;
  operators::EnumeratorContext context_;
  operators::NamedMetrics unseen_;  // without metrics of the context

  // The worker's thread until Start, then the control thread's.
  std::vector<Search> searches_;  // of the splits, in their order, which is the consumer's too
  int plans_ = 0;

  // The control thread only.
  std::unique_ptr<TimeReader> times_;
  std::vector<KafkaSplit> splits_;
  std::unique_ptr<KafkaConsumer> consumer_;
  std::vector<RecordHeader> headers_;  // of the record that is read
  size_t open_ = 0;                    // searches that are not done
  MonotonicTime moved_;
};

}  // namespace weir::connectors
