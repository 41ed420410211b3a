#include "simplify/simplify.h"

namespace sbp {

const std::vector<SimplifyPass>& AllSimplifyPasses() {
  static const std::vector<SimplifyPass> kPasses = {
      {"group experts", simplify::GroupExperts},
      {"join moves", simplify::JoinMoves},
      {"split weights", simplify::SplitWeights},
      {"join moves", simplify::JoinMoves},  // what the parts of weights leave
  };
  return kPasses;
}

void Simplify(Graph& graph, const std::vector<bool>& computed) {
  for (const SimplifyPass& pass : AllSimplifyPasses()) pass.run(graph, computed);
}

}  // namespace sbp
