// A job that copies numbers exactly once, into whatever system, and what becomes of copies of its storage: what the
// tests of all systems share. One thread.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/integration/job_process.h"

namespace weir::job_test {

class CopyTest : public testing::Test {
 protected:
  // Numbers on from the last.
  virtual void Feed(int count) = 0;
  // Waits for all that was fed.
  virtual bool AllOut() = 0;
  // What was fed is there once and in order, and nothing else.
  virtual void ExpectExact() = 0;

  Weir Begin(Arguments more = {});
  std::string Storage() const { return folder_.Path("checkpoints"); }
  // Its process stands still.
  void CopyStorage(const std::string& to) const;

  // Scenario 18: a process on a copy of the storage goes on in place of `first`, which stands still and ends when it
  // goes on itself. Afterwards the copy is the storage. Answers what the new process has said.
  std::string ACopyTakesOver(Weir& first);
  // Scenario 13. `system`: how refusals name the system.
  void AnOlderCopyIsRefused(const std::string& system);

  JobFolder folder_;
  std::string definition_;
};

}  // namespace weir::job_test
