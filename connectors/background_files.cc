#include "connectors/background_files.h"

#include <optional>

namespace weir::connectors {

BackgroundFiles::BackgroundFiles(std::unique_ptr<checkpoint::FileSealer> sealer,
                                 const operators::WriterContext& context, const std::string& worker_name)
    : done_(*context.wakeup), sealer_(std::move(sealer)), worker_(context.workers->NewWorker(worker_name)) {}

BackgroundFiles::~BackgroundFiles() = default;

void BackgroundFiles::Submit(const std::string& name) {
  if (text_.empty()) return;
  waiting_bytes_ += text_.size();
  if (unsealed_ != nullptr) unsealed_->fetch_add(text_.size(), std::memory_order_relaxed);
  worker_->Submit([this, name, text = std::exchange(text_, std::exchange(spare_, {}))]() mutable {
    const uint64_t bytes = text.size();
    Status status = sealer_->Append(name, text);
    done_.Post({.status = std::move(status), .buffer = std::move(text), .bytes = bytes});
  });
}

void BackgroundFiles::SubmitSeal(const std::string& name, uint64_t rows) {
  Submit(name);
  ++seals_waiting_;
  worker_->Submit([this, rows] {
    Result<checkpoint::SealedFile> sealed = sealer_->Seal(rows);
    if (sealed.has_value()) {
      done_.Post({.status = {}, .sealed = {std::move(*sealed)}});
    } else {
      done_.Post({.status = sealed.error()});
    }
  });
}

void BackgroundFiles::SubmitJob(std::move_only_function<Status(checkpoint::FileSealer&)> job) {
  worker_->Submit([this, job = std::move(job)]() mutable { done_.Post({.status = job(*sealer_)}); });
}

std::vector<checkpoint::SealedFile> BackgroundFiles::TakeSealed() {
  if (unsealed_ != nullptr) unsealed_->store(0, std::memory_order_relaxed);
  return std::exchange(sealed_, {});
}

void BackgroundFiles::TakeResults() {
  while (std::optional<Done> done = done_.Take()) {
    if (!done->status.ok() && failure_.ok()) failure_ = std::move(done->status);
    waiting_bytes_ -= done->bytes;
    seals_waiting_ -= done->sealed.size();
    for (checkpoint::SealedFile& file : done->sealed) sealed_.push_back(std::move(file));
    done->buffer.clear();
    if (spare_.capacity() < done->buffer.capacity()) spare_ = std::move(done->buffer);
  }
}

}  // namespace weir::connectors
