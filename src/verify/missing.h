// The converse of verification: layouts that execute right and that the rule does not offer.
#pragma once

#include <random>
#include <vector>

#include "rule/candidates.h"
#include "runtime/execute/local_program.h"
#include "sbp/mesh.h"
#include "sbp/signature.h"
#include "verify/execute.h"

namespace sbp {

// Signatures on one mesh axis of two devices under which each device may run the op as it is on its own parts: on
// several sets of data the parts of the results make the whole. Of each operand every S(d), B and P that its type and
// shape allow, at most so many combinations as are tried in a fraction of a second. Left out: operands that all are B,
// operands that lie as some candidate's, what a candidate gives after local changes (slices, fills) of its operands and
// results, results that are the same on all data, which prove nothing; of operands whose values the instance gives, all
// but B, and P(max) and P(min) where it bounds the data of some operand.
std::vector<Signature> FindMissing(const InstanceRunner& runner, const CandidateList& candidates, const Mesh& mesh,
                                   LocalCompiler& whole_compiler, std::mt19937_64& random);

}  // namespace sbp
