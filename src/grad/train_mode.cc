#include "grad/train_mode.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "grad/appender.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

// Running mean and variance are operands 3 and 4, and results 1 and 2.
Status TrainNormalization(OpId id, Appender& appender) {
  Graph& graph = appender.graph();
  Attributes attributes = *graph.op(id).attributes;
  if (attributes.Int("training_mode", 0) != 0) return OkStatus();
  attributes.Set("training_mode", int64_t{1});
  graph.op(id).attributes = appender.Shared(std::move(attributes));
  for (size_t r = 1; r <= 2; ++r) {
    const TensorId running = graph.op(id).inputs[2 + r];
    const TensorType type = appender.type(running);
    const TensorId next = appender.AddResult(id, r, type);
    if (graph.tensor(running).role == TensorRole::kActivation) continue;
    const std::string name = StrCat("next/", graph.tensor(running).name);
    appender.Rename(next, name);
    if (graph.tensor(next).name != name) return BadInput(StrCat("--train-mode: the model already has ", Quote(name)));
    graph.outputs.push_back(next);
    graph.ties.push_back({next, running});
  }
  return OkStatus();
}

void TrainDropout(OpId id, Appender& appender) {
  Op& op = appender.graph().op(id);
  op.inputs.resize(3);
  const TensorId yes = appender.Constant(Literal::Scalar(1, DType::kBool));
  appender.graph().op(id).inputs[2] = yes;
}

}  // namespace

Status ToTrainMode(Appender& appender) {
  const size_t count = appender.graph().ops.size();
  bool any = false;
  for (size_t i = 0; i < count; ++i) {
    const std::string type = appender.graph().type_of(appender.graph().ops[i]);
    any = any || type == "Dropout" || type == "BatchNormalization";
    if (type == "Dropout") TrainDropout(OpId(i), appender);
    if (type == "BatchNormalization") SBP_RETURN_IF_ERROR(TrainNormalization(OpId(i), appender));
  }
  if (any) return OkStatus();
  return BadInput("--train-mode: the model has no Dropout and no BatchNormalization; exporters fold them away");
}

}  // namespace sbp
