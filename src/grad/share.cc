#include "grad/share.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"
#include "base/name_table.h"
#include "decompose/draws.h"
#include "grad/attributes_table.h"
#include "graph/families.h"
#include "graph/graph.h"
#include "graph/literal.h"

namespace sbp {
namespace {

// Is each op of the type one of its own, whatever it reads?
bool IsOwn(std::string_view type, const RuleSet& rules) {
  return type == kRefetchOp || type == "SequenceEmpty" || DrawsRandom(type, rules);
}

}  // namespace

void ShareEqualOps(Graph& graph, const RuleSet& rules) {
  std::vector<TensorId> same(graph.tensors.size());  // the tensor that is read in its place
  for (size_t t = 0; t < same.size(); ++t) same[t] = TensorId(t);
  std::unordered_map<size_t, std::vector<TensorId>> constants;
  for (size_t t = 0; t < same.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    if (tensor.role != TensorRole::kParameter || tensor.literal == nullptr || !tensor.symbols.empty()) continue;
    std::vector<TensorId>& alike = constants[HashLiteral(*tensor.literal)];
    // A float may be a weight: only constants of ours, and integers, are one.
    const bool is_ours = tensor.literal->is_integral() || tensor.name.starts_with("backward/");
    const auto first =
        std::ranges::find_if(alike, [&](TensorId id) { return *graph.tensor(id).literal == *tensor.literal; });
    if (is_ours && first != alike.end()) same[t] = *first;
    if (is_ours && first == alike.end()) alike.push_back(TensorId(t));
  }
  std::vector<bool> own(graph.op_types.size());
  for (size_t i = 0; i < own.size(); ++i) own[i] = IsOwn(graph.op_types[i], rules);
  AttributesTable attributes;
  IndexTable seen;
  seen.Reserve(graph.ops.size());
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    Op& op = graph.ops[i];
    for (auto* list : {&op.inputs, &op.captures}) {
      for (TensorId& id : *list) id = id.valid() ? same[id.index()] : id;
    }
    if (own[op.type] || !op.captures.empty() || HasSubgraph(*op.attributes) || !op.signature_pin.empty()) continue;
    const Attributes* own_attributes = attributes.Find(op.attributes);
    const auto is_equal = [&](uint32_t other) {
      const Op& known = graph.ops[other];
      return known.type == op.type && known.inputs == op.inputs && attributes.Find(known.attributes) == own_attributes;
    };
    const size_t hash = HashRange(HashCombine(op.type, HashOf(own_attributes)), op.inputs);
    const uint32_t found = seen.Insert(hash, static_cast<uint32_t>(i), is_equal);
    if (found == i) continue;
    const Op& first = graph.ops[found];
    const auto has_all = [&](size_t r) { return r < first.outputs.size() && first.outputs[r].valid(); };
    bool all = true;
    for (size_t r = 0; r < op.outputs.size(); ++r) {
      if (!op.outputs[r].valid()) continue;
      all = all && has_all(r) && graph.tensor(first.outputs[r]).type == graph.tensor(op.outputs[r]).type &&
            graph.tensor(op.outputs[r]).layout_pin.size() == 0;
    }
    for (size_t r = 0; all && r < op.outputs.size(); ++r) {
      if (op.outputs[r].valid()) same[op.outputs[r].index()] = first.outputs[r];
    }
  }
}

}  // namespace sbp
