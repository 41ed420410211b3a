// One op of a pass on values that are known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "fold/assumed.h"
#include "fold/foldable.h"
#include "fold/pass_state.h"
#include "fold/provenance.h"
#include "graph/graph.h"
#include "graph/literal.h"

namespace sbp {

// The results of an op on known values; assumed where `flags` are there.
struct Folded {
  std::vector<Literal> values;  // empty: not folded
  std::optional<std::vector<AssumedFlags>> flags;
  std::optional<std::vector<Provenance::Sources>> sources;  // they follow from inputs
};
Folded FoldOp(PassState& pass, const Op& op);

// The op that writes this tensor is gone: the tensor is a parameter.
void SetFolded(PassState& pass, TensorId tensor, Literal value);

// Why an op that can be folded, of which every operand is known, was not.
std::string WhyNotFolded(const PassState& pass, const Op& op, const FoldableOp& row);

}  // namespace sbp
