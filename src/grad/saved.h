// What custom VJPs save: the bytes that their ops keep for the backward pass, against those that their expansions would
// keep if they were differentiated in their place.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/kept.h"
#include "rule/rule_set.h"

namespace sbp {

struct SavedByVjp {
  std::string op_type;
  int64_t ops = 0;
  // Operands, results and inner tensors that the backward pass reads, each once; what other ops keep in any case is in
  // both. Neither parameters nor inputs of the graph.
  int64_t kept_bytes = 0, expanded_bytes = 0;
  std::string why_not;  // the expansion has no derivative: then there is nothing to compare with
  int64_t saved_bytes() const { return expanded_bytes - kept_bytes; }
};

// By type, what saves most first. Told from a training graph (grad/grad.h): ops of its forward pass that are
// differentiated and have both a vjp and an expansion, each form of them differentiated alone, both ways. Types that
// keep nothing either way have no row. What comes behind kMaxVjpForms forms is counted in `left_out`.
inline constexpr size_t kMaxVjpForms = 500;
struct VjpSavings {
  std::vector<SavedByVjp> rows;
  int64_t left_out = 0;  // ops
};
// `kept`: FindKept of the graph.
VjpSavings FindSavedByVjps(const Graph& training, std::span<const KeptTensor> kept, const RuleSet& rules);

}  // namespace sbp
