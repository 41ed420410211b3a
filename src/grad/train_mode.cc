#include "grad/train_mode.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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

// Running mean and variance are operands 3 and 4.
constexpr size_t kMean = 3, kVariance = 4;

// A sum over a batch, of each channel, as its mean.
Result<TensorId> MeanOf(TensorId sum, TensorId of, const std::string& name, uint32_t scope, Appender& appender) {
  const double count = static_cast<double>(appender.type(of).num_elements()) /
                       static_cast<double>(std::max<int64_t>(1, appender.type(sum).num_elements()));
  return appender.Call("Mul", {sum, appender.Number(1 / count, appender.type(sum).dtype)}, {}, name, scope);
}

// What takes the place of a running statistic after the step.
Status UpdateRunning(TensorId running, TensorId batch, double momentum, const std::string& name, uint32_t scope,
                     Appender& appender) {
  Graph& graph = appender.graph();
  if (graph.tensor(running).role == TensorRole::kActivation) return OkStatus();
  const DType type = appender.type(running).dtype;
  const TensorId kept = appender.Number(momentum, type), taken = appender.Number(1 - momentum, type);
  SBP_ASSIGN_OR_RETURN(const TensorId old, appender.Call("Mul", {running, kept}, {}, name, scope));
  SBP_ASSIGN_OR_RETURN(const TensorId fresh, appender.Call("Mul", {batch, taken}, {}, name, scope));
  const std::string next_name = StrCat("next/", graph.tensor(running).name);
  SBP_ASSIGN_OR_RETURN(const TensorId next, appender.Call("Add", {old, fresh}, {}, next_name, scope));
  if (graph.tensor(next).name != next_name)
    return BadInput(StrCat("--train-mode: the model already has ", Quote(next_name)));
  graph.outputs.push_back(next);
  graph.ties.push_back({next, running});
  return OkStatus();
}

// By the statistics of the batch, which ops of their own take: so a batch may be split, and these are summed.
Status TrainNormalization(OpId id, Appender& appender) {
  Graph& graph = appender.graph();
  if (graph.op(id).attributes->Int("training_mode", 0) != 0) return OkStatus();
  const std::vector<TensorId> inputs = graph.op(id).inputs;
  const std::string name = graph.op(id).name;
  const uint32_t scope = graph.op(id).scope;
  const double momentum = graph.op(id).attributes->Float("momentum", 0.9F);
  const TensorId x = inputs[0];
  const DType type = appender.type(inputs[kMean]).dtype;
  SBP_ASSIGN_OR_RETURN(const TensorId sum, appender.Call("sbp::ChannelSum", {x}, {{"to", static_cast<int64_t>(type)}},
                                                         StrCat(name, "/sum"), scope));
  SBP_ASSIGN_OR_RETURN(const TensorId mean, MeanOf(sum, x, StrCat(name, "/mean"), scope, appender));
  // Moving it changes no variance.
  SBP_ASSIGN_OR_RETURN(const TensorId center,
                       appender.Call("sbp::StopGradient", {mean}, {}, StrCat(name, "/center"), scope));
  SBP_ASSIGN_OR_RETURN(const TensorId squares,
                       appender.Call("sbp::SquaresAbout", {x, center}, {}, StrCat(name, "/squares"), scope));
  SBP_ASSIGN_OR_RETURN(TensorId variance, MeanOf(squares, x, StrCat(name, "/variance"), scope, appender));
  if (const DType own = appender.type(inputs[kVariance]).dtype; own != type) {
    SBP_ASSIGN_OR_RETURN(
        variance, appender.Call("Cast", {variance}, {{"to", static_cast<int64_t>(own)}}, StrCat(name, "/var"), scope));
  }
  graph.op(id).inputs[kMean] = mean;
  graph.op(id).inputs[kVariance] = variance;
  SBP_RETURN_IF_ERROR(UpdateRunning(inputs[kMean], mean, momentum, StrCat(name, "/running"), scope, appender));
  return UpdateRunning(inputs[kVariance], variance, momentum, StrCat(name, "/running"), scope, appender);
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
  if (any) return SortTopologically(appender.graph());
  return BadInput("--train-mode: the model has no Dropout and no BatchNormalization; exporters fold them away");
}

}  // namespace sbp
