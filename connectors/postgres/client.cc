#include "connectors/postgres/client.h"

#include <utility>

namespace weir::connectors {

Result<PostgresAnswer> PostgresSession::ExecuteOne(PostgresStatement statement) {
  WEIR_ASSIGN_OR_RETURN(std::vector<PostgresAnswer> answers, Execute(std::span(&statement, 1)));
  return std::move(answers.front());
}

StatusCode CodeOfSqlState(std::string_view sqlstate) {
  const std::string_view of_class = sqlstate.substr(0, 2);
  if (sqlstate == "40001" || sqlstate == "40P01" || sqlstate == "40003" || sqlstate == "55P03" || sqlstate == "25P03" ||
      of_class == "53" || of_class == "57" || of_class == "08") {
    return StatusCode::kUnavailable;
  }
  for (const std::string_view refused : {"22", "23", "42", "44", "54", "21", "0A", "3F", "P0"}) {
    if (of_class == refused) return StatusCode::kFailedPrecondition;
  }
  return StatusCode::kInternal;
}

bool IsRowRefusal(const PostgresRefusal& refusal) {
  const std::string_view of_class = std::string_view(refusal.sqlstate).substr(0, 2);
  return of_class == "22" || of_class == "23" || of_class == "44" || of_class == "54" || refusal.sqlstate == "P0001" ||
         refusal.sqlstate == "21000";
}

bool IsCatalogueRefusal(const PostgresRefusal& refusal) {
  return refusal.sqlstate == "42P01" || refusal.sqlstate == "42703";
}

std::string RefusalText(const PostgresRefusal& refusal) {
  std::string text = refusal.sqlstate.empty() ? refusal.message : "ERROR " + refusal.sqlstate + ": " + refusal.message;
  if (!refusal.detail.empty()) text += "; " + refusal.detail;
  std::string objects;
  for (const auto& [kind, name] : {std::pair("table ", &refusal.table), std::pair("column ", &refusal.column),
                                   std::pair("constraint ", &refusal.constraint)}) {
    if (!name->empty()) objects += (objects.empty() ? "; " : ", ") + (kind + *name);
  }
  return text + objects;
}

}  // namespace weir::connectors
