// Attention that is spelled out as products and a softmax, whose mask is a window of positions, or none: as the
// operator, which can be told of the window and needs no mask. Where nothing is known of a mask the spelling stays.
#include <cstddef>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "simplify/attention_spelling.h"
#include "simplify/simplify.h"

namespace sbp::simplify {
namespace {

class AttentionReader : AttentionSpellingReader {
 public:
  AttentionReader(Graph& graph, const std::vector<bool>& computed) : AttentionSpellingReader(graph, computed) {}

  bool Run() {
    const size_t count = graph_.ops.size();
    for (size_t o = 0; o < count; ++o) {
      if (const std::optional<AttentionSpelling> found = Find(graph_.ops[o])) Write(o, *found);
    }
    edit_.Finish();
    return edit_.changed();
  }
};

}  // namespace

bool SpelledAttention(Graph& graph, const std::vector<bool>& computed) {
  return AttentionReader(graph, computed).Run();
}

}  // namespace sbp::simplify
