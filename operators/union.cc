#include "operators/union.h"

#include <memory>
#include <utility>

namespace weir::operators {
namespace {

class UnionOperator final : public Operator {
 public:
  Status Open(OperatorContext&) override { return Status::Ok(); }
  Status ProcessBatch(int, Batch batch, Output& output) override { return output.Emit(std::move(batch)); }
};

}  // namespace

OperatorType UnionType() {
  OperatorType type;
  type.name = "union";
  type.doc = "Joins the rows of any number of inputs.";
  type.max_inputs = -1;
  type.create = [](const Options&) -> Result<std::unique_ptr<Operator>> { return std::make_unique<UnionOperator>(); };
  return type;
}

}  // namespace weir::operators
