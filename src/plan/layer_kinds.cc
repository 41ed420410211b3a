#include "plan/layer_kinds.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "base/hash.h"
#include "base/ids.h"
#include "graph/graph.h"
#include "graph/layers.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

// How an op is laid out, as a number; the same wherever it is. 0: the plan does not say.
size_t HashOfChoice(const Plan& plan, OpId op) {
  if (op.index() >= plan.op_records.size() || plan.op_records[op.index()] >= plan.records.size()) return 0;
  const Signature& signature = plan.decision(op).signature;
  size_t hash = HashRange(signature.inputs.size(), signature.inputs);
  hash = HashRange(hash, signature.outputs);
  for (const TensorId id : plan.graph.OperandsOf(plan.graph.op(op))) {
    const bool is_source =
        id.valid() && !plan.graph.tensor(id).producer.valid() && id.index() < plan.source_layouts.size();
    hash = HashCombine(hash, is_source ? HashOf(plan.source_layouts[id.index()]) : 0);
  }
  return hash;
}

// Of a layer, by kind of op: choices of its ops, sorted. Only of kinds of which it has as many as most layers.
using Choices = std::map<uint32_t, std::vector<size_t>>;

std::vector<Choices> ChoicesOf(const Plan& plan, const Layers& layers) {
  std::vector<Choices> all(layers.count);
  for (size_t o = 0; o < layers.of_op.size(); ++o) {
    if (layers.of_op[o] != Layers::kNone) {
      all[layers.of_op[o]][layers.kind[o]].push_back(HashOfChoice(plan, OpId(o)));
    }
  }
  std::map<uint32_t, std::map<size_t, int32_t>> counts;  // by kind and ops of it in a layer: layers
  for (const Choices& one : all) {
    for (const auto& [kind, choices] : one) ++counts[kind][choices.size()];
  }
  for (Choices& one : all) {
    std::erase_if(
        one, [&](const auto& entry) { return 2 * counts.at(entry.first).at(entry.second.size()) <= layers.count; });
    for (auto& [kind, choices] : one) std::ranges::sort(choices);
  }
  return all;
}

bool Alike(const Choices& a, const Choices& b) {
  return std::ranges::all_of(a, [&](const auto& entry) {
    const auto found = b.find(entry.first);
    return found == b.end() || found->second == entry.second;
  });
}

}  // namespace

LayerKinds KindsOfLayers(const Plan& plan) {
  const Layers layers = FindRepeatedLayers(plan.graph);
  LayerKinds result;
  result.layers = layers.count;
  std::vector<Choices> kinds;
  for (Choices& one : ChoicesOf(plan, layers)) {
    size_t kind = 0;
    while (kind < kinds.size() && !Alike(one, kinds[kind])) ++kind;
    if (kind == kinds.size()) {
      kinds.push_back(std::move(one));
    } else {
      kinds[kind].merge(one);  // what the first of its kind lacks
    }
    const auto number = static_cast<int32_t>(kind);
    result.runs += result.kind.empty() || result.kind.back() != number ? 1 : 0;
    result.kind.push_back(number);
  }
  result.kinds = static_cast<int32_t>(kinds.size());
  return result;
}

}  // namespace sbp
