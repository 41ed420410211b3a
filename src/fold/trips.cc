#include "fold/trips.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "fold/context.h"
#include "fold/prune.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

struct Known {
  TensorType type;
  LiteralRef value;
};

// The part of a body that the condition needs, from trip to trip.
struct ConditionPart {
  Graph graph;
  std::vector<size_t> inputs;   // the body's inputs that it reads
  std::vector<size_t> carried;  // its results after the condition: these carried values
};

ConditionPart CutOut(const Graph& body, size_t num_carried) {
  ConditionPart part;
  const std::vector<bool> droppable(body.inputs.size(), true);
  for (bool grows = true; grows;) {
    part.graph = body;
    part.graph.outputs = {body.outputs[0]};
    for (const size_t i : part.carried) part.graph.outputs.push_back(body.outputs[1 + i]);
    const std::vector<bool> kept = Prune(part.graph, droppable);
    part.inputs.clear();
    grows = false;
    for (size_t i = 0; i < kept.size(); ++i) {
      if (!kept[i]) continue;
      part.inputs.push_back(i);
      if (i < 2 || i >= 2 + num_carried || std::ranges::count(part.carried, i - 2) > 0) continue;
      part.carried.push_back(i - 2);
      grows = true;
    }
  }
  return part;
}

LiteralRef Share(Literal literal) { return std::make_shared<const Literal>(std::move(literal)); }

// One trip: `known` holds what each input of the part is, and then what each of its results is.
bool RunOnce(FoldContext& context, const ConditionPart& part, std::vector<Known>& known) {
  Graph graph = part.graph;
  for (size_t i = 0; i < known.size(); ++i) {
    Tensor& tensor = graph.tensor(graph.inputs[i]);
    tensor.type = known[i].type;
    tensor.symbols.clear();
  }
  const std::vector<TensorId> inputs = graph.inputs;
  PassState pass(context, std::move(graph));
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i].value != nullptr) pass.values().SetGiven(inputs[i], known[i].value);
  }
  const Result<Graph> done = context.resolve_graph(pass);
  if (!done.ok()) return false;
  std::vector<Known> results;
  for (const TensorId id : done->outputs) {
    const auto input = static_cast<size_t>(std::ranges::find(inputs, id) - inputs.begin());
    const Tensor& tensor = done->tensor(id);
    results.push_back(input < inputs.size() ? known[input] : Known{tensor.type, tensor.literal});
  }
  known = std::move(results);
  return true;
}

std::optional<bool> TruthOf(const LiteralRef& value) {
  if (value == nullptr || value->ints.size() != 1) return std::nullopt;
  return value->ints[0] != 0;
}

}  // namespace

std::optional<int64_t> CountTrips(PassState& pass, const Op& op, const Graph& body, size_t first_capture,
                                  std::optional<int64_t> most) {
  if (op.inputs[1].valid()) {
    pass.UseValue(op.inputs[1]);
    const std::optional<bool> starts = TruthOf(pass.value(op.inputs[1]));
    if (!starts) return std::nullopt;
    if (!*starts) return 0;
  }
  if (most && *most <= 0) return 0;
  const size_t num_carried = op.inputs.size() - 2;
  const ConditionPart part = CutOut(body, num_carried);
  FoldContext& context = pass.context();
  const int64_t budget = context.op_budget / 4;
  FoldContext scratch(context.rules, context.options, context.resolve_graph);  // its warnings are of no interest
  scratch.bindings = context.bindings;
  scratch.op_budget = budget;
  scratch.depth = context.depth + 1;
  if (scratch.depth >= kMaxSubgraphDepth) return std::nullopt;
  std::vector<Known> carried(num_carried);
  const auto outer = [&](TensorId id) {
    return id.valid() ? Known{pass.graph().tensor(id).type, pass.value(id)} : Known{};
  };
  for (const size_t i : part.carried) carried[i] = outer(op.inputs[2 + i]);
  std::optional<int64_t> trips;
  for (int64_t trip = 0; trip < kMostCountedTrips && scratch.op_budget > 0; ++trip) {
    std::vector<Known> known;
    for (const size_t i : part.inputs) {
      if (i == 0) {
        const LiteralRef iteration = Share(Literal::Scalar(trip));
        known.push_back({iteration->type, iteration});
      } else if (i == 1) {
        const LiteralRef condition = Share(Literal::Scalar(1, DType::kBool));
        known.push_back({condition->type, condition});
      } else {
        known.push_back(i < 2 + num_carried ? carried[i - 2] : outer(op.captures[first_capture + i - 2 - num_carried]));
      }
    }
    if (!RunOnce(scratch, part, known)) break;
    const std::optional<bool> goes_on = TruthOf(known[0].value);
    if (!goes_on) break;
    if (!*goes_on || (most && trip + 1 >= *most)) {
      trips = trip + 1;
      break;
    }
    for (size_t i = 0; i < part.carried.size(); ++i) carried[part.carried[i]] = known[1 + i];
  }
  for (const size_t i : part.inputs) {
    if (!trips || i < 2) continue;
    const size_t capture = first_capture + i - 2 - num_carried;
    pass.UseValue(i < 2 + num_carried ? op.inputs[i] : op.captures[capture]);
  }
  context.op_budget -= budget - std::max<int64_t>(scratch.op_budget, 0);
  return trips;
}

}  // namespace sbp
