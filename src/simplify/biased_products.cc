// A product of matrices and a bias that is added behind it: one Gemm, as exporters that know the layer write it.
// Libraries add the bias in the product's own kernel.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/simplified.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "simplify/simplify.h"
#include "simplify/spelling_reader.h"

namespace sbp::simplify {
namespace {

class BiasReader : SpellingReader {
 public:
  BiasReader(Graph& graph, const std::vector<bool>& computed) : SpellingReader(graph, computed) {}

  bool Run() {
    const size_t count = graph_.ops.size();
    for (size_t o = 0; o < count; ++o) {
      const Op& sum = graph_.ops[o];
      if (graph_.type_of(sum) != "Add" || sum.inputs.size() != 2 || !sum.signature_pin.empty()) continue;
      for (const size_t side : {size_t{0}, size_t{1}}) {
        const Op* product = Inner(sum.inputs[side], "MatMul", 2);
        if (product == nullptr || !IsBiased(*product, sum, sum.inputs[1 - side])) continue;
        Write(o, *product, sum.inputs[1 - side]);
        break;
      }
    }
    edit_.Finish();
    return edit_.changed();
  }

 private:
  bool IsKnown(TensorId id) const { return id.valid() && (id.index() >= computed_.size() || !computed_[id.index()]); }

  // Two matrices, and a parameter of one number a column.
  bool IsBiased(const Op& product, const Op& sum, TensorId bias) const {
    if (!IsKnown(product.inputs[0]) || !IsKnown(product.inputs[1]) || !IsKnown(bias)) return false;
    const TensorType& made = TypeOf(product.outputs[0]);
    if (made.shape.size() != 2 || TypeOf(product.inputs[0]).shape.size() != 2 ||
        TypeOf(product.inputs[1]).shape.size() != 2) {
      return false;
    }
    const TensorType& added = TypeOf(bias);
    const bool is_row = added.shape == Shape{made.shape[1]} || added.shape == Shape{1, made.shape[1]};
    return is_row && graph_.tensor(bias).role == TensorRole::kParameter && added.dtype == made.dtype &&
           TypeOf(sum.outputs[0]) == made;
  }

  void Write(size_t o, const Op& product, TensorId bias) {
    const Op& sum = graph_.ops[o];
    const std::string names = StrCat(product.name, ", ", sum.name);
    Op gemm = edit_.MakeOp(sum, "Gemm", sum.name, {product.inputs[0], product.inputs[1], bias});
    gemm.outputs = sum.outputs;
    gemm.metadata.emplace_back(kSimplifiedFrom, names);
    edit_.Remove(o);
    edit_.Insert(o, std::move(gemm));
  }
};

}  // namespace

bool BiasedProducts(Graph& graph, const std::vector<bool>& computed) { return BiasReader(graph, computed).Run(); }

}  // namespace sbp::simplify
