// Pins as text. What is pinned of a tensor, a name that may hold '*', says the operator (plan/pins.h, PinOperator):
// `TENSOR=(S(0), B)`, `TENSOR<-(S(0), P(sum))`, `TENSOR==(S(0), B)`. One use: `OP.ARG=(B, B)`; a whole signature:
// `OP: (S(0), B), (B, B) -> (S(0), B)`. The other spelling of a layout: `TENSOR=[0,-1] partial=[1:sum]`. A file holds
// one a line, '#' comments. A TENSOR that no tensor is called may be a scope and a role, "layers.*/mlp/fc1:weight"
// (naming/module_index.h), a part of a fused weight among them (pin_targets.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "plan/pins.h"
#include "rule/rule_set.h"
#include "sbp/mesh.h"

namespace sbp {

struct PinText {
  std::string text;   // one pin
  std::string where;  // "--pin", or file:line
};
// Splits a pins file into pins. Errors say file:line:col.
Result<std::vector<PinText>> ReadPinsFile(std::string_view content, std::string_view file);

// Adds the pins to `pins`, with what each stands for (Pins::matches) and warnings of what patterns catch; a later pin
// of the same place replaces an earlier one only if equal, else error. ARG is an operand's name in the op's schema, or
// its position. Errors (kBadInput): syntax (kUsage where it is the flag's), no match (with the nearest names), a layout
// of another number of axes, a dimension beyond the tensor's rank.
Status ApplyPins(const std::vector<PinText>& texts, const Graph& graph, const Mesh& mesh, const RuleSet& rules,
                 Pins& pins);
// The pins that the graph itself holds (Tensor::layout_pin, Op::signature_pin).
Status ApplyGraphPins(const Graph& graph, const Mesh& mesh, Pins& pins);

}  // namespace sbp
