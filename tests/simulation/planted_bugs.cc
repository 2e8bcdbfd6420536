#include "tests/simulation/planted_bugs.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/committer.h"
#include "connectors/kafka/group_consumer.h"
#include "operators/sink.h"

namespace weir::simulation {
namespace {

using checkpoint::Committable;
using checkpoint::Committer;
using checkpoint::Marker;
using connectors::KafkaConnection;
using operators::SourceReader;
using operators::SourceSplit;

class ForgetfulFile final : public WritableFile {
 public:
  explicit ForgetfulFile(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
  Status Append(std::string_view data) override { return file_->Append(data); }
  Status Sync() override { return Status::Ok(); }
  Status Close() override { return file_->Close(); }

 private:
  std::unique_ptr<WritableFile> file_;
};

class ForgetfulFileSystem final : public FileSystem {
 public:
  explicit ForgetfulFileSystem(FileSystem& fs) : fs_(fs) {}
  Result<std::unique_ptr<WritableFile>> OpenForWrite(const std::string& path, WriteMode mode) override {
    WEIR_ASSIGN_OR_RETURN(auto file, fs_.OpenForWrite(path, mode));
    return std::make_unique<ForgetfulFile>(std::move(file));
  }
  Result<std::unique_ptr<ReadableFile>> OpenForRead(const std::string& path) override { return fs_.OpenForRead(path); }
  Status Rename(const std::string& from, const std::string& to) override { return fs_.Rename(from, to); }
  Status Link(const std::string& from, const std::string& to) override { return fs_.Link(from, to); }
  Status Remove(const std::string& path) override { return fs_.Remove(path); }
  Status RemoveTree(const std::string& path) override { return fs_.RemoveTree(path); }
  Status CreateDirectories(const std::string& path) override { return fs_.CreateDirectories(path); }
  Result<std::vector<std::string>> List(const std::string& path) override { return fs_.List(path); }
  Status SyncDirectory(const std::string&) override { return Status::Ok(); }
  Result<Info> Stat(const std::string& path) override { return fs_.Stat(path); }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override { return fs_.Lock(path); }
  Result<uint64_t> FreeBytes(const std::string& path) override { return fs_.FreeBytes(path); }

 private:
  FileSystem& fs_;
};

class EarlyReader final : public SourceReader {
 public:
  explicit EarlyReader(std::unique_ptr<SourceReader> reader) : reader_(std::move(reader)) {}
  Status Open(operators::ReaderContext& context) override { return reader_->Open(context); }
  Status AddSplits(std::vector<SourceSplit> splits) override { return reader_->AddSplits(std::move(splits)); }
  void NoMoreSplits() override { reader_->NoMoreSplits(); }
  Result<operators::PollStatus> PollNext(operators::SourceOutput& output) override { return reader_->PollNext(output); }
  std::vector<SourceSplit> SnapshotState(CheckpointId checkpoint) override {
    std::vector<SourceSplit> splits = reader_->SnapshotState(checkpoint);
    // The one before is durable by now; that it is applied nobody has said.
    if (before_.number != 0) (void)reader_->NotifyCheckpointApplied(before_);
    before_ = checkpoint;
    return splits;
  }
  Status NotifyCheckpointApplied(CheckpointId) override { return Status::Ok(); }
  Status HandleEvent(const std::string& event) override { return reader_->HandleEvent(event); }
  std::optional<MonotonicTime> NextDeadline() const override { return reader_->NextDeadline(); }

 private:
  std::unique_ptr<SourceReader> reader_;
  CheckpointId before_;
};

class EarlySource final : public operators::Source {
 public:
  explicit EarlySource(std::unique_ptr<operators::Source> source) : source_(std::move(source)) {}
  Result<std::unique_ptr<operators::SplitEnumerator>> CreateEnumerator() override {
    return source_->CreateEnumerator();
  }
  Result<std::unique_ptr<SourceReader>> CreateReader() override {
    WEIR_ASSIGN_OR_RETURN(auto reader, source_->CreateReader());
    return std::make_unique<EarlyReader>(std::move(reader));
  }
  bool bounded() const override { return source_->bounded(); }

 private:
  std::unique_ptr<operators::Source> source_;
};

class StubbornCommitter final : public Committer {
 public:
  explicit StubbornCommitter(std::unique_ptr<Committer> committer) : committer_(std::move(committer)) {}
  Result<std::optional<Marker>> Peek() override {
    Result<std::optional<Marker>> marker = committer_->Peek();
    if (marker.has_value() && !known_.has_value()) known_ = *marker;
    return marker;
  }
  std::string place() const override { return committer_->place(); }
  Status Fence() override { return committer_->Fence(); }
  Result<std::optional<Marker>> ReadMarker() override {
    WEIR_ASSIGN_OR_RETURN(const std::optional<Marker> found, committer_->ReadMarker());
    return known_.value_or(found);
  }
  Status Verify(std::span<const Committable> listed) override { return committer_->Verify(listed); }
  Status Sign(const Marker& marker, std::span<const Committable> listed) override {
    return Known(marker, committer_->Sign(marker, listed));
  }
  Status Apply(const Marker& marker, std::span<const Committable> committables) override {
    return Known(marker, committer_->Apply(marker, committables));
  }

 private:
  Status Known(const Marker& marker, Status status) {
    if (status.ok()) known_ = marker;
    return status;
  }

  std::unique_ptr<Committer> committer_;
  std::optional<std::optional<Marker>> known_;
};

class HastyCommitter final : public Committer {
 public:
  HastyCommitter(std::unique_ptr<Committer> committer, operators::CommitterContext context)
      : committer_(std::move(committer)), context_(std::move(context)) {}
  Result<std::optional<Marker>> Peek() override { return committer_->Peek(); }
  std::string place() const override { return committer_->place(); }
  Status Fence() override { return committer_->Fence(); }
  Result<std::optional<Marker>> ReadMarker() override { return committer_->ReadMarker(); }
  Status Verify(std::span<const Committable> listed) override { return committer_->Verify(listed); }
  Status Sign(const Marker& marker, std::span<const Committable> listed) override {
    return committer_->Sign(marker, listed);
  }
  Status Apply(const Marker& marker, std::span<const Committable> committables) override {
    const Status status = committer_->Apply(marker, committables);
    for (const Committable& one : committables) {
      (void)context_.file_system->Remove(JoinPath(context_.output_folder, one.segment));
    }
    return status;
  }

 private:
  std::unique_ptr<Committer> committer_;
  const operators::CommitterContext context_;
};

class BadlyCommittedSink final : public operators::Sink {
 public:
  BadlyCommittedSink(std::unique_ptr<operators::Sink> sink, PlantedBug bug) : sink_(std::move(sink)), bug_(bug) {}
  Result<std::unique_ptr<operators::SinkWriter>> CreateWriter() override { return sink_->CreateWriter(); }
  std::string system() const override { return sink_->system(); }
  std::map<std::string, std::string> committer_settings() const override { return sink_->committer_settings(); }
  Result<std::unique_ptr<Committer>> CreateCommitter(const operators::CommitterContext& context) override {
    WEIR_ASSIGN_OR_RETURN(auto committer, sink_->CreateCommitter(context));
    const bool stubborn = bug_ == PlantedBug::kKafkaMarkerIgnored || bug_ == PlantedBug::kPostgresMarkerIgnored;
    if (stubborn) return std::make_unique<StubbornCommitter>(std::move(committer));
    return std::make_unique<HastyCommitter>(std::move(committer), context);
  }

 private:
  std::unique_ptr<operators::Sink> sink_;
  const PlantedBug bug_;
};

class UnfencedKafka final : public connectors::KafkaClientFactory {
 public:
  UnfencedKafka(std::unique_ptr<connectors::KafkaClientFactory> factory, std::string suffix)
      : factory_(std::move(factory)), suffix_(std::move(suffix)) {}
  Status CheckProperty(connectors::KafkaRole role, const std::string& name, const std::string& value) override {
    return factory_->CheckProperty(role, name, value);
  }
  Result<std::unique_ptr<connectors::KafkaConsumer>> NewConsumer(
      const KafkaConnection& connection, const connectors::KafkaClientContext& context) override {
    return factory_->NewConsumer(connection, context);
  }
  Result<std::unique_ptr<connectors::KafkaGroupConsumer>> NewGroupConsumer(
      const KafkaConnection& connection, const connectors::KafkaGroupMembership& membership,
      const connectors::KafkaClientContext& context) override {
    return factory_->NewGroupConsumer(connection, membership, context);
  }
  Result<std::unique_ptr<connectors::KafkaProducer>> NewProducer(
      const KafkaConnection& connection, const connectors::KafkaClientContext& context) override {
    return factory_->NewProducer(connection, context);
  }
  Result<std::unique_ptr<connectors::KafkaAdmin>> NewAdmin(const KafkaConnection& connection,
                                                           Duration timeout) override {
    return factory_->NewAdmin(connection, timeout);
  }
  Result<std::unique_ptr<connectors::KafkaTransactionalProducer>> NewTransactionalProducer(
      const KafkaConnection& connection, const connectors::KafkaTransactionOptions& options,
      const Clock& clock) override {
    connectors::KafkaTransactionOptions changed = options;
    changed.transactional_id += suffix_;
    return factory_->NewTransactionalProducer(connection, changed, clock);
  }
  Result<std::unique_ptr<connectors::KafkaMarkerReader>> NewMarkerReader(const KafkaConnection& connection,
                                                                         Duration timeout,
                                                                         const Clock& clock) override {
    return factory_->NewMarkerReader(connection, timeout, clock);
  }

 private:
  std::unique_ptr<connectors::KafkaClientFactory> factory_;
  const std::string suffix_;
};

struct Misspelling {
  std::string_view right;
  std::string_view wrong;
};

class MisspellingSession final : public connectors::PostgresSession {
 public:
  MisspellingSession(std::unique_ptr<connectors::PostgresSession> session, Misspelling misspelling)
      : session_(std::move(session)), misspelling_(misspelling) {}
  Result<std::vector<connectors::PostgresAnswer>> Execute(
      std::span<const connectors::PostgresStatement> statements) override {
    std::vector<connectors::PostgresStatement> changed(statements.begin(), statements.end());
    for (connectors::PostgresStatement& one : changed) {
      const size_t at = one.sql.find(misspelling_.right);
      if (at != std::string::npos) one.sql.replace(at, misspelling_.right.size(), misspelling_.wrong);
    }
    return session_->Execute(changed);
  }
  const connectors::PostgresRefusal& refusal() const override { return session_->refusal(); }

 private:
  std::unique_ptr<connectors::PostgresSession> session_;
  const Misspelling misspelling_;
};

class MisspellingPostgres final : public connectors::PostgresClientFactory {
 public:
  MisspellingPostgres(std::unique_ptr<connectors::PostgresClientFactory> factory, Misspelling misspelling)
      : factory_(std::move(factory)), misspelling_(misspelling) {}
  Result<connectors::PostgresAddress> AddressOf(const std::string& conninfo) const override {
    return factory_->AddressOf(conninfo);
  }
  Result<std::unique_ptr<connectors::PostgresSession>> Connect(
      const connectors::PostgresConnection& connection) override {
    WEIR_ASSIGN_OR_RETURN(auto session, factory_->Connect(connection));
    return std::make_unique<MisspellingSession>(std::move(session), misspelling_);
  }

 private:
  std::unique_ptr<connectors::PostgresClientFactory> factory_;
  const Misspelling misspelling_;
};

// The connector whose committers have the bug; empty: none.
std::string_view ConnectorOf(PlantedBug bug) {
  switch (bug) {
    case PlantedBug::kKafkaMarkerIgnored:
    case PlantedBug::kKafkaReleasedEarly: return "kafka";
    case PlantedBug::kPostgresMarkerIgnored:
    case PlantedBug::kPostgresReleasedEarly: return "postgres";
    default: return {};
  }
}

// The same type; what `create` made is put into a Wrapped.
template <typename Wrapped, typename Type, typename... More>
Type Wrap(const Type& type, More... more) {
  Type changed = type;
  changed.create = [create = type.create, more...](const operators::Options& options) ->
      typename decltype(Type::create)::result_type {
        WEIR_ASSIGN_OR_RETURN(auto made, create(options));
        return std::make_unique<Wrapped>(std::move(made), more...);
      };
  return changed;
}

}  // namespace

std::unique_ptr<FileSystem> MakeForgetful(FileSystem& fs) { return std::make_unique<ForgetfulFileSystem>(fs); }

operators::Registry WithPlantedBug(PlantedBug bug, const operators::Registry& registry) {
  operators::Registry changed;
  for (const auto& [name, type] : registry.operators()) changed.Add(type);
  for (const auto& [name, type] : registry.sinks()) {
    changed.Add(name == ConnectorOf(bug) ? Wrap<BadlyCommittedSink>(type, bug) : type);
  }
  for (const auto& [name, type] : registry.sources()) {
    changed.Add(bug == PlantedBug::kEarlyAcknowledgement ? Wrap<EarlySource>(type) : type);
  }
  return changed;
}

std::unique_ptr<connectors::KafkaClientFactory> WithPlantedBug(PlantedBug bug,
                                                               std::unique_ptr<connectors::KafkaClientFactory> factory,
                                                               const Random& random) {
  if (bug != PlantedBug::kKafkaNotFenced) return factory;
  return std::make_unique<UnfencedKafka>(std::move(factory), random.Split("unfenced")->NextId().ToString());
}

std::unique_ptr<connectors::PostgresClientFactory> WithPlantedBug(
    PlantedBug bug, std::unique_ptr<connectors::PostgresClientFactory> factory) {
  if (bug == PlantedBug::kPostgresNotFenced) {
    return std::make_unique<MisspellingPostgres>(
        std::move(factory), Misspelling{"owner = gen_random_uuid()", "owner = coalesce(owner, gen_random_uuid())"});
  }
  if (bug == PlantedBug::kPostgresUnproved) {
    return std::make_unique<MisspellingPostgres>(std::move(factory), Misspelling{" AND owner = $2::uuid", ""});
  }
  return factory;
}

}  // namespace weir::simulation
