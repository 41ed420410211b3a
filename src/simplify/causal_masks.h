// Masks of attention as windows of positions.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/graph.h"
#include "simplify/positions.h"

namespace sbp::simplify {

// Query q, whose own position is q + past, sees the keys from `left` before it to `right` behind it; nothing: all on
// that side. Neither is negative.
struct KeyWindow {
  std::optional<int64_t> left, right;
  friend bool operator==(const KeyWindow&, const KeyWindow&) = default;
};

// The window that a mask leaves of another one: true, or 0, where a key is seen, and false, or so low that its weight
// is 0, elsewhere. Nothing: it is no window, or some query sees no key.
std::optional<KeyWindow> WindowOf(const PlaceValue& mask, const KeyWindow& before, int64_t queries, int64_t keys,
                                  int64_t past);

// As attributes of Attention and its kin.
void SetWindow(const KeyWindow& window, Attributes& attributes);

}  // namespace sbp::simplify
