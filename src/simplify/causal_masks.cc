// A mask of attention that follows from positions alone, and lets each query see the keys up to its own position, or in
// a window around it: attention that is told so needs no mask, skips what is not seen, and the ops that compute the
// mask are gone. Proved row by row (position_table.h), never guessed from how it is spelled.
#include "simplify/causal_masks.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/simplified.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "simplify/graph_edit.h"
#include "simplify/moves.h"
#include "simplify/position_table.h"
#include "simplify/positions.h"
#include "simplify/simplify.h"

namespace sbp::simplify {
namespace {

// Does adding this to a score of the type make its weight 0, whatever the score is beside a greater one?
bool Hides(double number, DType type) {
  constexpr double kMasked = -1e9;  // what exporters take; a score as large has no digits left for others
  return number <= std::max(LowestNumber(type) / 2, kMasked);
}

// A row's keys, [first, end), of those that a mask lets through.
struct Seen {
  std::vector<int64_t> first, end;
};

// Where the mask holds one of two numbers, of which one is `seen` and the other not.
std::optional<Seen> SeenOf(const RowRanges& ranges, DType type, int64_t columns) {
  const auto lets_through = [&](double number) { return type == DType::kBool ? number != 0 : number == 0; };
  const auto hides = [&](double number) { return type == DType::kBool ? number == 0 : Hides(number, type); };
  if (lets_through(ranges.inside) && (ranges.inside == ranges.outside || hides(ranges.outside)))
    return Seen{ranges.first, ranges.end};
  if (!lets_through(ranges.outside) || !hides(ranges.inside)) return std::nullopt;
  Seen seen;  // what lies before or behind the hidden keys
  for (size_t r = 0; r < ranges.first.size(); ++r) {
    const int64_t first = ranges.first[r], end = ranges.end[r];
    if (first > 0 && end < columns && first < end) return std::nullopt;
    const bool behind = first == 0 && first < end;
    seen.first.push_back(behind ? end : 0);
    seen.end.push_back(behind || first >= end ? columns : first);
  }
  return seen;
}

}  // namespace

std::optional<KeyWindow> WindowOf(const PlaceValue& mask, const KeyWindow& before, int64_t queries, int64_t keys,
                                  int64_t past) {
  const std::optional<RowRanges> ranges = RangesOf(mask, queries, keys);
  const std::optional<Seen> seen = ranges ? SeenOf(*ranges, mask.dtype, keys) : std::nullopt;
  if (!seen) return std::nullopt;
  KeyWindow window;
  bool reaches_end = false, reaches_start = false;
  int64_t least_right = 0, least_left = 0;  // that the rows need which see the last key, or the first one
  for (int64_t q = 0; q < queries; ++q) {
    const auto row = static_cast<size_t>(q);
    const int64_t own = q + past;
    const int64_t first = std::max(seen->first[row], before.left ? own - *before.left : 0);
    const int64_t end = std::min(seen->end[row], before.right ? own + *before.right + 1 : keys);
    if (first >= end) return std::nullopt;
    if (end < keys) {
      if (window.right.value_or(end - 1 - own) != end - 1 - own) return std::nullopt;
      window.right = end - 1 - own;
    } else {
      least_right = reaches_end ? std::max(least_right, keys - 1 - own) : keys - 1 - own;
      reaches_end = true;
    }
    if (first > 0) {
      if (window.left.value_or(own - first) != own - first) return std::nullopt;
      window.left = own - first;
    } else {
      least_left = reaches_start ? std::max(least_left, own) : own;
      reaches_start = true;
    }
  }
  if (window.right && (*window.right < 0 || (reaches_end && *window.right < least_right))) return std::nullopt;
  if (window.left && (*window.left < 0 || (reaches_start && *window.left < least_left))) return std::nullopt;
  return window;
}

namespace {

// Ops that take a mask as operand 3 after queries, keys and values, whose dimension before the last one is positions.
struct MaskedRow {
  std::string_view op;
  size_t lengths;                // operand that moves the queries' positions where it is there
  std::optional<size_t> past;    // operand that holds earlier keys; else attribute `past` counts them
  std::optional<size_t> scores;  // result that shows the masked scores
};
constexpr MaskedRow kMasked[] = {
    {"Attention", 6, 4, 3},
    {"sbp::AttentionScoresGrad", 4, std::nullopt, std::nullopt},
    {"sbp::FlashAttention", 4, std::nullopt, std::nullopt},
    {"sbp::FlashAttentionGrad", 4, std::nullopt, std::nullopt},
};
constexpr size_t kMaskOperand = 3;

class MaskRemover {
 public:
  MaskRemover(Graph& graph, const std::vector<bool>& computed)
      : graph_(graph), computed_(computed), table_(graph, computed) {}

  bool Run() {
    bool changed = false;
    for (Op& op : graph_.ops) {
      const auto* row = std::ranges::find(kMasked, std::string_view(graph_.type_of(op)), &MaskedRow::op);
      if (row == std::end(kMasked)) continue;
      const std::optional<KeyWindow> window = Find(op, *row);
      if (!window) continue;
      Write(op, *window);
      changed = true;
    }
    return changed;
  }

 private:
  static bool Has(const std::vector<TensorId>& ids, size_t i) { return i < ids.size() && ids[i].valid(); }
  bool IsComputed(TensorId id) const { return id.index() < computed_.size() && computed_[id.index()]; }
  int64_t PositionsOf(TensorId id) const {
    const Shape& shape = graph_.tensor(id).type.shape;
    return shape[shape.size() - 2];
  }

  std::optional<KeyWindow> Find(const Op& op, const MaskedRow& row) {
    if (!Has(op.inputs, kMaskOperand) || Has(op.inputs, row.lengths) || !op.signature_pin.empty()) return std::nullopt;
    if (row.scores && Has(op.outputs, *row.scores)) return std::nullopt;
    if (IsComputed(op.inputs[0]) || IsComputed(op.inputs[1])) return std::nullopt;
    const PlaceValue* mask = table_.Find(op.inputs[kMaskOperand]);
    if (mask == nullptr) return std::nullopt;
    const int64_t queries = PositionsOf(op.inputs[0]);
    int64_t keys = PositionsOf(op.inputs[1]), past = op.attributes->Int("past", 0);
    if (row.past) {
      past = Has(op.inputs, *row.past) ? PositionsOf(op.inputs[*row.past]) : 0;
      keys += past;
    }
    KeyWindow before;
    if (const int64_t left = op.attributes->Int("left_window_size", -1); left >= 0) before.left = left;
    if (const int64_t right = op.attributes->Int("right_window_size", -1); right >= 0) before.right = right;
    if (op.attributes->Int("is_causal", 0) != 0) before.right = 0;
    return WindowOf(*mask, before, queries, keys, past);
  }

  void Write(Op& op, const KeyWindow& window) {
    std::string names = op.name;
    if (const Op* producer = ProducerOf(graph_, op.inputs[kMaskOperand])) names = StrCat(producer->name, ", ", names);
    op.inputs[kMaskOperand] = {};
    while (!op.inputs.back().valid()) op.inputs.pop_back();
    Attributes attributes = *op.attributes;
    SetWindow(window, attributes);
    op.attributes = std::make_shared<const Attributes>(std::move(attributes));
    op.metadata.emplace_back(kSimplifiedFrom, names);
  }

  Graph& graph_;
  const std::vector<bool>& computed_;
  PositionTable table_;
};

}  // namespace

void SetWindow(const KeyWindow& window, Attributes& attributes) {
  attributes.Set("is_causal", int64_t{window.right == 0 ? 1 : 0});
  attributes.Set("left_window_size", window.left.value_or(-1));
  attributes.Set("right_window_size", window.right == 0 ? -1 : window.right.value_or(-1));
}

bool CausalMasks(Graph& graph, const std::vector<bool>& computed) { return MaskRemover(graph, computed).Run(); }

}  // namespace sbp::simplify
