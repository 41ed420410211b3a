#include "grad/train_mode.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
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
constexpr int kMostDims = 5;  // that rules of sbp::ChannelSum have

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

// The op takes the statistics itself, of a batch that is whole.
Status TrainWhole(OpId id, Appender& appender) {
  Graph& graph = appender.graph();
  Attributes attributes = *graph.op(id).attributes;
  attributes.Set("training_mode", int64_t{1});
  graph.op(id).attributes = appender.Shared(std::move(attributes));
  for (size_t r = 1; r <= 2; ++r) {
    const TensorId running = graph.op(id).inputs[2 + r];
    const TensorId next = appender.AddResult(id, r, appender.type(running));
    if (graph.tensor(running).role == TensorRole::kActivation) continue;
    const std::string name = StrCat("next/", graph.tensor(running).name);
    appender.Rename(next, name);
    if (graph.tensor(next).name != name) return BadInput(StrCat("--train-mode: the model already has ", Quote(name)));
    graph.outputs.push_back(next);
    graph.ties.push_back({next, running});
  }
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
  if (appender.type(x).rank() > kMostDims) return TrainWhole(id, appender);
  // Of many elements, which f16 could not count.
  const DType type = appender.type(inputs[kMean]).dtype, wide = DTypeBits(type) < 32 ? DType::kF32 : type;
  SBP_ASSIGN_OR_RETURN(const TensorId sum, appender.Call("sbp::ChannelSum", {x}, {{"to", static_cast<int64_t>(wide)}},
                                                         StrCat(name, "/sum"), scope));
  SBP_ASSIGN_OR_RETURN(const TensorId mean, MeanOf(sum, x, StrCat(name, "/mean"), scope, appender));
  // Moving it changes no variance.
  SBP_ASSIGN_OR_RETURN(const TensorId center,
                       appender.Call("sbp::StopGradient", {mean}, {}, StrCat(name, "/center"), scope));
  SBP_ASSIGN_OR_RETURN(const TensorId squares,
                       appender.Call("sbp::SquaresAbout", {x, center}, {}, StrCat(name, "/squares"), scope));
  SBP_ASSIGN_OR_RETURN(const TensorId variance, MeanOf(squares, x, StrCat(name, "/variance"), scope, appender));
  for (const auto& [place, batch] : {std::pair(kMean, mean), {kVariance, variance}}) {
    TensorId own = batch;
    if (const DType kept = appender.type(inputs[place]).dtype; kept != wide) {
      SBP_ASSIGN_OR_RETURN(
          own, appender.Call("Cast", {batch}, {{"to", static_cast<int64_t>(kept)}}, StrCat(name, "/narrow"), scope));
    }
    appender.graph().op(id).inputs[place] = batch;
    SBP_RETURN_IF_ERROR(UpdateRunning(inputs[place], own, momentum, StrCat(name, "/running"), scope, appender));
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
  if (any) return SortTopologically(appender.graph());
  return BadInput("--train-mode: the model has no Dropout and no BatchNormalization; exporters fold them away");
}

}  // namespace sbp
