// Attention that is spelled out as products and a softmax, and whose mask is a window of positions, or is added: what
// the passes share that read it, alone or with its backward pass.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "graph/graph.h"
#include "simplify/causal_masks.h"
#include "simplify/spelling_reader.h"

namespace sbp::simplify {

// What the ops between two products say.
struct AttentionSpelling {
  TensorId q, k_turned, v;  // (b, h, s, d), (b, h, d, t), (b, h, t, e)
  KeyWindow window;
  TensorId mask;         // added, where no window is known that says the same
  bool guarded = false;  // a row of which no key is seen is 0, as the operator has it, rather than no number
  double scale = 1, softcap = 0;
  std::optional<DType> softmax_type;  // where it is not that of q
  std::vector<std::string> ops;       // that are gone
};

class AttentionSpellingReader : protected SpellingReader {
 protected:
  AttentionSpellingReader(Graph& graph, const std::vector<bool>& computed) : SpellingReader(graph, computed) {}

  // From the product of weights and values back. The weights have so many readers in so many places, that product
  // included.
  std::optional<AttentionSpelling> Find(const Op& last, std::ptrdiff_t readers = 1);
  // The operator in the place of op number `o`, that product, whose result it writes; the keys, (b, h, t, d), as
  // `key` if that is valid. `log_sum_exp`: written, too, if valid.
  void Write(size_t o, const AttentionSpelling& found, TensorId key = {}, TensorId log_sum_exp = {});

 private:
  void TakeCap(TensorId& x, AttentionSpelling& found);
  bool TakeMask(TensorId& x, AttentionSpelling& found, std::ptrdiff_t readers);
  bool TakeAdded(TensorId& x, AttentionSpelling& found, std::ptrdiff_t readers);
  void TakeScales(TensorId& x, AttentionSpelling& found, std::ptrdiff_t readers = 1);
  // Against rows of which no key is seen, by a test of the weights or of the scores under their mask.
  enum class Guard { kNone, kNan, kLowest };
  Guard TakeGuard(TensorId& x, AttentionSpelling& found, std::ptrdiff_t readers);
  const Op* LowestTest(TensorId condition, AttentionSpelling& found);
  TensorId PastCast(TensorId x, AttentionSpelling& found) const;
  bool IsHeads(TensorId id) const;
  bool AreAlike(const AttentionSpelling& found) const;
};

}  // namespace sbp::simplify
