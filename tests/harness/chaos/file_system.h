// A FileSystem whose calls fail with an input/output error below one folder. A call site is an operation and the kind
// of its file: the last name of the path without numbers and ids.
#pragma once

#include <memory>
#include <string>

#include "base/file_system.h"
#include "tests/harness/chaos/call_sites.h"

namespace weir::chaos {

std::unique_ptr<FileSystem> FailingFiles(std::unique_ptr<FileSystem> real, std::string folder,
                                         std::shared_ptr<CallSites> sites);

}  // namespace weir::chaos
