// The ops that the graphs of derivatives consist of, each form of them once, and their execution under every layout
// that their rules give.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "rule/rule_set.h"
#include "runtime/data/value.h"
#include "verify/op_instance.h"
#include "verify/verify.h"

namespace sbp {

// An inner op: an instance with the data that it was given where it was met first.
struct InnerOp {
  std::string of;           // the op whose derivative it is part of
  std::string of_instance;  // and the row of that
  OpInstance instance;      // `text` has types and known values, no data
};

// Ops of the same form are the same case: type, attributes, types of operands, known values, wanted results.
class InnerOps {
 public:
  // All ops of a graph but control flow and sequences. `values`: of each tensor, as a run of the graph saw them; those
  // of ops that did not run are absent.
  void Add(const std::string& of, const std::string& of_instance, const Graph& graph, const RuleSet& rules,
           const std::vector<Value>& values);
  // Those of another set that are new, after the own ones.
  void Merge(const InnerOps& other);

  const std::vector<InnerOp>& ops() const { return ops_; }

 private:
  void Keep(const InnerOp& op);

  std::vector<InnerOp> ops_;  // as met
  std::unordered_map<std::string, size_t> known_;
};

struct InnerReport {
  int64_t ops = 0;         // forms that were executed
  int64_t candidates = 0;  // of them, on meshes of 2, 3 and 2x2 devices
  int64_t wrong = 0;       // candidates that compute something else, or nothing, and ops that do not run on their own
  // Of each op and mesh the first wrong candidate, and the first that is not executed; `inner` names the op.
  std::vector<VerifyFinding> failed, skipped;
};

// Executes every candidate of every inner op and compares with the unsharded op. `options`: seed, threads, progress.
InnerReport VerifyInnerOps(const InnerOps& ops, const RuleSet& rules, const VerifyOptions& options);

}  // namespace sbp
