#include "state/rocksdb_store.h"

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/metadata.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/universal_compaction.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>

#include "base/check.h"

namespace weir::state {
namespace {

// Runs that have not been merged yet; above the second number the writer merges them itself before it goes on.
constexpr int kRunsBeforeCompaction = 8;
constexpr uint64_t kUnmergedRunsMax = 40;
constexpr uint64_t kFileBytes = 32u << 20;
constexpr int kOpenFilesMax = 256;
constexpr size_t kReadaheadBytes = 256u << 10;

rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

Status FromRocksDb(const rocksdb::Status& status, std::string_view what, const std::string& folder) {
  if (status.ok()) return Status::Ok();
  std::string message(what);
  message += " in the local store ";
  message += folder;
  message += ": ";
  message += status.ToString();
  if (status.IsCorruption()) return Status::Corruption(std::move(message));
  if (status.IsIOError()) return Status::IoError(std::move(message));
  return Status::Internal(std::move(message));
}

// The store is rebuilt at every start, so nothing of it needs to survive a power loss; what a snapshot links is synced
// by the snapshot's writer, once. This file system leaves RocksDB's own syncs out.
class UnsyncedFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  explicit UnsyncedFile(std::unique_ptr<rocksdb::FSWritableFile>&& file)
      : rocksdb::FSWritableFileOwnerWrapper(std::move(file)) {}
  rocksdb::IOStatus Sync(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override {
    return rocksdb::IOStatus::OK();
  }
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override {
    return rocksdb::IOStatus::OK();
  }
  rocksdb::IOStatus RangeSync(uint64_t, uint64_t, const rocksdb::IOOptions&, rocksdb::IODebugContext*) override {
    return rocksdb::IOStatus::OK();
  }
};

class UnsyncedDirectory final : public rocksdb::FSDirectory {
 public:
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override {
    return rocksdb::IOStatus::OK();
  }
};

class UnsyncedFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  using rocksdb::FileSystemWrapper::FileSystemWrapper;
  const char* Name() const override { return "UnsyncedFileSystem"; }

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    return Wrap(rocksdb::FileSystemWrapper::NewWritableFile(path, options, file, debug), file);
  }
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file,
                                       rocksdb::IODebugContext* debug) override {
    return Wrap(rocksdb::FileSystemWrapper::ReopenWritableFile(path, options, file, debug), file);
  }
  rocksdb::IOStatus NewDirectory(const std::string&, const rocksdb::IOOptions&,
                                 std::unique_ptr<rocksdb::FSDirectory>* directory, rocksdb::IODebugContext*) override {
    *directory = std::make_unique<UnsyncedDirectory>();
    return rocksdb::IOStatus::OK();
  }

 private:
  static rocksdb::IOStatus Wrap(rocksdb::IOStatus status, std::unique_ptr<rocksdb::FSWritableFile>* file) {
    if (status.ok()) *file = std::make_unique<UnsyncedFile>(std::move(*file));
    return status;
  }
};

rocksdb::Options MakeOptions(const StateBudget& budget, rocksdb::Env* env) {
  rocksdb::LRUCacheOptions cache;
  cache.capacity = budget.store_bytes();
  cache.num_shard_bits = 2;
  cache.high_pri_pool_ratio = 0.3;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(cache);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.block_size = 4096;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.metadata_block_size = 4096;
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.format_version = 5;

  rocksdb::Options options;
  options.env = env;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.write_buffer_manager =
      std::make_shared<rocksdb::WriteBufferManager>(budget.store_bytes() / 8, table.block_cache);
  options.write_buffer_size = 1u << 20;
  options.max_write_buffer_number = 2;
  options.max_open_files = kOpenFilesMax;
  options.max_file_opening_threads = 1;  // a start opens few files: a thread costs more than it saves
  options.max_background_jobs = 2;
  options.compression = rocksdb::kLZ4Compression;
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  options.compaction_options_universal.size_ratio = 20;
  options.compaction_options_universal.min_merge_width = 4;
  options.compaction_options_universal.max_size_amplification_percent = 200;
  options.level0_file_num_compaction_trigger = kRunsBeforeCompaction;
  options.level0_slowdown_writes_trigger = 1 << 20;
  options.level0_stop_writes_trigger = 1 << 20;
  options.target_file_size_base = kFileBytes;
  options.periodic_compaction_seconds = 0;
  options.compaction_readahead_size = kReadaheadBytes;
  options.avoid_flush_during_shutdown = true;
  options.skip_stats_update_on_db_open = true;
  options.skip_checking_sst_file_sizes_on_db_open = true;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.info_log_level = rocksdb::WARN_LEVEL;
  options.keep_log_file_num = 1;
  return options;
}

class RocksDbCursor final : public StoreCursor {
 public:
  RocksDbCursor(std::unique_ptr<rocksdb::Iterator> iterator, std::string folder)
      : iterator_(std::move(iterator)), folder_(std::move(folder)) {}
  bool valid() const override { return iterator_->Valid(); }
  Status status() const override { return FromRocksDb(iterator_->status(), "scan", folder_); }
  std::string_view key() const override { return ToView(iterator_->key()); }
  std::string_view value() const override { return ToView(iterator_->value()); }
  void Next() override { iterator_->Next(); }

 private:
  const std::unique_ptr<rocksdb::Iterator> iterator_;
  const std::string folder_;
};

class RocksDbStore final : public LocalStore {
 public:
  RocksDbStore(const rocksdb::Options& options, std::shared_ptr<rocksdb::Env> env, std::unique_ptr<rocksdb::DB> db,
               std::string folder)
      : env_(std::move(env)), options_(options), folder_(std::move(folder)), db_(std::move(db)) {}

  ~RocksDbStore() override { rocksdb::CancelAllBackgroundWork(db_.get(), /*wait=*/true); }

  Status MultiGet(std::span<const std::string_view> keys, std::vector<std::optional<std::string>>& values) override {
    values.assign(keys.size(), std::nullopt);
    if (keys.empty()) return Status::Ok();
    std::vector<rocksdb::Slice> slices;
    slices.reserve(keys.size());
    for (const std::string_view key : keys) slices.push_back(ToSlice(key));
    std::vector<rocksdb::PinnableSlice> found(keys.size());
    std::vector<rocksdb::Status> statuses(keys.size());
    db_->MultiGet(rocksdb::ReadOptions(), db_->DefaultColumnFamily(), keys.size(), slices.data(), found.data(),
                  statuses.data(), /*sorted_input=*/true);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (statuses[i].IsNotFound()) continue;
      WEIR_RETURN_IF_ERROR(FromRocksDb(statuses[i], "read", folder_));
      values[i].emplace(found[i].data(), found[i].size());
    }
    return Status::Ok();
  }

  Status WriteRun(SortedRun run) override {
    RunEntry entry;
    if (!run(entry)) return Status::Ok();
    const std::string path = folder_ + "/run-" + std::to_string(++runs_written_) + ".ingest";
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(options_), options_);
    rocksdb::Status status = writer.Open(path);
    bool more = true;
    for (; status.ok() && more; more = run(entry)) {
      status = entry.value.has_value() ? writer.Put(ToSlice(entry.key), ToSlice(*entry.value))
                                       : writer.Delete(ToSlice(entry.key));
    }
    if (status.ok()) status = writer.Finish();
    if (status.ok()) {
      rocksdb::IngestExternalFileOptions ingest;
      ingest.move_files = true;
      ingest.failed_move_fall_back_to_copy = true;
      ingest.write_global_seqno = false;  // the file is never touched again
      status = db_->IngestExternalFile({path}, ingest);
    }
    if (!status.ok()) {
      rocksdb::Env::Default()->DeleteFile(path).PermitUncheckedError();
      return FromRocksDb(status, "write of a sorted run", folder_);
    }
    return BoundRuns();
  }

  Status DropRange(std::string_view first, std::string_view behind) override {
    const rocksdb::Slice begin = ToSlice(first);
    const rocksdb::Slice end = ToSlice(behind);
    WEIR_RETURN_IF_ERROR(
        FromRocksDb(rocksdb::DeleteFilesInRange(db_.get(), db_->DefaultColumnFamily(), &begin, &end, false),
                    "removal of a range's files", folder_));
    rocksdb::WriteOptions write;
    write.disableWAL = true;
    WEIR_RETURN_IF_ERROR(
        FromRocksDb(db_->DeleteRange(write, db_->DefaultColumnFamily(), begin, end), "removal of a range", folder_));
    return FromRocksDb(db_->Flush(rocksdb::FlushOptions()), "flush", folder_);
  }

  Result<std::unique_ptr<StoreCursor>> Scan(std::string_view from) override {
    rocksdb::ReadOptions read;
    read.fill_cache = false;
    std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator(read));
    iterator->Seek(ToSlice(from));
    return std::make_unique<RocksDbCursor>(std::move(iterator), folder_);
  }

  Status VisitFiles(FileVisitor visit) override {
    WEIR_RETURN_IF_ERROR(FromRocksDb(db_->DisableFileDeletions(), "hold of the files", folder_));
    Status status = VisitHeldFiles(visit);
    const rocksdb::Status enabled = db_->EnableFileDeletions(/*force=*/false);
    if (status.ok()) status = FromRocksDb(enabled, "release of the files", folder_);
    return status;
  }

 private:
  Status VisitHeldFiles(FileVisitor& visit) {
    std::vector<rocksdb::LiveFileStorageInfo> files;
    WEIR_RETURN_IF_ERROR(FromRocksDb(db_->GetLiveFilesStorageInfo(rocksdb::LiveFilesStorageInfoOptions(), &files),
                                     "list of the files", folder_));
    for (const rocksdb::LiveFileStorageInfo& file : files) {
      StoreFile shown{.name = file.relative_filename,
                      .path = file.directory + "/" + file.relative_filename,
                      .content = std::nullopt};
      switch (file.file_type) {
        case rocksdb::kWalFile:      // empty: nothing is logged
        case rocksdb::kOptionsFile:  // ours are given at each open
          continue;
        case rocksdb::kTableFile: break;
        default: {
          shown.content = file.replacement_contents;
          if (!shown.content->empty()) break;
          WEIR_RETURN_IF_ERROR(
              FromRocksDb(rocksdb::ReadFileToString(rocksdb::Env::Default(), shown.path, &*shown.content),
                          "read of a file", folder_));
          // It may have grown meanwhile.
          if (shown.content->size() > file.size) shown.content->resize(file.size);
        }
      }
      WEIR_RETURN_IF_ERROR(visit(shown));
    }
    return Status::Ok();
  }

  // Reads and disk stay bounded where runs come faster than they are merged.
  Status BoundRuns() {
    uint64_t runs = 0;
    db_->GetIntProperty("rocksdb.num-files-at-level0", &runs);
    if (runs <= kUnmergedRunsMax) return Status::Ok();
    return FromRocksDb(db_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr), "compaction", folder_);
  }

  const std::shared_ptr<rocksdb::Env> env_;
  const rocksdb::Options options_;
  const std::string folder_;
  const std::unique_ptr<rocksdb::DB> db_;
  uint64_t runs_written_ = 0;
};

class RocksDbStoreFactory final : public LocalStoreFactory {
 public:
  explicit RocksDbStoreFactory(const StateBudget& budget)
      : env_(rocksdb::NewCompositeEnv(std::make_shared<UnsyncedFileSystem>(rocksdb::FileSystem::Default()))),
        options_(MakeOptions(budget, env_.get())) {}

  Result<std::unique_ptr<LocalStore>> Open(const std::string& folder, Mode mode) override {
    rocksdb::Options options = options_;
    options.create_if_missing = mode == Mode::kCreate;
    options.error_if_exists = mode == Mode::kCreate;
    rocksdb::DB* db = nullptr;
    const rocksdb::Status status = mode == Mode::kReadOnly ? rocksdb::DB::OpenForReadOnly(options, folder, &db)
                                                           : rocksdb::DB::Open(options, folder, &db);
    WEIR_RETURN_IF_ERROR(FromRocksDb(status, "open", folder));
    return std::make_unique<RocksDbStore>(options_, env_, std::unique_ptr<rocksdb::DB>(db), folder);
  }

 private:
  const std::shared_ptr<rocksdb::Env> env_;
  const rocksdb::Options options_;
};

}  // namespace

std::unique_ptr<LocalStoreFactory> NewRocksDbStoreFactory(const StateBudget& budget) {
  return std::make_unique<RocksDbStoreFactory>(budget);
}

}  // namespace weir::state
