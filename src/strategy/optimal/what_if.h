// What if an op were forced to another candidate, and everything else chosen anew? Asked on demand (`explain`), since a
// plan need not carry what only some reader of some op wants to know.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "problem/problem.h"
#include "strategy/strategy.h"

namespace sbp {

// Seconds of the fastest step with one candidate forced: proved where both are equal (up to rounding).
struct ForcedStep {
  double at_least = 0;  // infinity: there is no such plan
  double at_most = 0;   // infinity: none was found
};

// How many of the candidates asked get what.
struct ForcedWork {
  size_t searched = 0;  // a search of their own each
  size_t priced = 0;    // at least a plan: `best` with only this op changed
  double effort = 0.2;  // of such a search (SolveOptions::effort)
};

// The answer for each of `candidates` (indices into the op's list that pins allow), with `best`, a plan of the problem,
// as where to begin. The first work.searched get a search of their own each, with a fixed amount of work: the bound is
// that of the relaxed network; the best choice there, priced as a plan, is the other end. The others get the
// min-marginals of one search in which nothing is forced as bounds; the other end is `best` with only this op changed
// for the first work.priced, and open (infinity) beyond. Uses options.memory_limit and, of its values, seed and
// threads; once options.cancelled, what is left is open. Errors: as LayoutNetwork::Build.
Result<std::vector<ForcedStep>> StepsIfForced(const Problem& problem, const Assignment& best, OpId op,
                                              std::span<const uint32_t> candidates, const ForcedWork& work,
                                              const StrategyOptions& options);

struct ForcedQuestion {
  OpId op;
  std::vector<uint32_t> candidates;
};
// The same of several ops, an answer for each question: the network is built once. Nothing (no answers) where it would
// be too large for all candidates.
Result<std::vector<std::vector<ForcedStep>>> StepsIfForced(const Problem& problem, const Assignment& best,
                                                           std::span<const ForcedQuestion> questions,
                                                           const ForcedWork& work, const StrategyOptions& options);

}  // namespace sbp
