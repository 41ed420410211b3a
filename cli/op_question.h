// One op asked on the command line: `OP --input NAME=f32[16,32] --attr K=V`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "rule/rule_set.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {

struct OpQuestionFlags {
  std::string op;
  std::vector<std::string> inputs;      // NAME=TYPE, NAME=TYPE:LAYOUT, NAME=[VALUES], NAME=TYPE=[VALUES]
  std::vector<std::string> outputs;     // NAME=LAYOUT or NAME=TYPE:LAYOUT
  std::vector<std::string> attributes;  // K=V
  int64_t num_outputs = 0;              // of a variadic result; 0: as the op says
};

// The op on these operands, and the layouts given with them (all-B where none was given).
struct OpQuestion {
  RuleInstanceRef instance;
  std::vector<NdSbp> inputs;
  std::vector<NdSbp> outputs;
};

// Errors: an unknown op, operand or result (with the nearest), a text that does not parse, no overload that takes
// these.
Result<OpQuestion> AskOp(const OpQuestionFlags& flags, const RuleSet& rules, const Mesh& mesh);

// A layout of a tensor in either spelling. Error: as ParseLayout, or [0,-1] with another number of dimensions.
Result<NdSbp> ParseLayoutOf(std::string_view text, const TensorType& type, const Mesh& mesh);

}  // namespace sbp
