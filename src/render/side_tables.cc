#include "render/side_tables.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "graph/graph.h"
#include "graph/phases.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

// Per tensor: is it read at four places or more that lie more than half the forward pass apart?
std::vector<bool> FindSpread(const Graph& graph) {
  constexpr size_t kLeastReaders = 4;
  struct Readers {
    size_t count = 0;
    uint32_t first = 0, last = 0;
  };
  std::vector<Readers> readers(graph.tensors.size());
  size_t forward = 0;
  for (uint32_t o = 0; o < graph.ops.size(); ++o) {
    if (PhaseOf(graph, graph.ops[o]) != Phase::kForward) continue;
    ++forward;
    for (const TensorId id : graph.OperandsOf(graph.ops[o])) {
      if (!id.valid()) continue;
      Readers& of = readers[id.index()];
      if (of.count++ == 0) of.first = o;
      of.last = o;
    }
  }
  std::vector<bool> spread;
  for (const Readers& of : readers) spread.push_back(of.count >= kLeastReaders && of.last - of.first > forward / 2);
  return spread;
}

}  // namespace

std::vector<bool> FindSideInputs(const Graph& graph) {
  std::vector<bool> side = FindSpread(graph);
  for (size_t t = 0; t < side.size(); ++t) side[t] = side[t] && graph.tensors[t].role == TensorRole::kInput;
  return side;
}

std::vector<bool> FindSideTables(const Graph& graph) {
  constexpr int64_t kMostElements = int64_t{1} << 22;      // of parameters: larger ones are embeddings and weights
  std::vector<bool> follows(graph.tensors.size(), false);  // from parameters, numbers and positions alone
  for (uint32_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    const bool is_position = !IsFloat(tensor.type.dtype) || tensor.type.rank() <= 1;
    const bool is_small = tensor.type.num_elements() <= kMostElements;
    follows[t] =
        (tensor.role == TensorRole::kParameter && is_small) || (tensor.role == TensorRole::kInput && is_position);
  }
  std::vector<bool> alone(graph.ops.size(), false);  // ops that read nothing else
  for (uint32_t o = 0; o < graph.ops.size(); ++o) {  // producers stand before readers
    const std::vector<TensorId> operands = graph.OperandsOf(graph.ops[o]);
    if (PhaseOf(graph, graph.ops[o]) != Phase::kForward) continue;
    alone[o] = std::ranges::all_of(operands, [&](TensorId id) { return !id.valid() || follows[id.index()]; });
    for (const TensorId id : graph.ops[o].outputs) {
      if (id.valid()) follows[id.index()] = alone[o];
    }
  }
  const std::vector<bool> spread = FindSpread(graph);
  std::vector<bool> side(graph.ops.size(), false), needed(graph.tensors.size(), false);
  for (uint32_t o = static_cast<uint32_t>(graph.ops.size()); o-- > 0;) {
    if (!alone[o]) continue;
    side[o] = std::ranges::any_of(graph.ops[o].outputs, [&](TensorId id) {
      if (!id.valid()) return false;
      return needed[id.index()] || spread[id.index()];
    });
    if (!side[o]) continue;
    for (const TensorId id : graph.OperandsOf(graph.ops[o])) {
      if (id.valid()) needed[id.index()] = true;
    }
  }
  return side;
}

std::map<uint32_t, std::set<TensorId>> InputsOfOneReader(const Graph& graph,
                                                         const std::function<int32_t(uint32_t)>& node_of_op) {
  constexpr int32_t kSeveral = -1;
  std::map<TensorId, int32_t> readers;
  for (uint32_t o = 0; o < graph.ops.size(); ++o) {
    const int32_t node = node_of_op(o);
    if (node < 0) continue;
    for (const TensorId id : graph.OperandsOf(graph.ops[o])) {
      if (!id.valid() || graph.tensor(id).role != TensorRole::kInput) continue;
      int32_t& reader = readers.try_emplace(id, node).first->second;
      if (reader != node) reader = kSeveral;
    }
  }
  std::map<uint32_t, std::set<TensorId>> inputs;
  for (const auto& [id, node] : readers) {
    if (node != kSeveral) inputs[static_cast<uint32_t>(node)].insert(id);
  }
  return inputs;
}

}  // namespace sbp
