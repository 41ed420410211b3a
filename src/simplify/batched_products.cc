// Products whose batch and heads stand as one dimension in between, as decompositions of torch have them (bmm): of both
// dimensions, so that layouts can split either, and attention is found.
#include <cstddef>
#include <optional>
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

class BatchReader : SpellingReader {
 public:
  BatchReader(Graph& graph, const std::vector<bool>& computed) : SpellingReader(graph, computed) {}

  bool Run() {
    const size_t count = graph_.ops.size();
    for (size_t o = 0; o < count; ++o) {
      const Op& split = graph_.ops[o];
      if (graph_.type_of(split) != "Reshape" || !split.signature_pin.empty() || !IsKnown(split.outputs[0])) continue;
      const Op* product = Inner(split.inputs[0], "MatMul", 2);
      if (product == nullptr || TypeOf(split.inputs[0]).shape.size() != 3) continue;
      const std::optional<TensorId> a = MergedFrom(product->inputs[0]), b = MergedFrom(product->inputs[1]);
      if (a && b && Fits(TypeOf(*a).shape, TypeOf(*b).shape, TypeOf(split.outputs[0]).shape))
        Write(o, *product, *a, *b);
    }
    edit_.Finish();
    return edit_.changed();
  }

 private:
  bool IsKnown(TensorId id) const { return id.valid() && (id.index() >= computed_.size() || !computed_[id.index()]); }

  // (b, h, m, k), of which the tensor is (b h, m, k).
  std::optional<TensorId> MergedFrom(TensorId id) const {
    const Op* merge = edit_.Producer(id);
    if (merge == nullptr || graph_.type_of(*merge) != "Reshape" || !merge->signature_pin.empty()) return std::nullopt;
    TensorId of = merge->inputs[0];
    if (!IsKnown(of) || !IsKnown(id) || edit_.IsKept(id)) return std::nullopt;
    const Shape &from = TypeOf(of).shape, &to = TypeOf(id).shape;
    const bool merges =
        from.size() == 4 && to.size() == 3 && from[0] * from[1] == to[0] && from[2] == to[1] && from[3] == to[2];
    return merges ? std::optional(of) : std::nullopt;
  }

  static bool Fits(const Shape& a, const Shape& b, const Shape& made) {
    return made.size() == 4 && a[0] == b[0] && a[1] == b[1] && a[3] == b[2] && made == Shape{a[0], a[1], a[2], b[3]};
  }

  void Write(size_t o, const Op& product, TensorId a, TensorId b) {
    const Op& split = graph_.ops[o];
    Op whole = edit_.MakeOp(product, "MatMul", split.name, {a, b});
    whole.outputs = split.outputs;
    whole.attributes = product.attributes;
    whole.metadata.emplace_back(kSimplifiedFrom, StrCat(product.name, ", ", split.name));
    edit_.Remove(o);
    edit_.Insert(o, std::move(whole));
  }
};

}  // namespace

bool BatchedProducts(Graph& graph, const std::vector<bool>& computed) { return BatchReader(graph, computed).Run(); }

}  // namespace sbp::simplify
