// One input of the changefeed fuzzer; aborts if it finds something.
#pragma once

#include <string_view>

namespace weir::connectors {

void FuzzChangefeed(std::string_view input);

}  // namespace weir::connectors
