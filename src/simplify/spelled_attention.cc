// Attention that is spelled out as products and a softmax, whose mask is a window of positions, or none: as the
// operator, which can be told of the window and needs no mask. Where nothing is known of a mask the spelling stays, but
// where keys and values are repeated for the query heads of their group: the operator reads each of them once, and what
// one step of decoding takes is their memory.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "simplify/attention_spelling.h"
#include "simplify/moves.h"
#include "simplify/repeated_heads.h"
#include "simplify/simplify.h"

namespace sbp::simplify {
namespace {

class AttentionReader : AttentionSpellingReader {
 public:
  AttentionReader(Graph& graph, const std::vector<bool>& computed) : AttentionSpellingReader(graph, computed) {}

  bool Run() {
    const size_t count = graph_.ops.size();
    for (size_t o = 0; o < count; ++o) {
      const std::optional<AttentionSpelling> found = Find(graph_.ops[o]);
      if (found && (!found->mask.valid() || TakesMask(*found))) Write(o, *found);
    }
    edit_.Finish();
    return edit_.changed();
  }

 private:
  // Is the operator of use with this mask, and the same?
  bool TakesMask(const AttentionSpelling& found) {
    if (!found.guarded && !LeavesNumbers(found.mask)) return false;
    const std::optional<FewerHeads> key = FewerHeadsOf(graph_, computed_, found.k_turned, true);
    const std::optional<FewerHeads> value = FewerHeadsOf(graph_, computed_, found.v);
    return key && value && HeadsOf(key->id) == HeadsOf(value->id);
  }

  int64_t HeadsOf(TensorId id) const { return TypeOf(id).shape[1]; }

  // Is the mask one of two finite numbers everywhere, moves passed through? Then rows of which no key is seen are
  // numbers, too: others in kernels that bound a mask (f16 on GPUs), as those of frameworks do.
  bool LeavesNumbers(TensorId mask) {
    const Op* op = ProducerOf(graph_, mask);
    while (op != nullptr && IsMove(graph_, *op, graph_.tensor(mask).producer_index)) {
      mask = op->inputs[0];
      op = ProducerOf(graph_, mask);
    }
    if (op == nullptr || graph_.type_of(*op) != "Where" || op->inputs.size() != 3) return false;
    const std::optional<double> a = ConstantOf(op->inputs[1]), b = ConstantOf(op->inputs[2]);
    return a && b && std::isfinite(*a) && std::isfinite(*b);
  }
};

}  // namespace

bool SpelledAttention(Graph& graph, const std::vector<bool>& computed) {
  return AttentionReader(graph, computed).Run();
}

}  // namespace sbp::simplify
