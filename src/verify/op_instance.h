// Op instances: ops on small concrete operands, with data, by which rules are verified. One line of text each;
// rules/instances.txt holds those of the built-in ops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/rule_set.h"

namespace sbp {

struct InstanceOperand {
  bool present = true;
  TensorType type;
  double low = -2, high = 2;  // domain of random data, and of the parts of a maximum or minimum
  int64_t bound = 0;          // above 0: integers in [0, bound)
  std::vector<double> data;   // not empty: these values, which the rule does not get to know
  LiteralRef value;           // known when planning
};

struct OpInstance {
  std::string text;  // as written, or as made
  int line = 0;      // of its file; 0: made from the op's schema, or a variant of another
  std::string op;
  std::vector<InstanceOperand> operands;
  AttributesRef attributes;  // never null
  size_t results = 1;
  std::vector<bool> wanted;  // per result; empty: all are. No row says it: ops of graphs have results that nobody reads

  std::vector<bool> Wanted() const { return wanted.empty() ? std::vector<bool>(results, true) : wanted; }
  // Points into the instance.
  OpQuery Query() const;
};

// OP OPERAND... [NAME=VALUE...] [-> number of results], as the head of rules/instances.txt says. Error: what cannot be
// read.
Result<OpInstance> ParseInstance(std::string_view line);
// All rows; '#' starts a comment. Errors name file and line.
Result<std::vector<OpInstance>> ParseInstances(std::string_view text, std::string_view file);
// The row that reads back as the instance.
std::string ToString(const OpInstance& instance);

// rules/instances.txt, compiled in.
std::string_view BuiltinInstanceText();

}  // namespace sbp
