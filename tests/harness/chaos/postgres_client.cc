#include "tests/harness/chaos/postgres_client.h"

#include <string>
#include <utility>

namespace weir::chaos {
namespace {

using connectors::PostgresAddress;
using connectors::PostgresAnswer;
using connectors::PostgresClientFactory;
using connectors::PostgresConnection;
using connectors::PostgresRefusal;
using connectors::PostgresSession;
using connectors::PostgresStatement;

// "postgres: BEGIN ISOLATION LEVEL...; UPDATE ..."
std::string SiteOf(std::span<const PostgresStatement> statements) {
  constexpr size_t kShown = 60;
  std::string site = "postgres:";
  for (const PostgresStatement& statement : statements) site += " " + statement.sql.substr(0, kShown) + ";";
  return site;
}

class FailingSession final : public PostgresSession {
 public:
  FailingSession(std::unique_ptr<PostgresSession> real, CallSites& sites) : real_(std::move(real)), sites_(sites) {}

  Result<std::vector<PostgresAnswer>> Execute(std::span<const PostgresStatement> statements) override {
    const std::string site = SiteOf(statements);
    if (real_ == nullptr) return Error(Lost(site));
    const CallSites::Fate fate = sites_.Reach(site);
    if (fate == CallSites::Fate::kPasses) return real_->Execute(statements);
    if (fate == CallSites::Fate::kFailsAfter) (void)real_->Execute(statements);
    real_ = nullptr;
    return Error(Lost(site));
  }
  const PostgresRefusal& refusal() const override { return real_ == nullptr ? nothing_ : real_->refusal(); }

 private:
  static Status Lost(const std::string& site) { return CallSites::Injected(site, StatusCode::kUnavailable); }

  std::unique_ptr<PostgresSession> real_;  // null: lost
  CallSites& sites_;
  const PostgresRefusal nothing_;
};

class FailingFactory final : public PostgresClientFactory {
 public:
  FailingFactory(std::unique_ptr<PostgresClientFactory> real, std::shared_ptr<CallSites> sites)
      : real_(std::move(real)), sites_(std::move(sites)) {}

  Result<PostgresAddress> AddressOf(const std::string& conninfo) const override { return real_->AddressOf(conninfo); }
  Result<std::unique_ptr<PostgresSession>> Connect(const PostgresConnection& connection) override {
    WEIR_ASSIGN_OR_RETURN(auto session, sites_->Through("postgres: connect", StatusCode::kUnavailable,
                                                        [&] { return real_->Connect(connection); }));
    return std::make_unique<FailingSession>(std::move(session), *sites_);
  }

 private:
  const std::unique_ptr<PostgresClientFactory> real_;
  const std::shared_ptr<CallSites> sites_;
};

}  // namespace

std::unique_ptr<PostgresClientFactory> FailingPostgres(std::unique_ptr<PostgresClientFactory> real,
                                                       std::shared_ptr<CallSites> sites) {
  return std::make_unique<FailingFactory>(std::move(real), std::move(sites));
}

}  // namespace weir::chaos
