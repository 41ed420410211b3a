#include <span>

#include "grad/optimizer.h"

namespace sbp {

std::span<const OptimizerRow> AllOptimizers() {
  static constexpr OptimizerRow kRows[] = {
      {"sgd", "sbp::SGD", "sbp::SGD"},
      {"momentum", "sbp::Momentum", "sbp::Momentum"},
      {"adam", "sbp::Adam", "sbp::Adam"},
      {"adamw", "sbp::AdamW", "sbp::AdamW"},
      {"lion", "sbp::Lion", "sbp::Lion"},
      {"adafactor", "sbp::Adafactor", "sbp::AdafactorVector"},
      // Its authors leave vectors and embeddings, whose rows are no directions, to AdamW.
      {"muon", "sbp::Muon", "sbp::AdamW", true},
  };
  return kRows;
}

}  // namespace sbp
