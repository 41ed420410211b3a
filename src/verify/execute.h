// InstanceRunner: executes one op instance, unsharded and under signatures, with the product's own runtime.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "rule/candidates.h"
#include "rule/factor_map.h"
#include "rule/in_place.h"
#include "rule/rule_set.h"
#include "runtime/data/value.h"
#include "runtime/execute/local_program.h"
#include "runtime/execute/op_runner.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/signature.h"
#include "verify/op_instance.h"

namespace sbp {

struct SampleSet {
  std::vector<Value> operands, results;  // whole; results of the unsharded op
};

struct Execution {
  enum class Outcome : uint8_t { kRight, kWrong, kNotRun };
  Outcome outcome = Outcome::kRight;
  // Largest |out - ref| of any result, over the largest finite |ref| of that result or 1.
  double error = 0;
  std::string what;  // kWrong: what differs, or why it cannot be laid out; kNotRun: why it is not executed
};

class InstanceRunner {
 public:
  // Instantiates the rule and runs the unsharded op on random data. `rules` and `instance` outlive the runner. Errors:
  // the rule does not take the instance (kBadInput); the op does not run (kRunFailed).
  static Result<InstanceRunner> Make(const RuleSet& rules, const OpInstance& instance, uint64_t seed);

  const RuleInstanceRef& rule() const { return rule_; }
  const OpInstance& instance() const { return *instance_; }
  // Another set of data; `beyond`: of any sign, also where the instance says that a float operand has one.
  Result<SampleSet> Sample(LocalCompiler& whole_compiler, std::mt19937_64& random, bool beyond) const;

  // Shards the operands, runs the local program of every device, puts the results together in every
  // way that their layouts promise and compares.
  Execution Run(const Candidate& candidate, const Mesh& mesh, LocalCompiler& compiler, std::mt19937_64& random) const;
  // The unsharded op with a result where an operand lies (rule/in_place.h): every result must have the same bytes.
  Execution RunInPlace(const InPlacePair& pair, LocalCompiler& whole_compiler) const;
  // Parts of the sample in these layouts, without halos.
  Result<std::vector<std::vector<Value>>> Parts(const SampleSet& sample, const std::vector<NdSbp>& layouts,
                                                const Mesh& mesh, std::mt19937_64& random) const;
  // Do the parts of result `r` combine to the sample's? As Run says.
  Execution Judge(const SampleSet& sample, size_t r, const std::vector<Value>& parts, const NdSbp& layout,
                  const Mesh& mesh) const;
  OpForm Form(Signature signature) const;

 private:
  const OpInstance* instance_ = nullptr;
  RuleInstanceRef rule_;
  SampleSet sample_;
  double tolerance_ = 0;
};

// The op on whole operands, by the compiler's mesh without axes.
Result<std::vector<Value>> RunWhole(LocalCompiler& compiler, const PreparedOp& op, const std::vector<Value>& operands);

// How far results of a type may be from each other: an f32 sum in another order, ...; 0 for integers and bools. Of a
// float result the coarsest type of its op counts.
double ToleranceOf(DType dtype);

}  // namespace sbp
