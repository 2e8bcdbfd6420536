#include "base/fault_site.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/process.h"

namespace weir {
namespace {

// Sorted; the compiler and tests/tidy hold it: every FAULT_SITE in the sources is here, and each of these is in one.
constexpr auto kSites = std::to_array<std::string_view>({
    "apply.after-commit",
    "apply.after-sources-told",
    "apply.before-commit",
    "apply.before-sources-told",
    "checkpoint.after-folder-fsync",
    "checkpoint.after-metadata-fsync",
    "checkpoint.after-metadata-rename",
    "checkpoint.before-metadata-write",
    "checkpoint.durable",
    "checkpoint.state-written",
    "file.marker-replaced",
    "file.part-renamed",
    "kafka.after-commit",
    "kafka.before-commit",
    "output.sealed",
    "postgres.after-commit",
    "postgres.before-commit",
    "savepoint.before-metadata",
    "savepoint.file-copied",
    "start.after-fence",
    "start.after-peek",
    "start.after-publish",
    "start.after-read",
    "start.after-sign",
    "state.frozen-written",
});
static_assert(std::is_sorted(kSites.begin(), kSites.end()), "keep the names sorted");
static_assert(std::adjacent_find(kSites.begin(), kSites.end()) == kSites.end(), "a name is there twice");

// The one thing of the process that faults share. `armed` is what an unarmed site costs: one load.
struct Handler {
  std::atomic<bool> armed = false;
  std::function<void(std::string_view)> function;  // changed only while no other thread runs
};

Handler& TheHandler() {
  static Handler* const handler = new Handler;
  return *handler;
}

bool Known(std::string_view site) { return std::binary_search(kSites.begin(), kSites.end(), site); }

[[noreturn]] void KillThisProcess() {
  kill(getpid(), SIGKILL);
  while (true) pause();
}

}  // namespace

std::span<const std::string_view> FaultSites() { return kSites; }

void ArmFaultSites(std::function<void(std::string_view site)> handler) {
  Handler& the = TheHandler();
  the.armed.store(false, std::memory_order_release);
  the.function = std::move(handler);
  if (the.function) the.armed.store(true, std::memory_order_release);
}

std::string ArmFaultSitesFrom(std::string_view spec) {
  constexpr std::string_view kKill = ":kill";
  std::string_view rest = spec;
  uint64_t nth = 0;
  bool well_formed = rest.ends_with(kKill);
  if (well_formed) {
    rest.remove_suffix(kKill.size());
    const size_t colon = rest.rfind(':');
    well_formed = colon != std::string_view::npos;
    if (well_formed) {
      const std::string_view number = rest.substr(colon + 1);
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), nth);
      well_formed = error == std::errc() && end == number.data() + number.size() && nth > 0;
      rest = rest.substr(0, colon);
    }
  }
  if (!well_formed) {
    std::string message = "fault '";
    message += spec;
    message += "' is not of the form <site>:<nth>:kill with nth from 1";
    return message;
  }
  if (!Known(rest)) {
    std::string message = "fault site '";
    message += rest;
    message += "' is not known; --list-fault-sites prints all names";
    return message;
  }
  auto left = std::make_shared<std::atomic<uint64_t>>(nth);
  ArmFaultSites([site = std::string(rest), left](std::string_view reached) {
    if (reached == site && left->fetch_sub(1) == 1) KillThisProcess();
  });
  return {};
}

std::string ArmFaultSitesFromEnvironment() {
  const std::optional<std::string> spec = EnvironmentVariable("WEIR_FAULT");
  if (!spec.has_value() || spec->empty()) return {};
  return ArmFaultSitesFrom(*spec);
}

void ReachFaultSite(std::string_view site) {
  Handler& the = TheHandler();
  if (!the.armed.load(std::memory_order_acquire)) [[likely]]
    return;
  if (!Known(site)) check_internal::Fail(__FILE__, __LINE__, "the fault site is listed", std::string(site));
  the.function(site);
}

}  // namespace weir
