#include "pipeline/looped_experts.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "rule/factor_map.h"

namespace sbp {
namespace {

// The dimension of a tensor whose size an op's data decide.
struct Counted {
  OpId by;
  int dim = -1;
};

class CountedDims {
 public:
  explicit CountedDims(const Problem& problem) : problem_(problem), counted_(problem.graph->tensors.size()) {
    for (size_t o = 0; o < problem.num_ops(); ++o) Follow(OpId(o));
  }
  const std::optional<Counted>& of(TensorId tensor) const { return counted_[tensor.index()]; }

 private:
  static bool Shares(const DimFactors& a, const DimFactors& b) {
    return std::ranges::any_of(a, [&](FactorId f) { return std::ranges::find(b, f) != b.end(); });
  }

  void Follow(OpId op) {
    const RuleInstance& instance = *problem_.class_at(op).list->instance;
    const std::vector<TensorId>& results = problem_.graph->op(op).outputs;
    const std::span<const TensorId> operands = problem_.operands(op);
    for (size_t r = 0; r < results.size() && r < instance.map.results.size(); ++r) {
      if (!results[r].valid()) continue;
      std::optional<Counted>& counted = counted_[results[r].index()];
      const TensorFactors& dims = instance.map.results[r];
      for (const ComputedSize& size : instance.computed_sizes) {
        for (const auto& [result, dim] : size.dims) {
          if (static_cast<size_t>(result) == r) counted = Counted{op, dim};
        }
      }
      for (size_t i = 0; i < operands.size() && i < instance.map.operands.size() && !counted; ++i) {
        if (!operands[i].valid() || !of(operands[i])) continue;
        const Counted& from = *of(operands[i]);
        const TensorFactors& factors = instance.map.operands[i];
        if (static_cast<size_t>(from.dim) >= factors.size()) continue;
        const auto at = std::ranges::find_if(
            dims, [&](const DimFactors& dim) { return Shares(dim, factors[static_cast<size_t>(from.dim)]); });
        if (at != dims.end()) counted = Counted{from.by, static_cast<int>(at - dims.begin())};
      }
    }
  }

  const Problem& problem_;
  std::vector<std::optional<Counted>> counted_;  // per tensor
};

// A product of counted rows with a parameter of matrices or more.
std::optional<TensorId> WeightOfProduct(const Problem& problem, const CountedDims& counted, OpId op) {
  const RuleInstance& instance = *problem.class_at(op).list->instance;
  const std::vector<TensorId>& results = problem.graph->op(op).outputs;
  if (!instance.contraction || results.empty() || !results[0].valid()) return std::nullopt;
  if (!counted.of(results[0])) return std::nullopt;
  for (const TensorId id : problem.operands(op)) {
    if (!id.valid()) continue;
    const Tensor& tensor = problem.graph->tensor(id);
    if (tensor.role == TensorRole::kParameter && tensor.type.rank() >= 2 && IsFloat(tensor.type.dtype)) return id;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> WarnOfLoopedExperts(const Problem& problem) {
  const auto computes = [](const OpClass& c) { return !c.list->instance->computed_sizes.empty(); };
  if (std::ranges::none_of(problem.classes, computes)) return {};
  const CountedDims counted(problem);
  std::map<uint32_t, std::vector<OpId>> products;  // per class: the first one of each op that picks rows
  for (size_t o = 0; o < problem.num_ops(); ++o) {
    const OpId op(o);
    if (!WeightOfProduct(problem, counted, op)) continue;
    std::vector<OpId>& alike = products[problem.class_of[o]];
    const OpId by = counted.of(problem.graph->op(op).outputs[0])->by;
    const auto by_same = [&](OpId other) { return counted.of(problem.graph->op(other).outputs[0])->by == by; };
    if (alike.empty() || !by_same(alike.back())) alike.push_back(op);
  }
  const std::vector<OpId>* most = nullptr;
  for (const auto& [op_class, alike] : products) {
    if (alike.size() > 1 && (most == nullptr || alike.size() > most->size())) most = &alike;
  }
  if (most == nullptr) return {};
  const Graph& graph = *problem.graph;
  const Op& product = graph.op(most->front());
  const Counted rows = *counted.of(product.outputs[0]);
  const Op& picks = graph.op(rows.by);
  const int64_t count = problem.type(product.outputs[0]).shape[static_cast<size_t>(rows.dim)];
  return {StrCat("experts are written one by one: op ", Quote(picks.name), " (", graph.type_of(picks),
                 ") picks the rows that ", graph.type_of(product), " ", Quote(product.name), " multiplies by ",
                 Quote(graph.tensor(*WeightOfProduct(problem, counted, most->front())).name),
                 ", only data decide how many, and each of ", most->size(), " such products is planned for all ", count,
                 " of them; times and memory are too high by as much. Export the experts stacked in one weight, which "
                 "is planned as a grouped product (transformers: experts_implementation=\"batched_mm\")")};
}

}  // namespace sbp
