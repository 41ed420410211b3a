// The rows of rules/instances.txt: small instances of ops, with data.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "reference/array.h"
#include "reference/interpreter.h"
#include "reference/shards.h"
#include "rule/candidates.h"
#include "rule/rule_set.h"

namespace sbp::reference {

// One row: OP OPERAND... [NAME=VALUE...] [-> N]
//   operand: a type (f32[6,4]); with '@LOW..HIGH' data of that domain, with '<N' integers in [0, N), with '=[1,2]'
//   these data; '=[1,2]' alone a value that is known when planning; '-' absent.
struct RuleCase {
  std::string text;
  int line = 0;
  std::string op;
  struct Operand {
    bool present = true;
    TensorType type;
    Domain domain;
    int64_t bound = 0;
    std::vector<double> data;
    LiteralRef value;
  };
  std::vector<Operand> operands;
  Attributes attributes;
  size_t results = 1;
};

// All rows of a file. A row that cannot be read fails the running test.
std::vector<RuleCase> ReadRuleCases(const std::string& path);

// Values for an operand: those of the row, else random ones of its domain.
Array MakeData(const RuleCase::Operand& operand, std::mt19937_64& random);

// The row as a question to the rules. Valid as long as the row.
OpQuery QueryOf(const RuleCase& c);
// The unsharded op on whole operands.
Call WholeCall(const RuleCase& c, const RuleInstance& instance, const std::vector<Array>& whole);

// Runs a reference kernel; results of an integer type hold whole numbers, cut towards 0.
std::vector<Array> Compute(Kernel kernel, const Call& call);

// Fewer elements of neighbours than the rule says.
struct HaloTrim {
  int64_t before = 0, after = 0;
};
// Elements of neighbours that a candidate's parts of an operand need.
HaloWidths HaloOf(const FactorMap& map, const Candidate& candidate, size_t operand, HaloTrim trim);

}  // namespace sbp::reference
