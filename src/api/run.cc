#include "api/run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "api/plan_inputs.h"
#include "api/reference.h"
#include "api/tensors.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/text.h"
#include "fold/resolve.h"
#include "fold/resolve_options.h"
#include "graph/cut.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "io/call_files.h"
#include "io/documents.h"
#include "io/file.h"
#include "physical/cut.h"
#include "runtime/actors/step_times.h"
#include "runtime/data/value.h"
#include "runtime/run/compare.h"
#include "runtime/run/judge.h"
#include "runtime/run/run_report.h"
#include "runtime/run/tensor_store.h"

namespace sbp {
namespace {

// The type of the entries, a size that is not that of all of them unknown.
TensorType TypeOfSequence(const std::vector<Value>& entries) {
  TensorType type;
  type.has_rank = !entries.empty();
  if (!entries.empty()) type = {entries[0].view.dtype, entries[0].view.shape};
  type.kind = ValueKind::kSequence;
  for (const Value& entry : entries) {
    if (entry.view.shape.size() != type.shape.size()) {
      type.has_rank = false;
      type.shape.clear();
      break;
    }
    for (size_t d = 0; d < type.shape.size(); ++d) {
      if (entry.view.shape[d] != type.shape[d]) type.shape[d] = kUnknownDim;
    }
  }
  return type;
}

TensorReport ReportOf(const std::string& name, const Value& value) {
  TensorReport report;
  report.name = name;
  report.type = {value.view.dtype, value.view.shape};
  if (value.sequence != nullptr) report.type = TypeOfSequence(*value.sequence);
  return report;
}

Status CompareWithExpected(const std::vector<TensorData>& expected,
                           const std::vector<std::pair<std::string, Value>>& outputs, const ElementTolerance& tolerance,
                           RunReport& report) {
  std::vector<std::string> names;
  for (const auto& [name, value] : outputs) names.push_back(name);
  for (const TensorData& data : expected) {
    if (std::find(names.begin(), names.end(), data.name) == names.end()) {
      return BadInput(StrCat("--expect: no output is named ", Quote(data.name), DidYouMean(data.name, names)));
    }
  }
  for (const auto& [name, value] : outputs) {
    TensorReport tensor = ReportOf(name, value);
    for (const TensorData& data : expected) {
      if (data.name != name) continue;
      TensorType type = data.type;
      if (StoresBits(data.type.dtype, value.view.dtype)) type.dtype = value.view.dtype;
      SBP_ASSIGN_OR_RETURN(const Value wanted, ValueFromData(data, type));
      const Result<Difference> difference = Compare(value, wanted, tolerance);
      tensor.compared = difference.ok();
      if (difference.ok()) {
        tensor.difference = *difference;
      } else {
        tensor.problem = difference.status().message();
      }
    }
    report.outputs.push_back(std::move(tensor));
  }
  return OkStatus();
}

// NaN where the file has one is no mistake.
std::set<std::string> NamesWithNaN(const std::vector<TensorData>& expected) {
  std::set<std::string> names;
  for (const TensorData& data : expected) {
    const Result<Value> value = ValueFromData(data, data.type);
    if (value.ok() && value->view.present() && HasNaN(value->view)) names.insert(data.name);
  }
  return names;
}

// The tensor of --until. Error: no tensor has the name.
Result<TensorId> FindUntil(const Graph& graph, const std::string& name) {
  const TensorId id = NameIndex(graph).tensor(name);
  if (id.valid()) return id;
  std::vector<std::string> names;
  for (const Tensor& tensor : graph.tensors) names.push_back(tensor.name);
  return BadInput(StrCat("--until ", Quote(name), ": no tensor has this name", DidYouMean(name, names)));
}

// Leaves out the inputs that only what was cut off reads.
void KeepInputsOf(const Graph& part, const Graph& whole, std::vector<TensorData>& inputs) {
  const NameIndex names(part), before(whole);
  std::erase_if(inputs, [&](const TensorData& data) {
    return before.tensor(data.name).valid() && !names.tensor(data.name).valid();
  });
}

bool IsElementwise(const RunOptions& options) { return options.rtol.has_value() || options.atol.has_value(); }

ElementTolerance ToleranceOf(const RunOptions& options) { return {options.rtol.value_or(0), options.atol.value_or(0)}; }

RunReport ReportUnsharded(const UnshardedRun& run, const Graph& graph, const TensorStore& store,
                          const RunOptions& options) {
  RunReport report;
  report.what = StrCat(graph.ops.size(), " ops, unsharded");
  report.measured_seconds = run.seconds;
  if (!run.repeats.empty()) {
    const Measured warm = Summarise(run.repeats);
    report.measured_seconds = warm.median;
    report.notes.push_back(StrCat("time: the median of ", run.repeats.size(), " warm runs, spread ",
                                  std::lround(100 * warm.spread), " %; the first run took ",
                                  FormatSeconds(run.seconds)));
  }
  report.random_inputs = store.random_inputs();
  report.random_parameters = store.random_parameters();
  report.tolerance = options.tolerance.value_or(DefaultTolerance(graph));
  report.elementwise = IsElementwise(options);
  report.against = options.expected_from;
  return report;
}

// The plan up to --until, and what it was cut from.
struct PlanPart {
  Plan plan, whole;  // whole: before the cut; empty where nothing is cut
};
Result<PlanPart> CutUntil(Plan plan, const std::string& until, std::vector<TensorData>& inputs) {
  PlanPart part;
  if (until.empty()) {
    part.plan = std::move(plan);
    return part;
  }
  SBP_ASSIGN_OR_RETURN(const TensorId id, FindUntil(plan.graph, until));
  part.plan = CutPlan(plan, id);
  KeepInputsOf(part.plan.graph, plan.graph, inputs);
  part.whole = std::move(plan);
  return part;
}

PlanRunOptions RunOptionsOf(const RunOptions& options, const std::vector<TensorData>& expected) {
  PlanRunOptions run;
  run.micro_batches = options.micro_batches;
  run.reference = options.reference && options.expected_from.empty();
  run.keep_tensors = options.tensors;
  run.repeats = options.repeats;
  run.seed = options.seed;
  run.tolerance = options.tolerance;
  run.trace = options.trace;
  run.parts = options.parts;
  run.nan_expected = NamesWithNaN(expected);
  run.progress = options.progress;
  run.cancelled = options.cancelled;
  return run;
}

}  // namespace

Result<PlanRun> RunModel(LoadedModel model, const RuleSet& rules, ResolveOptions resolve, RunData data,
                         const RunOptions& options, const std::function<void(std::string_view)>& warn) {
  const auto is_input = [&](const TensorData& data) {  // and no weight
    return std::ranges::any_of(model.graph.inputs,
                               [&](TensorId input) { return model.graph.tensor(input).name == data.name; });
  };
  if (std::ranges::none_of(data.inputs, is_input)) AssumeBatch(model.graph, 1, resolve);
  SBP_ASSIGN_OR_RETURN(Resolved resolved, ResolveWithInputs(std::move(model.graph), rules, resolve, data.inputs));
  for (const std::string& warning : resolved.warnings) {
    if (warn) warn(warning);
  }
  Graph& stored = resolved.graph;
  if (!options.until.empty()) {
    SBP_ASSIGN_OR_RETURN(const TensorId until, FindUntil(stored, options.until));
    Graph part = CutGraph(stored, until).graph;
    KeepInputsOf(part, stored, data.inputs);
    stored = std::move(part);
  }
  const Graph graph = options.dtype ? Retyped(stored, rules, *options.dtype) : stored;
  TensorStore store(graph, stored, options.seed, ReadDataOf(model.path));
  for (TensorData& state : FirstStates(graph, data.inputs)) data.inputs.push_back(std::move(state));
  store.set_cancelled(options.cancelled);
  SBP_RETURN_IF_ERROR(store.Give(data.inputs).WithContext("--inputs"));
  SBP_ASSIGN_OR_RETURN(
      UnshardedRun unsharded,
      RunUnsharded(graph, rules, store,
                   {.seed = options.seed, .repeats = options.repeats, .cancelled = options.cancelled}));
  PlanRun run;
  run.report = ReportUnsharded(unsharded, graph, store, options);
  SBP_RETURN_IF_ERROR(CompareWithExpected(data.expected, unsharded.outputs, ToleranceOf(options), run.report));
  run.outputs = std::move(unsharded.outputs);
  return run;
}

Result<PlanRun> RunPlan(Plan given_plan, const RuleSet& rules, const std::string& model_path, RunData data,
                        Backend& backend, const RunOptions& options) {
  SBP_RETURN_IF_ERROR(CheckAgainstAssumptions(given_plan.graph, data.inputs));
  SBP_RETURN_IF_ERROR(CheckLabels(given_plan.graph, data.inputs));
  SBP_ASSIGN_OR_RETURN(const std::vector<TensorData> assumed, AssumedInputs(given_plan.graph, data.inputs));
  data.inputs.insert(data.inputs.end(), assumed.begin(), assumed.end());
  if (!backend.is_virtual()) {  // virtual time reads no values, and these are twice the size of a model
    for (TensorData& state : FirstStates(given_plan.graph, data.inputs)) data.inputs.push_back(std::move(state));
  }
  SBP_ASSIGN_OR_RETURN(PlanPart part, CutUntil(std::move(given_plan), options.until, data.inputs));
  Plan& plan = part.plan;
  const Graph stored = plan.graph;
  if (options.dtype) plan.graph = Retyped(stored, rules, *options.dtype);
  TensorStore store(plan.graph, stored, options.seed, model_path.empty() ? DataReader() : ReadDataOf(model_path));
  store.set_cancelled(options.cancelled);
  SBP_RETURN_IF_ERROR(store.Give(data.inputs).WithContext("--inputs"));
  PlanRunOptions run_options = RunOptionsOf(options, data.expected);
  std::unique_ptr<Reference> reference;
  std::unique_ptr<TwinData> exact;
  ReferenceRequest beside{
      model_path, options.until.empty() ? &plan : &part.whole, &data.inputs, options.dtype, options.until, options.seed,
      true};
  if (run_options.reference && !backend.is_virtual() && !model_path.empty()) {
    SBP_ASSIGN_OR_RETURN(reference, LoadReference(plan, rules, beside, store));
    run_options.reference_graph = &reference->graph;
    run_options.reference_store = reference->store.get();
  }
  if (options.dtype != DType::kF64) {
    run_options.exact = [&, beside]() mutable -> Result<Twin> {
      beside.dtype = DType::kF64;
      beside.takes_folded = false;  // a mistake in these is no rounding
      SBP_ASSIGN_OR_RETURN(exact, MakeTwin(plan, stored, rules, beside, store));
      return exact->twin();
    };
  }
  SBP_ASSIGN_OR_RETURN(PlanRun run, RunPlanOn(plan, rules, store, backend, run_options));
  if (!options.expected_from.empty() && backend.leads()) {
    run.report.outputs.clear();
    run.report.against = options.expected_from;
    run.report.elementwise = IsElementwise(options);
    SBP_RETURN_IF_ERROR(CompareWithExpected(data.expected, run.outputs, ToleranceOf(options), run.report));
  }
  return run;
}

Result<std::string> FindModelOfPlan(const Plan& plan, const std::string& plan_path, const std::string& given) {
  std::vector<std::string> places;
  if (!given.empty()) {
    places = {given};
  } else if (!plan.model_path.empty() && plan.model_path != "-") {
    places = {plan.model_path, (std::filesystem::path(plan_path).parent_path() / plan.model_path).string()};
  }
  for (const std::string& place : places) {
    const bool is_there =
        IsOfCall(place) ? DocumentOf(*CurrentCallFiles(), place).has_value() : std::filesystem::exists(place);
    if (!is_there) continue;
    SBP_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(place));
    if (!plan.model_fingerprint.empty() && Fingerprint(bytes) != plan.model_fingerprint) {
      return BadInput(StrCat(place, ": not the model that was planned (its hash is ", Fingerprint(bytes),
                             "; the plan was made from ", plan.model_fingerprint, "); plan it again"));
    }
    return place;
  }
  if (!given.empty()) return BadInput(StrCat(given, ": no such ", IsOfCall(given) ? "document" : "file"));
  return std::string();
}

}  // namespace sbp
