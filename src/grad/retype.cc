#include "grad/retype.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "grad/drop.h"
#include "grad/narrow.h"
#include "grad/precision.h"
#include "grad/trainable.h"
#include "graph/each_operand.h"
#include "graph/literal.h"

namespace sbp {
namespace {

// The only reader of the tensor, where that is a Cast to a float of fewer bits, and it is no output; invalid: none.
std::vector<OpId> LoneCasts(const Graph& graph) {
  std::vector<OpId> reader(graph.tensors.size());
  std::vector<int> readers(graph.tensors.size(), 0);
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    EachOperand(graph.ops[o], [&](TensorId id) {
      reader[id.index()] = OpId(o);
      ++readers[id.index()];
    });
  }
  for (const TensorId id : graph.outputs) readers[id.index()] = 0;
  for (size_t t = 0; t < readers.size(); ++t) {
    const DType from = graph.tensors[t].type.dtype;
    const bool casts = readers[t] == 1 && IsFloat(from) && graph.type_of(graph.op(reader[t])) == "Cast";
    const DType to = casts ? graph.tensor(graph.op(reader[t]).outputs[0]).type.dtype : from;
    if (!casts || !IsFloat(to) || DTypeBits(to) >= DTypeBits(from)) reader[t] = OpId();
  }
  return reader;
}

// Parameters and inputs that are only cast are of the type that they are cast to.
void StoreAsCast(Graph& graph) {
  const std::vector<OpId> casts = LoneCasts(graph);
  std::vector<TensorId> stands_for(graph.tensors.size());
  std::vector<bool> gone(graph.ops.size(), false);
  const auto is_output = [&](TensorId id) { return std::ranges::find(graph.outputs, id) != graph.outputs.end(); };
  for (size_t t = 0; t < casts.size(); ++t) {
    Tensor& tensor = graph.tensors[t];
    if (!casts[t].valid() || tensor.role == TensorRole::kActivation) continue;
    const TensorId cast = graph.op(casts[t]).outputs[0];
    if (is_output(cast)) continue;
    tensor.type.dtype = graph.tensor(cast).type.dtype;
    tensor.data.reset();
    if (tensor.part != nullptr) {
      WeightPart part = *tensor.part;
      part.type.dtype = tensor.type.dtype;
      tensor.part = std::make_shared<const WeightPart>(std::move(part));
    }
    if (tensor.literal != nullptr) {
      Literal literal = *tensor.literal;
      literal.type.dtype = tensor.type.dtype;
      literal.raw.clear();
      const double least = LowestNumber(tensor.type.dtype), most = HighestNumber(tensor.type.dtype);
      for (double& value : literal.floats) value = value == value ? std::clamp(value, least, most) : value;
      tensor.literal = std::make_shared<const Literal>(std::move(literal));
    }
    stands_for[cast.index()] = TensorId(t);
    gone[casts[t].index()] = true;
  }
  std::vector<Op> ops;
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    if (gone[o]) continue;
    Op& op = ops.emplace_back(std::move(graph.ops[o]));
    for (auto* list : {&op.inputs, &op.captures}) {
      for (TensorId& id : *list) {
        if (id.valid() && stands_for[id.index()].valid()) id = stands_for[id.index()];
      }
    }
  }
  graph.ops = std::move(ops);
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    for (const TensorId id : graph.ops[o].outputs) {
      if (id.valid()) graph.tensor(id).producer = OpId(o);
    }
  }
  DropUnneeded(graph);
}

}  // namespace

Result<Graph> RetypeModel(Graph graph, const std::string& type, const RuleSet& rules) {
  const auto of_flag = [](const Status& status) { return status.WithContext("--dtype"); };
  const Result<DType> compute = ParseComputeType(type);
  if (!compute.ok()) return BadInput(StrCat("--dtype: expected bf16, f16 or fp8, not ", Quote(type)));
  const std::vector<bool> trainable = FindTrainable(graph, rules);
  std::vector<std::string> weights;
  size_t num_computed = 0;  // weights that are of the type already
  for (size_t t = 0; t < trainable.size(); ++t) {
    const DType dtype = graph.tensors[t].type.dtype;
    if (trainable[t] && dtype == DType::kF32) weights.push_back(graph.tensors[t].name);
    if (trainable[t] && dtype == *compute) ++num_computed;
  }
  const bool only_narrows = weights.empty() && num_computed > 0 && type == kNarrowCompute;
  if (weights.empty() && !only_narrows) {
    return BadInput(StrCat("--dtype ", type, ": no weight of the model is f32",
                           num_computed > 0 ? StrCat(": some are ", DTypeName(*compute), " already") : "",
                           "; models of f32 are re-typed, and to fp8 those of bf16"));
  }
  Result<Graph> lowered = only_narrows ? std::move(graph) : LowerPrecision(std::move(graph), weights, *compute, rules);
  if (!lowered.ok()) return of_flag(lowered.status());
  StoreAsCast(*lowered);
  if (type != kNarrowCompute) return lowered;
  Result<int64_t> products = NarrowProducts(*lowered, {}, rules);
  if (!products.ok()) return of_flag(products.status());
  if (*products == 0) {
    return BadInput(
        "--dtype fp8: the model has no product of data and weights (MatMul, Gemm) but the last, which stays bf16; "
        "convolutions have no form in 8 bits: --dtype bf16 plans them narrower, too");
  }
  StoreAsCast(*lowered);
  return lowered;
}

}  // namespace sbp
