#include "base/fault_site.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace weir {
namespace {

class FaultSiteTest : public testing::Test {
 protected:
  void TearDown() override { ArmFaultSites({}); }
};

TEST_F(FaultSiteTest, ListsItsNamesSorted) {
  const auto sites = FaultSites();
  EXPECT_TRUE(std::is_sorted(sites.begin(), sites.end()));
  EXPECT_TRUE(std::binary_search(sites.begin(), sites.end(), std::string_view("checkpoint.after-metadata-rename")));
}

TEST_F(FaultSiteTest, TellsTheHandlerWhichSiteIsReached) {
  std::vector<std::string> reached;
  FAULT_SITE("checkpoint.durable");
  ArmFaultSites([&](std::string_view site) { reached.emplace_back(site); });
  FAULT_SITE("checkpoint.durable");
  FAULT_SITE("apply.before-commit");
  ArmFaultSites({});
  FAULT_SITE("checkpoint.durable");
  EXPECT_EQ(reached, std::vector<std::string>({"checkpoint.durable", "apply.before-commit"}));
}

TEST_F(FaultSiteTest, RefusesWhatItCannotArm) {
  EXPECT_NE(ArmFaultSitesFrom("no.such-site:1:kill").find("'no.such-site' is not known"), std::string::npos);
  for (const char* spec : {"", "checkpoint.durable", "checkpoint.durable:1", "checkpoint.durable:0:kill", ":kill",
                           "checkpoint.durable:x:kill", "checkpoint.durable:1:stop", "checkpoint.durable:-1:kill"}) {
    EXPECT_NE(ArmFaultSitesFrom(spec).find("<site>:<nth>:kill"), std::string::npos) << spec;
  }
  FAULT_SITE("checkpoint.durable");
}

TEST_F(FaultSiteTest, KillsAtTheNthReach) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        if (!ArmFaultSitesFrom("checkpoint.durable:3:kill").empty()) std::exit(1);
        FAULT_SITE("checkpoint.durable");
        FAULT_SITE("apply.before-commit");
        FAULT_SITE("checkpoint.durable");
        std::fprintf(stderr, "twice survived\n");
        FAULT_SITE("checkpoint.durable");
        std::exit(2);
      },
      testing::KilledBySignal(SIGKILL), "twice survived");
}

TEST_F(FaultSiteTest, ReadsTheEnvironment) {
  setenv("WEIR_FAULT", "nonsense", 1);
  EXPECT_FALSE(ArmFaultSitesFromEnvironment().empty());
  setenv("WEIR_FAULT", "", 1);
  EXPECT_TRUE(ArmFaultSitesFromEnvironment().empty());
  unsetenv("WEIR_FAULT");
  EXPECT_TRUE(ArmFaultSitesFromEnvironment().empty());
}

TEST_F(FaultSiteTest, ANameThatIsNotListedIsABrokenInvariant) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        ArmFaultSites([](std::string_view) {});
        FAULT_SITE("not.listed");
      },
      "not.listed");
}

}  // namespace
}  // namespace weir
