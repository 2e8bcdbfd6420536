// Any bytes as a job's definition, read as JSON and as YAML: refused with problems that name the file, or a job whose
// graph and plan can be made. Nothing outside is reached: the registry's ports are simulated ones.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/random.h"
#include "connectors/register_connectors.h"
#include "jobs/execution_plan.h"
#include "jobs/job_definition.h"
#include "jobs/job_graph.h"
#include "tests/simulation/manual_clock.h"
#include "tests/simulation/sim_file_system.h"
#include "tests/simulation/sim_kafka.h"

namespace {

using weir::Result;
using weir::Status;

// The world that a definition's options are checked against.
struct World {
  World() {
    weir::operators::RegisterOperators(registry);
    weir::connectors::RegisterConnectors(registry,
                                         {.file_system = &disk, .kafka = clients.get(), .working_directory = "/"});
  }
  weir::simulation::ManualClock clock;
  weir::simulation::SimFileSystem disk{1};
  weir::simulation::SimKafka kafka{clock, std::make_unique<weir::SeededRandom>(1)};
  std::unique_ptr<weir::connectors::KafkaClientFactory> clients = kafka.NewClientFactory();
  weir::operators::Registry registry;
};

void Read(const World& world, const std::string& file_name, std::string_view text) {
  weir::jobs::DefinitionInputs inputs;
  inputs.file_name = file_name;
  inputs.text = text;
  inputs.environment = [](const std::string& name) {
    return name == "SET" ? std::optional<std::string>("1") : std::nullopt;
  };
  inputs.read_file = [](const std::string& path) -> Result<std::string> {
    if (path == "there") return "secret";
    return weir::Error(Status::NotFound(path + " is not there"));
  };
  const auto parsed = weir::jobs::ParseJobDefinition(inputs, world.registry);
  if (!parsed.has_value()) {
    WEIR_CHECK(!parsed.error().empty());
    for (const weir::jobs::DefinitionProblem& problem : parsed.error()) {
      WEIR_CHECK(weir::jobs::ToString(problem).find(file_name) != std::string::npos);
    }
    return;
  }
  const weir::jobs::JobGraph graph = weir::jobs::JobGraph::Build(parsed->job, world.registry);
  WEIR_CHECK(!graph.vertices.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const World world;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Read(world, "job.json", text);
  Read(world, "job.yaml", text);
  return 0;
}
