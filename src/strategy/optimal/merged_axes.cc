#include "strategy/optimal/merged_axes.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include "base/ids.h"
#include "problem/problem.h"
#include "rule/candidates.h"
#include "sbp/layout_rows.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

bool IsAlikeOnHalves(const NdSbp& layout) {
  const int half = (layout.size() + 1) / 2;
  for (int axis = 1; axis < layout.size(); ++axis) {
    if (axis != half && layout[axis] != layout[axis - 1]) return false;
  }
  return true;
}

}  // namespace

CandidateLists ListsOfMergedAxes(const Problem& problem, const CandidateLists& all) {
  CandidateLists lists(problem);
  std::map<uint32_t, CandidateLists::List> alike;  // by number of the op's list
  for (size_t o = 0; o < problem.num_ops(); ++o) {
    const OpId op(o);
    const auto [entry, is_new] = alike.try_emplace(all.number(op));
    if (is_new) {
      const std::vector<Candidate>& candidates = problem.candidates(op).candidates;
      std::ranges::copy_if(all.of(op), std::back_inserter(entry->second), [&](uint32_t c) {
        const CandidateSignature& signature = candidates[c].signature;
        return std::ranges::all_of(signature.inputs, IsAlikeOnHalves) &&
               std::ranges::all_of(signature.outputs, IsAlikeOnHalves);
      });
      if (entry->second.empty()) entry->second = all.of(op);
    }
    lists.Add(op, entry->second);
  }
  return lists;
}

}  // namespace sbp
