#include "connectors/kafka/properties.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "connectors/kafka/security.h"

namespace weir::connectors {
namespace {

struct Refusal {
  std::string_view name;
  std::string_view reason;
};

constexpr std::array kRefusedEverywhere = {
    Refusal{"bootstrap.servers", "is set by the option bootstrap-servers"},
    Refusal{"metadata.broker.list", "is set by the option bootstrap-servers"},
};

constexpr std::array kRefusedForConsumers = {
    Refusal{"group.id", "is set by the option group"},
    Refusal{"group.instance.id", "is set by the option group-instance-id"},
    Refusal{"partition.assignment.strategy", "is set by the option group-strategy"},
    Refusal{"enable.auto.commit", "would commit offsets that no checkpoint holds; use the option group"},
    Refusal{"auto.commit.enable", "would commit offsets that no checkpoint holds; use the option group"},
    Refusal{"enable.auto.offset.store", "would store offsets that no checkpoint holds; use the option group"},
    Refusal{"auto.offset.reset", "would skip or repeat records silently; use the option start"},
    Refusal{"topic.auto.offset.reset", "would skip or repeat records silently; use the option start"},
    Refusal{"enable.partition.eof", "must be on: the end of bounded input is found by it"},
    Refusal{"isolation.level", "is set by the option isolation"},
    Refusal{"consume.callback.max.messages", "applies to an interface that is not used"},
};

constexpr std::array kRefusedForProducers = {
    Refusal{"transactional.id", "belongs to exactly-once delivery, where the job sets it"},
    Refusal{"transaction.timeout.ms", "is set by the option transaction-timeout"},
    Refusal{"enable.idempotence", "must be on: a retry would put rows out of order or in twice"},
    Refusal{"acks", "must be all: an acknowledged row must survive the loss of a broker"},
    Refusal{"request.required.acks", "must be all: an acknowledged row must survive the loss of a broker"},
    Refusal{"delivery.report.only.error", "must be off: a barrier waits for the acknowledgement of every row"},
    Refusal{"produce.offset.report", "is of no use here"},
    Refusal{"partitioner", "is set by the option partitioner"},
};

std::string_view FindReason(std::span<const Refusal> refusals, std::string_view name) {
  const auto* found = std::ranges::find(refusals.data(), refusals.data() + refusals.size(), name, &Refusal::name);
  return found == refusals.data() + refusals.size() ? std::string_view() : found->reason;
}

}  // namespace

std::string_view RefusedProperty(KafkaRole role, std::string_view name) {
  if (const std::string_view reason = FindReason(kRefusedEverywhere, name); !reason.empty()) return reason;
  if (name.ends_with("_cb") || name == "opaque") return "is a function of a program, not a setting";
  return role == KafkaRole::kConsumer ? FindReason(kRefusedForConsumers, name) : FindReason(kRefusedForProducers, name);
}

bool IsSecretProperty(std::string_view name) {
  constexpr std::array<std::string_view, 8> kMarks = {
      "password", "secret", "token", "jaas", "key.pem", ".key", "oauthbearer.config", "credential"};
  return std::ranges::any_of(kMarks, [&](std::string_view mark) { return name.find(mark) != std::string_view::npos; });
}

void CheckProperties(KafkaRole role, const operators::Options& options, KafkaClientFactory& factory,
                     operators::Problems& problems) {
  CheckSecurityOptions(options, problems);
  for (const auto& [name, value] : options.StringMap("properties")) {
    operators::Problem problem;
    problem.path = options.PathOf("properties") + "/" + name;
    problem.value = "<secret>";  // any may be one, also under a misspelled name
    if (const std::string_view reason = RefusedProperty(role, name); !reason.empty()) {
      problem.expected = "no such member";
      problem.message = "property \"" + name + "\" can't be set: it " + std::string(reason);
      problems.push_back(std::move(problem));
      continue;
    }
    if (const Status status = factory.CheckProperty(role, name, value); !status.ok()) {
      problem.expected = "a property and value that librdkafka takes";
      problem.message = status.message();
      problems.push_back(std::move(problem));
    }
  }
}

KafkaConnection ConnectionFrom(const operators::Options& options) {
  KafkaConnection connection;
  connection.bootstrap_servers = options.String("bootstrap-servers");
  connection.properties = SecurityProperties(options);
  std::ranges::move(options.StringMap("properties"), std::back_inserter(connection.properties));
  return connection;
}

}  // namespace weir::connectors
