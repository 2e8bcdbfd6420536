// What JobWorld does about a process that freezes and goes on later, beside its successor.
#include <algorithm>
#include <utility>

#include "tests/simulation/job_world.h"

namespace weir::simulation {

// Sinks in folders are not for zombies: two machines with a folder of their own each are two outputs, and with one
// folder the lock on it, which a frozen process holds, lets no successor start.
bool JobWorld::MayFreeze() const {
  const bool tables = std::ranges::any_of(job_.tables, [](const auto& one) { return one.second.exact; });
  return zombie_ == nullptr && job_.sinks.empty() && (tables || !job_.exact_topics.empty());
}

// A process that has signed every system can only lose them, and never take one back.
bool JobWorld::MayFreezeNow() const {
  if (process_->job() == nullptr || process_->job()->checkpoint_stats().last_number == 0) return false;
  const std::set<std::string> attempts = MarkerAttempts();
  return attempts.size() == 1 && attempts != attempts_before_;
}

std::set<std::string> JobWorld::MarkerAttempts() const {
  std::set<std::string> attempts;
  if (const auto marker = KafkaMarker()) attempts.insert(marker->attempt.ToString());
  if (const auto attempt = postgres_.MarkerAttempt("random")) attempts.insert(*attempt);
  return attempts;
}

void JobWorld::Freeze(bool power) {
  std::unique_ptr<SimFileSystem> copy = disk_->Copy(random_->Next());
  zombie_ = std::make_unique<Zombie>();
  zombie_->disk = std::exchange(disk_, std::move(copy));
  zombie_->process = std::move(process_);
  zombie_->attempts = MarkerAttempts();
  zombie_->durable = zombie_->process->job()->checkpoint_stats().last_number;
  zombie_->durable_seen = zombie_->durable;
  zombie_->frozen_for = random_->Below(1500);
  applied_offsets_.SetFileSystem(*disk_);
  death_ = {};
  if (power) {
    disk_->PowerLoss();
  } else {
    disk_->KillProcess();
  }
  Heal();
  CheckSavepoints();
}

void JobWorld::RunSuccessorWithin() {
  frozen_ = true;
  std::string problem;
  for (int tries = 1;; ++tries) {
    problem = StartJob();
    constexpr int kTriesMax = 50;
    if (problem.empty() || !MayStartAgain(problem) || tries == kTriesMax) break;
    Bury({});
  }
  if (!problem.empty()) return Fail("a successor's start: " + problem);
  const uint64_t steps = random_->Below(600);
  for (uint64_t i = 0; i < steps && process_->job()->state() <= jobs::JobState::kStopping; ++i) {
    if (!StepOnce()) Fail("the successor is stuck");
    if (!result_.failure.empty()) return;
  }
}

void JobWorld::MaybeRunZombie() {
  if (zombie_->frozen_for > 0 && --zombie_->frozen_for > 0) return;
  if (!zombie_->attempts.empty()) {
    for (const std::string& attempt : MarkerAttempts()) {
      if (!zombie_->attempts.contains(attempt)) continue;
      zombie_->frozen_for = 100;  // a successor that has not signed everything could still lose
      return;
    }
    zombie_->attempts.clear();
  }
  if (random_->OneIn(2)) StepZombie();
}

void JobWorld::StepZombie() {
  const jobs::Job& job = *zombie_->process->job();
  if (job.state() > jobs::JobState::kStopping) {
    const Status cause = job.cause();
    const bool taken_over = cause.code() == StatusCode::kFenced;
    const bool lost = cause.message().find("has lost our transaction") != std::string::npos;
    // Of its sources, say; or time, which does not wait for it, is over for its checkpoints.
    const bool cut_off = cause.code() == StatusCode::kUnavailable || cause.code() == StatusCode::kCancelled;
    if (job.state() != jobs::JobState::kFinished && !taken_over && !lost && !cut_off) {
      Fail("a zombie ends otherwise than as taken over: " + cause.ToString());
    }
    // One that had no more output to write never notices.
    ++result_.crashes_at[taken_over ? "zombie taken over" : "zombie ended otherwise"];
    return BuryZombie();
  }
  zombie_runs_ = true;
  const bool moved = zombie_->process->Step();
  zombie_runs_ = false;
  if (!moved) return Fail("a zombie is stuck");
  const uint64_t durable = job.checkpoint_stats().last_number;
  if (durable != zombie_->durable_seen) applied_offsets_.NoteDurableOfZombie(*zombie_->disk, durable, zombie_->durable);
  zombie_->durable_seen = durable;
}

void JobWorld::EndZombie() {
  constexpr uint64_t kStepsMax = 400'000;
  Heal();
  for (uint64_t step = 0; zombie_ != nullptr && result_.failure.empty(); ++step) {
    clock_.Advance(std::chrono::microseconds(random_->Below(200)));
    StepZombie();
    if (step == kStepsMax) Fail("a zombie does not end");
  }
}

void JobWorld::BuryZombie() {
  if (zombie_ == nullptr) return;
  result_.trace = result_.trace * 31 + zombie_->process->trace();
  zombie_->disk->Disarm();
  zombie_->disk->Arm({.nth = 1, .action = FaultAction::kCrashBefore});
  (void)zombie_->disk->CreateDirectories("/dies-here");
  zombie_.reset();
}

}  // namespace weir::simulation
