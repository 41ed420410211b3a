#include "pipeline/earlier_answer.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "io/documents.h"

namespace sbp {
namespace {

bool SameValues(const Tensor& a, const Tensor& b) {
  const bool same_literal =
      a.literal == b.literal || (a.literal != nullptr && b.literal != nullptr && *a.literal == *b.literal);
  const bool same_run =
      a.strided == b.strided || (a.strided != nullptr && b.strided != nullptr && *a.strided == *b.strided);
  return same_literal && same_run;
}

// Equal but for the numbers of tensors, which a file does not keep.
class Comparison {
 public:
  Comparison(const Graph& a, const Graph& b) : a_(a), b_(b) {}

  bool Run() {
    if (a_.tensors.size() != b_.tensors.size() || a_.ops.size() != b_.ops.size()) return false;
    if (a_.ties.size() != b_.ties.size() || a_.micro_batches != b_.micro_batches) return false;
    const NameIndex names(b_);
    for (const Tensor& tensor : a_.tensors) number_in_b_.push_back(names.tensor(tensor.name));
    for (size_t t = 0; t < a_.tensors.size(); ++t) {
      if (!number_in_b_[t].valid() || !SameTensor(a_.tensors[t], b_.tensor(number_in_b_[t]))) return false;
    }
    for (size_t o = 0; o < a_.ops.size(); ++o) {
      if (!SameOp(a_.ops[o], b_.ops[o])) return false;
    }
    const auto same_tie = [&](const Tie& x, const Tie& y) {
      return InB(x.output) == y.output && InB(x.input) == y.input && x.restarts == y.restarts;
    };
    return SameTensors(a_.inputs, b_.inputs) && SameTensors(a_.outputs, b_.outputs) &&
           std::ranges::equal(a_.ties, b_.ties, same_tie);
  }

 private:
  TensorId InB(TensorId tensor) const { return tensor.valid() ? number_in_b_[tensor.index()] : tensor; }
  bool SameTensors(const std::vector<TensorId>& a, const std::vector<TensorId>& b) const {
    return std::ranges::equal(a, b, [&](TensorId x, TensorId y) { return InB(x) == y; });
  }
  static bool SameTensor(const Tensor& a, const Tensor& b) {
    return a.type == b.type && a.role == b.role && a.producer == b.producer && a.producer_index == b.producer_index &&
           a.layout_pin == b.layout_pin && SameValues(a, b);
  }
  // Subgraphs are not looked into: ops that have some count as different.
  bool SameOp(const Op& a, const Op& b) const {
    return a.name == b.name && a_.type_of(a) == b_.type_of(b) && SameTensors(a.inputs, b.inputs) &&
           SameTensors(a.outputs, b.outputs) && SameTensors(a.captures, b.captures) &&
           a.signature_pin == b.signature_pin && a_.scope_of(a) == b_.scope_of(b) &&
           Equal(*a.attributes, *b.attributes);
  }

  const Graph& a_;
  const Graph& b_;
  std::vector<TensorId> number_in_b_;  // per tensor of a
};

bool SameOptions(const PlanOptions& a, const PlanOptions& b) {
  return a.strategy == b.strategy && a.outputs == b.outputs && a.even_only == b.even_only && a.strict == b.strict &&
         a.prefetch == b.prefetch && a.rule_files == b.rule_files;
}

}  // namespace

bool AnswersAlike(const Plan& earlier, const Plan& posed) {
  return earlier.version == posed.version && earlier.mesh == posed.mesh &&
         SameOptions(earlier.options, posed.options) && Comparison(earlier.graph, posed.graph).Run() &&
         WriteCluster(earlier.cluster, Encoding::kJson) == WriteCluster(posed.cluster, Encoding::kJson);
}

}  // namespace sbp
