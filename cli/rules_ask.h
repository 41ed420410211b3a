// rules ask: many questions to the rules in one process, one JSON document a line in, one a line out.
#pragma once

#include <istream>
#include <ostream>

#include "base/status.h"
#include "rule/rule_set.h"

namespace sbp {

// A question:
//   {"ask": "candidates", "op": "MatMul", "operands": [{"type": "f32[16,32]"}, null, {"type": "i64[1]", "value": [3]}],
//    "attributes": {"axis": 1}, "results": 1, "mesh": "x=4", "notation": "sbp"}
//   {"ask": "infer", ..., "inputs": ["[0,-1]", ...], "outputs": [...], "backward": true}
//   {"ask": "boxing", "type": "f32[64,64]", "mesh": "2,2", "from": "(S(0), B)", "to": "(B, B)"}
// Answers hold what the command of the same name prints, layouts as lists in the op's order; a question that fails is
// answered {"error": "..."} and the next one is read.
Status AnswerQuestions(const RuleSet& rules, std::istream& in, std::ostream& out);

}  // namespace sbp
