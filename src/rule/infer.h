// Forward and backward propagation of layouts through one op, by merging per letter (what the einsum strategy sweeps
// with, and `rules infer` asks). Deterministic; knows no op, only its factors.
#pragma once

#include <string>
#include <vector>

#include "rule/factor_map.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {

struct InferRequest {
  RuleInstanceRef instance;
  Mesh mesh;                           // sizes only
  std::vector<NdSbp> inputs, outputs;  // one per operand and result; an entry without axes stands for all B
  bool backward = false;
};

// The layouts that the op wants and gives. Forward: the results follow from the operands. Backward: the operands follow
// from the results, letters that are reduced stay unmapped, partial results keep their axes and hand nothing on.
struct InferAnswer {
  std::vector<NdSbp> inputs, outputs;
  std::vector<bool> input_changed, output_changed;  // against the request: a change of what is there means boxing
  std::vector<std::string> conflicts;               // each merge that overrode a layout, with both sides
};

InferAnswer InferLayouts(const InferRequest& request);

// Batch: a letter of "...", or one that every operand of every linear alternative and every result carries. Reduced: in
// no result. A rule that is no contraction has one class: free (reduced letters then count as free too).
std::vector<FactorClass> ClassifyFactors(const RuleInstance& instance);

}  // namespace sbp
