#include "operators/route.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operators/dead_letter.h"
#include "operators/expression.h"
#include "operators/raw_value.h"

namespace weir::operators {
namespace {

struct Route {
  std::string tag;
  std::optional<Expression> condition;  // none: the default
  std::vector<uint8_t> takes;           // by row
  size_t taken = 0;
};

class RouteOperator final : public Operator {
 public:
  RouteOperator(std::vector<Route> routes, bool all, BadRecordPolicy policy)
      : routes_(std::move(routes)), all_(all), policy_(policy) {}

  Status Open(OperatorContext& context) override {
    bad_.emplace(context.uid, policy_, context.metrics);
    return Status::Ok();
  }

  Status ProcessBatch(int, Batch batch, Output& output) override {
    for (Route& route : routes_) {
      route.takes.assign(batch.rows(), 0);
      route.taken = 0;
      if (route.condition.has_value()) route.condition->Bind(batch.schema(), batch.arena());
    }
    for (size_t i = 0; i < batch.rows(); ++i) WEIR_RETURN_IF_ERROR(Decide(batch, i));
    for (const Route& route : routes_) WEIR_RETURN_IF_ERROR(EmitRoute(batch, route, output));
    return bad_->EmitTo(output);
  }

 private:
  Status Decide(const Batch& batch, size_t row) {
    bool met = false;
    for (Route& route : routes_) {
      bool takes = !met;  // the default is the last
      if (route.condition.has_value()) {
        Value value;
        if (!route.condition->Evaluate(batch.row(row), batch.kind(row), &value))
          return Refuse(batch, row, route, route.condition->error());
        if (!value.missing() && value.type() != ValueType::kBool) {
          return Refuse(batch, row, route,
                        "the condition gives a " + std::string(ValueTypeName(value.type())) + ", not true or false");
        }
        takes = !value.missing() && value.bool_value();
      }
      if (!takes) continue;
      route.takes[row] = 1;
      ++route.taken;
      met = true;
      if (!all_) break;
    }
    return Status::Ok();
  }

  // A row goes to no output at all if one of its conditions has no answer.
  Status Refuse(const Batch& batch, size_t row, const Route& failed, const std::string& error) {
    for (Route& route : routes_) {
      route.taken -= route.takes[row];
      route.takes[row] = 0;
    }
    return bad_->AddRow(batch, row, "route " + Quoted(failed.tag) + ": " + error);
  }

  // A batch whose rows all take one way goes on as it is.
  Status EmitRoute(Batch& batch, const Route& route, Output& output) {
    if (route.taken == 0 || !output.HasSide(route.tag)) return Status::Ok();
    if (!all_ && route.taken == route.takes.size()) return output.EmitSide(route.tag, std::move(batch));
    Batch part(batch.schema(), route.taken);
    part.ShareArenas(batch);
    for (size_t i = 0; i < route.takes.size(); ++i) {
      if (route.takes[i] == 0) continue;
      Value* row = part.AddRow(batch.kind(i), batch.time(i));
      std::copy_n(batch.row(i), batch.columns(), row);
      if (batch.keyed()) part.SetKey(part.rows() - 1, batch.key(i));
    }
    return output.EmitSide(route.tag, std::move(part));
  }

  std::vector<Route> routes_;
  const bool all_;
  const BadRecordPolicy policy_;
  std::optional<BadRecords> bad_;
};

bool IsTag(std::string_view tag) {
  for (const char c : tag) {
    const bool good =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!good) return false;
  }
  return !tag.empty() && tag != kDeadLetterTag;
}

std::vector<std::string> TagsOf(const Options& options) {
  std::vector<std::string> tags;
  for (const auto& [tag, condition] : options.StringMap("routes")) tags.push_back(tag);
  if (options.Has("default")) tags.push_back(options.String("default"));
  return tags;
}

void CheckRoute(const Options& options, Problems& problems) {
  const std::string routes_path = options.PathOf("routes");
  for (const auto& [tag, text] : options.StringMap("routes")) {
    const std::string path = PathJoin(routes_path, tag);
    if (!IsTag(tag))
      problems.push_back(
          {path, Quoted(tag), "letters, digits, _ -, not dead-letter", "a route's tag with other characters"});
    if (auto problem = ExpressionProblem(text); problem.has_value()) {
      problems.push_back({path, QuotedExcerpt(text), "an SQL condition", std::move(*problem)});
    }
    if (options.Has("default") && options.String("default") == tag) {
      problems.push_back({options.PathOf("default"), Quoted(tag), "a tag of its own", "the default is also a route"});
    }
  }
  if (options.Has("default") && !IsTag(options.String("default"))) {
    problems.push_back({options.PathOf("default"), Quoted(options.String("default")),
                        "letters, digits, _ -, not dead-letter", "a tag with other characters"});
  }
}

Result<std::unique_ptr<Operator>> CreateRoute(const Options& options) {
  std::vector<Route> routes;
  for (const auto& [tag, text] : options.StringMap("routes")) {
    Route& route = routes.emplace_back();
    route.tag = tag;
    WEIR_ASSIGN_OR_RETURN(route.condition, Expression::Parse(text));
  }
  if (options.Has("default")) routes.emplace_back().tag = options.String("default");
  return std::make_unique<RouteOperator>(std::move(routes), options.String("to") == "all", OnError(options));
}

}  // namespace

OperatorType RouteType() {
  OperatorType type;
  type.name = "route";
  type.doc = "Sends each row to the side outputs whose condition it meets: other nodes read <id>.<tag>.";
  OptionSpec to{"to", OptionType::kEnum, false, "first", "The first route that a row meets, or all of them."};
  to.choices = {"first", "all"};
  type.options = {
      {"routes", OptionType::kExpressionMap, true, "", "Tag -> condition, in order."},
      {"default", OptionType::kString, false, "", "Tag for rows that meet no condition; without it they are dropped."},
      std::move(to),
      OnErrorSpec()};
  type.side_outputs = TagsOf;
  type.check = CheckRoute;
  type.create = CreateRoute;
  return type;
}

}  // namespace weir::operators
