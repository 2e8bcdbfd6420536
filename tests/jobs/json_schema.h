// A validator for the part of JSON schema (draft 2020-12) that the published schema uses. Slow and plain, for tests; a
// keyword that it doesn't know fails the test.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace weir::jobs {

// Where and why `value` is refused; empty: it is accepted.
std::string SchemaProblem(const nlohmann::json& schema, const nlohmann::json& value);

}  // namespace weir::jobs
