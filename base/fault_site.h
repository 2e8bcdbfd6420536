// Named places where a test makes the process die or an operation fail: FAULT_SITE("checkpoint.after-metadata-fsync").
// Compiled into every build; costs one load where no site is armed. Armed by the environment variable WEIR_FAULT
// ("<site>:<nth>:kill"), read once at the start of main, or by the simulator through ArmFaultSites. The list of all
// names is in base/fault_site.cc; a name that is not listed there is a failed check.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace weir {

// All names, sorted: what `weir --list-fault-sites` prints.
std::span<const std::string_view> FaultSites();

// What happens at a site; called on the thread that reaches it. Replaces the former handler; empty disarms.
// Not to be called while other threads run.
void ArmFaultSites(std::function<void(std::string_view site)> handler);

// Reads `spec` ("site:nth:kill", nth from 1) and arms it: the nth time that the site is reached the process kills
// itself with SIGKILL. InvalidArgument for an unknown site or form comes back as text; empty if armed.
std::string ArmFaultSitesFrom(std::string_view spec);

// The same with the value of WEIR_FAULT; empty too if that is not set. Called first thing in main.
std::string ArmFaultSitesFromEnvironment();

void ReachFaultSite(std::string_view site);

}  // namespace weir

#define FAULT_SITE(name) ::weir::ReachFaultSite(name)
