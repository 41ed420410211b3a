// The JSON documents of infer, compare and diff (check's is alike). Keys are sorted; doubles read back the same.
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cluster/collective_kind.h"
#include "graph/graph.h"
#include "memory/training.h"
#include "meshes/choose.h"
#include "meshes/trial.h"
#include "naming/buffer_label.h"
#include "naming/module_names.h"
#include "plan/layer_kinds.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "report/facts.h"
#include "report/report.h"
#include "schedule/measure.h"
#include "schedule/schedule.h"

namespace sbp {
namespace {

using Json = nlohmann::json;

// Names from files may hold bytes that are no UTF-8; they are replaced, never thrown about.
std::string Print(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json Collectives(const Plan& plan) {
  Json list = Json::array();
  for (const auto& [kind, sum] : SumCollectives(plan)) {
    list.push_back(
        {{"kind", CollectiveKindName(kind)}, {"count", sum.count}, {"bytes", sum.bytes}, {"seconds", sum.seconds}});
  }
  return list;
}

// "label": what people call a tensor, val_76 (m/layers.0/mlp/fc1:weight).
Json Dearest(const Plan& plan, const ModuleNames& names) {
  Json list = Json::array();
  for (const CollectiveGroup& group : GroupCollectives(plan)) {
    if (list.size() == SummaryOptions().dearest) break;
    const Transition& first = *group.first;
    list.push_back({{"tensor", TensorName(plan, first.tensor)},
                    {"label", names.Label(plan.graph, first.tensor)},
                    {"from", ToString(first.from)},
                    {"to", ToString(first.to)},
                    {"steps", DescribeSteps(plan, first)},
                    {"count", group.count},
                    {"seconds", group.seconds},
                    {"bytes", group.bytes},
                    {"reason", first.reason}});
  }
  return list;
}

Json Memory(const Plan& plan, const ModuleNames& names) {
  const MemorySummary& memory = plan.memory;
  const NameIndex index(plan.graph);
  Json holders = Json::array();
  for (const MemoryHolder& holder : memory.holders) {
    holders.push_back({{"name", holder.name},
                       {"label", BufferLabel(plan.graph, index, names, holder.name)},
                       {"kind", holder.kind},
                       {"bytes", holder.bytes}});
  }
  Json json = {{"parameter_bytes", memory.parameter_bytes},
               {"activation_bytes", memory.activation_bytes},
               {"boxing_bytes", memory.boxing_bytes},
               {"holders", std::move(holders)}};
  if (const auto split = SplitPeak(plan)) {  // with the workspace they are the peak
    json["training"] = {{"parameter_bytes", split->parameters},         {"gradient_bytes", split->gradients},
                        {"optimizer_state_bytes", split->states},       {"kept_activation_bytes", split->kept},
                        {"other_activation_bytes", split->activations}, {"boxing_bytes", split->buffers},
                        {"workspace_bytes", memory.workspace_bytes}};
  }
  return json;
}

// Of a training step. As if nothing overlapped: collectives and local copies are exposed in full.
Json Phases(const Plan& plan) {
  Json list = Json::array();
  for (const TimeShare& phase : TimeByPhase(plan)) {
    list.push_back({{"phase", phase.name},
                    {"ops", phase.ops},
                    {"seconds", phase.seconds()},
                    {"compute_seconds", phase.compute_seconds},
                    {"collective_seconds", phase.wire_seconds()},
                    {"local_copy_seconds", phase.local_seconds}});
  }
  return list;
}

// The step as it is executed, compute beside collectives (schedule/schedule.h).
Json ScheduleOf(const Plan& plan) {
  const ScheduleSummary schedule = MakeSchedule(plan).summary;
  Json json = {{"seconds", schedule.step},
               {"compute_seconds", schedule.compute},  // with local copies, at full speed
               {"collective_seconds", schedule.collectives},
               {"exposed_seconds", schedule.exposed},  // of collectives, while nothing is computed
               {"slowed_seconds", schedule.slowed},    // that compute takes longer beside collectives
               {"idle_seconds", schedule.idle},
               {"arena_seconds", nullptr},        // in the arena of --physical; null: too large a graph to tell
               {"lower_bound_seconds", nullptr},  // no plan's schedule is shorter
               {"gap", nullptr}};
  if (plan.physical) json["arena_seconds"] = schedule.step;
  if (const std::optional<double> in_arena = SecondsInArena(plan)) json["arena_seconds"] = *in_arena;
  if (plan.schedule_bound_seconds) {
    json["lower_bound_seconds"] = *plan.schedule_bound_seconds;
    json["gap"] = ScheduleGapOf(plan, schedule.step);
  }
  return json;
}

// What repeats, and how alike it is laid out; null: not known. `uniform`: the share asked for, -1: off.
Json LayersOf(const Plan& plan) {
  const LayerKinds layers = KindsOfLayers(plan);
  Json json = {
      {"count", layers.layers}, {"kinds", layers.kinds},     {"runs", layers.runs}, {"kind", layers.kind},
      {"uniform", nullptr},     {"uniformity_cost", nullptr}};  // share of the step that the best mix found takes less
  if (plan.options.uniform) json["uniform"] = *plan.options.uniform;
  if (plan.uniformity_cost) json["uniformity_cost"] = *plan.uniformity_cost;
  return json;
}

// All prices added up, with the bound of that.
Json SumOf(const Plan& plan) {
  Json json = {{"seconds", plan.total.seconds()}, {"lower_bound_seconds", nullptr}, {"gap", nullptr}};
  if (plan.has_bound) {
    json["lower_bound_seconds"] = plan.lower_bound_seconds;
    json["gap"] = GapOf(plan);
  }
  return json;
}

// The fields that infer and compare share.
Json Figures(const Plan& plan) {
  const Json schedule = ScheduleOf(plan);
  Json json = {{"seconds_per_step", schedule["seconds"]},
               {"compute_seconds", plan.total.compute_seconds},
               {"collective_seconds", plan.total.collective_seconds},  // with local copies
               {"local_copy_seconds", SumLocalCopies(plan).seconds},   // slices and fills: no wire traffic
               {"bytes_moved", plan.total.bytes_moved},
               {"peak_bytes", plan.memory.peak_bytes},
               {"schedule", schedule},
               {"measure", kStepMeasureNames[static_cast<size_t>(MeasureOf(plan))]},  // which of both is minimised
               {"lower_bound_seconds", schedule["lower_bound_seconds"]},
               {"gap", schedule["gap"]},
               {"sum", SumOf(plan)},
               {"collectives", Collectives(plan)}};
  return json;
}

// Null: not known, as it was not planned.
Json Meshes(const MeshChoice& choice) {
  Json list = Json::array();
  for (const MeshTrial& trial : choice.trials) {
    const bool planned = trial.outcome == MeshOutcome::kPlanned;
    Json json = {{"mesh", ToString(trial.mesh)},
                 {"outcome", kMeshOutcomeNames[static_cast<size_t>(trial.outcome)]},
                 {"seconds_per_step", nullptr},
                 {"exposed_seconds", nullptr},
                 {"compute_seconds", nullptr},
                 {"collective_seconds", nullptr},
                 {"peak_bytes", nullptr},
                 {"lower_bound_seconds", nullptr},
                 {"sum", {{"seconds", nullptr}, {"lower_bound_seconds", nullptr}}}};
    if (planned || (trial.has_price && choice.measure == StepMeasure::kSchedule))
      json["seconds_per_step"] = trial.overlapped_seconds;
    if (trial.has_price) json["sum"]["seconds"] = trial.seconds;
    if (trial.schedule_bound_seconds) json["lower_bound_seconds"] = *trial.schedule_bound_seconds;
    if (trial.has_bound) json["sum"]["lower_bound_seconds"] = trial.bound_seconds;
    if (planned) {
      json["exposed_seconds"] = trial.exposed_seconds;
      json["compute_seconds"] = trial.total.compute_seconds;
      json["collective_seconds"] = trial.total.collective_seconds;
      json["peak_bytes"] = trial.peak_bytes;
    }
    if (!trial.why.empty()) json["error"] = trial.why;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

std::string SummaryJson(const Plan& plan, const std::map<std::string, double>& timings, const MeshChoice* choice) {
  Json json = Figures(plan);
  const ModuleNames names(plan.graph);
  json["model"] = plan.model_path;
  json["mesh"] = ToString(plan.mesh);
  json["devices"] = plan.mesh.num_devices();
  json["cluster"] = plan.cluster.name;
  json["strategy"] = plan.options.strategy;
  json["ops"] = plan.graph.ops.size();
  json["dearest"] = Dearest(plan, names);
  json["memory"] = Memory(plan, names);
  json["layers"] = LayersOf(plan);
  if (Json phases = Phases(plan); !phases.empty()) json["phases"] = std::move(phases);
  if (const AgainSum again = SumAgain(plan); again.ops > 0) {  // bytes: written per device
    json["recomputed"] = {{"ops", again.ops}, {"bytes", again.bytes}, {"seconds", again.seconds}};
  }
  json["replicated"] = Json::array();
  for (const ReplicatedTensor& r : plan.replicated) {
    json["replicated"].push_back(
        {{"tensor", TensorName(plan, r.tensor)}, {"label", names.Label(plan.graph, r.tensor)}, {"reason", r.reason}});
  }
  if (plan.physical) {
    json["arena_bytes"] = plan.physical->arena_bytes;
    json["arena_lower_bound_bytes"] = plan.physical->lower_bound_bytes;
    json["tasks"] = plan.physical->tasks.size();
    json["registers"] = plan.physical->registers.size();
  }
  json["conflicts"] = Json::array();
  for (const LayoutConflict& c : plan.conflicts) {
    json["conflicts"].push_back({{"where", c.where}, {"given", c.given}, {"used", c.used}, {"reason", c.reason}});
  }
  json["pins"] = Json::array();
  for (const PinMatch& match : plan.pin_matches) {
    json["pins"].push_back({{"pin", match.text},
                            {"where", match.where},
                            {match.of_ops ? "ops" : "tensors", match.count},
                            {"first", match.first}});
  }
  if (choice != nullptr) {
    json["meshes"] = Meshes(*choice);
    json["too_few"] = Json::array();
    for (const SizeTrial& size : choice->too_few)
      json["too_few"].push_back({{"devices", size.devices}, {"why", size.why}});
    const auto or_null = [](const std::optional<double>& seconds) { return seconds ? Json(*seconds) : Json(nullptr); };
    json["meshes_measure"] = kStepMeasureNames[static_cast<size_t>(choice->measure)];
    json["meshes_lower_bound_seconds"] = or_null(choice->schedule_bound_seconds);
    json["meshes_sum_lower_bound_seconds"] = or_null(choice->bound_seconds);
  }
  json["warnings"] = plan.warnings;
  json["timings"] = Json::object();
  for (const auto& [name, value] : timings) {
    if (name.ends_with("_bytes")) {
      json["timings"][name] = static_cast<int64_t>(value);
    } else {
      json["timings"][name] = value;
    }
  }
  return Print(json);
}

std::string DifferencesJson(const std::vector<PlanDifference>& differences) {
  Json list = Json::array();
  for (const PlanDifference& d : differences) {
    list.push_back({{"where", d.where},
                    {"label", d.label.empty() ? d.where : d.label},
                    {"what", d.what},
                    {"expected", d.expected},
                    {"found", d.found}});
  }
  return Print({{"differences", std::move(list)}});
}

std::string ComparisonJson(std::span<const ComparedPlan> plans) {
  Json list = Json::array();
  for (const ComparedPlan& compared : plans) {
    Json json = compared.plan == nullptr ? Json{{"error", compared.failure}} : Figures(*compared.plan);
    json["strategy"] = compared.name.substr(0, compared.name.find(' '));
    json["mesh"] = compared.mesh;
    json["planning_seconds"] = compared.planning_seconds;
    list.push_back(std::move(json));
  }
  return Print({{"plans", std::move(list)}});
}

}  // namespace sbp
