// Halos: elements of neighbours that a candidate's parts also hold.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "rule/candidates.h"
#include "rule/factor_map.h"
#include "sbp/mesh.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"

namespace sbp {

// Per dimension how many elements before and after the device's part; empty: none anywhere.
using HaloWidths = std::vector<std::pair<int64_t, int64_t>>;

// What the parts of an operand need under a candidate; never negative.
HaloWidths HaloOf(const FactorMap& map, const Candidate& candidate, size_t operand);
// The same per operand, of the candidate behind a signature.
std::vector<HaloWidths> HalosOf(const RuleInstanceRef& instance, const Signature& signature, const Mesh& mesh);
// The box with its halo, within the whole.
std::vector<Range> Reached(std::vector<Range> box, const HaloWidths& halo, const Shape& whole);

}  // namespace sbp
