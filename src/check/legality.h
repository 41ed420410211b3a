// Is a signature one of an op's candidates? Answered from the definition, one mesh axis at a time, without listing
// candidates: on each axis the layouts themselves say which factor must have been split, and then every other tensor's
// layout follows.
#pragma once

#include <string>

#include "rule/candidates.h"
#include "rule/factor_map.h"
#include "sbp/mesh.h"
#include "sbp/signature.h"

namespace sbp {

struct LegalityAnswer {
  bool legal = false;
  std::string expected;    // not legal: what would be, at the first axis that is wrong
  Candidate as_candidate;  // legal: the signature with its share of the work and its halo bytes
};

// The signature has an entry for every operand and result, of the mesh's number of axes, each a possible layout.
LegalityAnswer CheckSignature(const RuleInstance& instance, const Signature& signature, const Mesh& mesh,
                              bool even_only);

}  // namespace sbp
