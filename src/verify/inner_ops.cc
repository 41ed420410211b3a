#include "verify/inner_ops.h"

#include <algorithm>
#include <cstddef>
#include <random>
#include <utility>

#include "base/hash.h"
#include "base/jobs.h"
#include "base/text.h"
#include "graph/tensor_type.h"
#include "rule/op_query.h"
#include "runtime/execute/interpreter.h"
#include "runtime/run/compare.h"
#include "sbp/mesh.h"
#include "verify/candidate_runs.h"
#include "verify/execute.h"

namespace sbp {
namespace {

constexpr const char* kInnerMeshes[] = {"2", "3", "2,2"};

// The op of the graph as an instance; nothing where an operand has no numbers.
bool MakeInstance(const Graph& graph, const RuleSet& rules, const Op& op, const std::vector<Value>& values,
                  OpInstance& instance) {
  const OpQuery query = QueryFor(graph, rules, op);
  instance.op = std::string(query.type);
  instance.attributes = op.attributes;
  instance.results = op.outputs.size();
  if (std::ranges::count(query.wanted, false) > 0) instance.wanted = query.wanted;
  const std::vector<TensorId> operands = graph.OperandsOf(op);
  std::vector<std::vector<double>> data(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    InstanceOperand& operand = instance.operands.emplace_back();
    operand.present = operands[i].valid();
    if (!operand.present) continue;
    const Tensor& tensor = graph.tensor(operands[i]);
    operand.type = tensor.type;
    if (query.operands[i].value != nullptr) {
      operand.value = tensor.literal;
      continue;
    }
    const Value& value = values[operands[i].index()];
    if (!value.view.present()) return false;
    operand.type.shape = value.view.shape;
    const auto numbers = NumbersOf(value);
    if (!numbers.ok()) return false;
    data[i] = *numbers;
  }
  instance.text = ToString(instance);
  for (size_t i = 0; i < data.size(); ++i) instance.operands[i].data = std::move(data[i]);
  return true;
}

struct Verified {
  CandidateRuns runs[std::size(kInnerMeshes)];
  std::string why_not;  // the unsharded op does not run
};

Verified Verify(const InnerOp& op, const RuleSet& rules, uint64_t seed) {
  Verified verified;
  const uint64_t own = HashRange(seed, op.instance.text);
  const auto runner = InstanceRunner::Make(rules, op.instance, own);
  if (!runner.ok()) {
    verified.why_not = runner.status().message();
    return verified;
  }
  std::mt19937_64 random(own);
  for (size_t m = 0; m < std::size(kInnerMeshes); ++m) {
    verified.runs[m] = RunCandidates(*runner, rules, ParseMesh(kInnerMeshes[m]).value(), random);
  }
  return verified;
}

}  // namespace

void InnerOps::Keep(const InnerOp& op) {
  std::string key = op.instance.text;
  for (const bool wanted : op.instance.wanted) key += wanted ? " +" : " -";
  if (known_.emplace(std::move(key), ops_.size()).second) ops_.push_back(op);
}

void InnerOps::Add(const std::string& of, const std::string& of_instance, const Graph& graph, const RuleSet& rules,
                   const std::vector<Value>& values) {
  for (const Op& op : graph.ops) {
    if (FindSpecialOp(graph.type_of(op)) != nullptr) continue;
    InnerOp inner{of, of_instance, {}};
    if (MakeInstance(graph, rules, op, values, inner.instance)) Keep(inner);
  }
}

void InnerOps::Merge(const InnerOps& other) {
  for (const InnerOp& op : other.ops_) Keep(op);
}

InnerReport VerifyInnerOps(const InnerOps& ops, const RuleSet& rules, const VerifyOptions& options) {
  std::vector<Verified> verified(ops.ops().size());
  RunJobs(verified.size(), options.threads, options.progress, options.cancelled,
          [&](size_t i) { verified[i] = Verify(ops.ops()[i], rules, options.seed); });
  InnerReport report;
  for (size_t i = 0; i < verified.size(); ++i) {
    const InnerOp& op = ops.ops()[i];
    const auto finding = [&](std::string mesh, std::string signature, std::string reason) {
      return VerifyFinding{op.of, op.of_instance,  std::move(mesh), std::move(signature), std::move(reason),
                           1,     op.instance.text};
    };
    if (!verified[i].why_not.empty()) {
      ++report.wrong;
      report.failed.push_back(finding("", "", StrCat("the unsharded op: ", verified[i].why_not)));
      continue;
    }
    ++report.ops;
    for (size_t m = 0; m < std::size(kInnerMeshes); ++m) {
      const CandidateRuns& runs = verified[i].runs[m];
      const std::string mesh = ToString(ParseMesh(kInnerMeshes[m]).value());
      report.candidates += runs.executed;
      report.wrong += static_cast<int64_t>(runs.wrong.size());
      if (!runs.wrong.empty()) {
        const auto& [signature, what] = runs.wrong.front();
        report.failed.push_back(finding(mesh, signature, what));
        report.failed.back().count = static_cast<int64_t>(runs.wrong.size());
      }
      if (!runs.not_run.empty()) {
        report.skipped.push_back(finding(mesh, "", runs.not_run.front()));
        report.skipped.back().count = static_cast<int64_t>(runs.not_run.size());
      }
    }
  }
  return report;
}

}  // namespace sbp
