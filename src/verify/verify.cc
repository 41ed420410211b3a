#include "verify/verify.h"

#include <algorithm>
#include <map>
#include <random>

#include "base/cancelled.h"
#include "base/hash.h"
#include "base/jobs.h"
#include "base/text.h"
#include "rule/candidates.h"
#include "rule/factor_map.h"
#include "rule/in_place.h"
#include "rule/syntax.h"
#include "runtime/execute/interpreter.h"
#include "runtime/execute/local_program.h"
#include "sbp/mesh.h"
#include "sbp/signature.h"
#include "verify/candidate_runs.h"
#include "verify/execute.h"
#include "verify/generate_instances.h"
#include "verify/missing.h"
#include "verify/not_offered.h"

namespace sbp {
namespace {

constexpr const char* kMeshes[] = {"2", "3", "4", "2,2"};

// Verifies one op: a job of one thread.
class OpVerifier {
 public:
  OpVerifier(const RuleSet& rules, const OpDefinition& op, std::vector<OpInstance> given, uint64_t seed)
      : rules_(rules), op_(op), given_(std::move(given)), seed_(seed) {
    report_.op = op.name;
  }

  void Run() {
    if (FindSpecialOp(op_.name) != nullptr) {
      Skip("", "control flow and sequences have no layouts but B");
      return;
    }
    for (const OpInstance& instance : given_) {
      RunInstance(instance, op_.builtin);
      if (const auto grown = Grown(instance)) RunInstance(*grown, false);
    }
    if (given_.empty() || !op_.builtin) {
      for (const OpInstance& instance : GenerateInstances(op_)) RunInstance(instance, false);
    }
    if (report_.instances == 0 && skipped.empty() && failed.empty()) {
      Skip("", StrCat("no instance of it runs", last_failure_.empty() ? "" : ": " + last_failure_));
    }
    report_.failed = static_cast<int64_t>(failed.size());
    report_.missing = static_cast<int64_t>(missing.size());
    for (const VerifyFinding& finding : skipped) report_.skipped += finding.count;
  }

  const VerifiedOp& report() const { return report_; }
  std::vector<VerifyFinding> failed, missing, skipped;

 private:
  // Findings that differ in nothing but the candidate count as one.
  void Skip(const std::string& instance, const std::string& reason) {
    for (VerifyFinding& known : skipped) {
      if (known.reason != reason) continue;
      ++known.count;
      return;
    }
    skipped.push_back({op_.name, instance, "", "", reason});
  }

  // `must_run`: a row that the op does not take is a failure, not a guess.
  void RunInstance(const OpInstance& instance, bool must_run) {
    const uint64_t seed = HashRange(seed_, instance.text);
    auto runner = InstanceRunner::Make(rules_, instance, seed);
    if (!runner.ok()) {
      const std::string why = runner.status().message();
      const bool lacks = why.find("no kernel and no expansion") != std::string::npos ||
                         why.find("tensors of strings") != std::string::npos;
      last_failure_ = why;
      if (lacks) {
        Skip(instance.text, why);
      } else if (must_run) {
        failed.push_back({op_.name, instance.text, "", "", StrCat("the unsharded op: ", why)});
      }
      return;
    }
    ++report_.instances;
    std::mt19937_64 random(seed);
    for (const char* text : kMeshes) RunMesh(*runner, ParseMesh(text).value(), random);
    RunInPlace(*runner);
    if (instance.line > 0 || !op_.builtin) LookForMissing(*runner, random);
  }

  void RunMesh(const InstanceRunner& runner, const Mesh& mesh, std::mt19937_64& random) {
    const CandidateRuns runs = RunCandidates(runner, rules_, mesh, random);
    report_.candidates += runs.executed;
    report_.worst_error = std::max(report_.worst_error, runs.worst_error);
    for (const std::string& why : runs.not_run) Skip(runner.instance().text, why);
    for (const auto& [signature, what] : runs.wrong) {
      failed.push_back({op_.name, runner.instance().text, ToString(mesh), signature, what});
    }
  }

  // The runtime may write results over operands where the rule says so.
  void RunInPlace(const InstanceRunner& runner) {
    LocalCompiler compiler(rules_, Mesh());
    for (const InPlacePair& pair : InPlacePairs(*runner.rule())) {
      const Execution execution = runner.RunInPlace(pair, compiler);
      if (execution.outcome == Execution::Outcome::kRight) continue;
      failed.push_back({op_.name, runner.instance().text, "",
                        StrCat("result ", pair.result, " over operand ", pair.operand), execution.what});
    }
  }

  void LookForMissing(const InstanceRunner& runner, std::mt19937_64& random) {
    const Mesh mesh = ParseMesh("2").value();
    LocalCompiler compiler(rules_, Mesh());
    const CandidateList list = MakeCandidates(runner.rule(), mesh);
    for (const Signature& signature : FindMissing(runner, list, mesh, compiler, random)) {
      const std::string text = ToString(signature);
      const bool known = std::any_of(missing.begin(), missing.end(),
                                     [&](const VerifyFinding& finding) { return finding.signature == text; });
      if (known) continue;
      const RuleInstance& rule = *runner.rule();
      std::string reason = rule.reason.empty() ? Join(rule.map.notes, "; ") : rule.reason;
      if (reason.empty()) reason = WhyNotOffered(op_.name);
      missing.push_back({op_.name, runner.instance().text, ToString(mesh), text, reason});
    }
  }

  const RuleSet& rules_;
  const OpDefinition& op_;
  std::vector<OpInstance> given_;
  uint64_t seed_;
  VerifiedOp report_;
  std::string last_failure_;
};

}  // namespace

Result<std::map<std::string, std::vector<OpInstance>>> InstancesByOp(const RuleSet& rules,
                                                                     const VerifyOptions& options) {
  SBP_ASSIGN_OR_RETURN(std::vector<OpInstance> instances, ParseInstances(BuiltinInstanceText(), "instances.txt"));
  instances.insert(instances.end(), options.instances.begin(), options.instances.end());
  std::map<std::string, std::vector<OpInstance>> by_op;
  for (const std::string& name : options.ops.empty() ? rules.Names() : options.ops) {
    if (rules.Find(name) == nullptr) {
      return BadInput(StrCat("no rule for op ", Quote(name), DidYouMean(name, rules.Names())));
    }
    by_op.try_emplace(name);
  }
  for (OpInstance& instance : instances) {
    const auto op = by_op.find(instance.op);
    if (op != by_op.end()) op->second.push_back(std::move(instance));
  }
  return by_op;
}

Result<VerifyReport> VerifyRules(const RuleSet& rules, const VerifyOptions& options) {
  SBP_ASSIGN_OR_RETURN(const auto by_op, InstancesByOp(rules, options));
  std::vector<OpVerifier> jobs;
  for (const auto& [name, instances] : by_op) jobs.emplace_back(rules, *rules.Find(name), instances, options.seed);
  RunJobs(jobs.size(), options.threads, options.progress, options.cancelled, [&](size_t i) { jobs[i].Run(); });
  SBP_RETURN_IF_ERROR(RefuseCancelled(options.cancelled));
  VerifyReport report;
  const auto append = [](std::vector<VerifyFinding>& to, const std::vector<VerifyFinding>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (const OpVerifier& job : jobs) {
    if (job.report().candidates > 0) report.ops.push_back(job.report());
    report.candidates += job.report().candidates;
    append(report.failed, job.failed);
    append(report.missing, job.missing);
    append(report.skipped, job.skipped);
  }
  return report;
}

}  // namespace sbp
