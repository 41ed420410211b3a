// check: is a plan right? Derived again from the files alone.

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/bounds.h"
#include "api/cluster.h"
#include "api/model.h"
#include "api/plan_file.h"
#include "api/plan_inputs.h"
#include "api/planning.h"
#include "api/tensors.h"
#include "base/status.h"
#include "base/text.h"
#include "check/violation.h"
#include "cli/check_annotations.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "cli/progress.h"
#include "cli/violations.h"
#include "graph/tensor_data.h"
#include "io/documents.h"
#include "io/file.h"
#include "onnx/reader.h"
#include "plan/plan.h"
#include "rule/rule_set.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

struct CheckFlags {
  std::string plan, model, inputs;
  PlanningFlags annotated;  // of a model with annotations
  bool bound = false;
  double effort = 1;
  OutputFlags output;
};

// A line a bound.
std::string ToText(const std::vector<DerivedBound>& bounds) {
  std::string text;
  for (const DerivedBound& bound : bounds) {
    text += StrCat("\n", bound.what, " ", FormatSeconds(bound.stated), ": ");
    if (bound.holds()) {
      text += "derived again";
      continue;
    }
    const double missing = std::ceil(1e6 * (1 - bound.derived / bound.stated)) / 1e4;
    text += StrCat("derived again but for the last ", FormatDouble(missing),
                   " %, taken on trust (more --effort may verify it)");
  }
  return text;
}

void AddFalse(const std::vector<DerivedBound>& bounds, std::vector<Violation>& violations) {
  for (const DerivedBound& bound : bounds) {
    if (!bound.is_false()) continue;
    violations.push_back({"total", bound.what, StrCat("at most ", FormatDouble(bound.reached), ", as a plan shows"),
                          FormatDouble(bound.stated)});
  }
}

std::string ToJson(const std::vector<Violation>& violations, const std::vector<DerivedBound>& bounds, bool derived) {
  nlohmann::ordered_json document = {{"violations", ViolationsJson(violations)}};
  if (derived) {
    document["bounds"] = nlohmann::ordered_json::array();
    for (const DerivedBound& bound : bounds) {
      document["bounds"].push_back({{"what", bound.what},
                                    {"stated_seconds", bound.stated},
                                    {"derived_seconds", bound.derived},
                                    {"verified", bound.holds()}});
    }
  }
  return document.dump(2);
}

// The file is a model: what is checked are its annotations.
Status CheckModel(const CheckFlags& flags, std::string_view bytes) {
  if (!flags.model.empty() || flags.bound || !flags.inputs.empty()) {
    return UsageError(StrCat(Quote(flags.plan), " is a model; MODEL, --inputs and --bound are for plans"));
  }
  SBP_ASSIGN_OR_RETURN(const PlanningInput input, ReadPlanningInput(flags.annotated));
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.annotated.model.rules));
  return CheckAnnotatedModel(bytes, input, rules, flags.output);
}

Status Check(CheckFlags flags) {
  SBP_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(flags.plan));
  if (LooksLikeOnnx(bytes)) {
    flags.annotated.model.model = flags.plan;
    return CheckModel(flags, bytes);
  }
  const PlanningFlags& own = flags.annotated;
  if (own.mesh || !own.cluster.empty() || !own.model.dims.empty() || !own.model.rules.empty()) {
    return UsageError(StrCat("--mesh, --cluster, --dim and --rules are for annotated models; ", Quote(flags.plan),
                             " is a plan, which has its own"));
  }
  SBP_ASSIGN_OR_RETURN(const Plan plan, ReadPlan(bytes, flags.plan));
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, RulesOfPlan(plan));
  if (!flags.inputs.empty()) {
    SBP_ASSIGN_OR_RETURN(const std::vector<TensorData> given,
                         ReadTensors(flags.inputs, plan.graph, plan.graph.inputs, "input"));
    SBP_RETURN_IF_ERROR(CheckAgainstAssumptions(plan.graph, given));
    SBP_RETURN_IF_ERROR(CheckTypes(plan.graph, given));
  }
  std::vector<Violation> violations = FindViolations(plan, rules);
  if (!flags.model.empty()) {
    SBP_ASSIGN_OR_RETURN(std::vector<Violation> more, CompareWithModel(plan, rules, flags.model));
    for (Violation& v : more) violations.push_back(std::move(v));
  }
  std::vector<DerivedBound> bounds;
  if (flags.bound && violations.empty()) {
    TellProgress("deriving bounds");
    SBP_ASSIGN_OR_RETURN(bounds, DeriveBounds(plan, rules, flags.effort, InterruptAsker()));
    AddFalse(bounds, violations);
  }
  const std::string good = StrCat("good: ", plan.graph.ops.size(), " ops, ", plan.transitions.size(),
                                  " layout changes, mesh ", ToString(plan.mesh), ToText(bounds));
  SBP_RETURN_IF_ERROR(Print(flags.output.json()  ? ToJson(violations, bounds, flags.bound)
                            : violations.empty() ? good
                                                 : FormatViolations(violations)));
  return violations.empty() ? OkStatus() : Status(Code::kMismatch, "");
}

}  // namespace

Command SetupCheck(CLI::App& app) {
  auto flags = std::make_shared<CheckFlags>();
  app.add_option("plan", flags->plan, "a plan, - is stdin; or an ONNX model with multi-device annotations")
      ->required()
      ->type_name("PLAN|ONNX");
  app.add_option("model", flags->model, "also compare the plan's graph with this model")->type_name("MODEL");
  app.add_option("--inputs", flags->inputs, "refuse inputs that differ from those that shaped the plan")
      ->type_name("X.npz");
  CLI::Option* bound = app.add_flag(
      "--bound", flags->bound,
      "derive its bounds again by a search; without, that no plan is better than they say is taken on trust");
  app.add_option("--effort", flags->effort, "of --bound: amount of work, about seconds of one processor")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str()
      ->needs(bound);
  app.add_option("--mesh", flags->annotated.mesh,
                 "of an annotated model: the device axes that its layouts are over [inferred]")
      ->type_name("MESH");
  app.add_option("--cluster", flags->annotated.cluster,
                 StrCat("of an annotated model: what the communication is priced on [", kDefaultCluster, "]"))
      ->type_name("NAME|FILE");
  app.add_option("--dim", flags->annotated.model.dims, "of an annotated model: bind a symbolic dimension, NAME=N")
      ->type_name("NAME=N")
      ->allow_extra_args(false);
  app.add_option("--rules", flags->annotated.model.rules, "of an annotated model: sharding rules of your own")
      ->type_name("FILE")
      ->allow_extra_args(false);
  AddFormatFlag(app, flags->output);
  return [flags] { return Check(*flags); };
}

}  // namespace sbp
