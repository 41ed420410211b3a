#include "api/meshes.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/assignment.h"
#include "api/model.h"
#include "base/checked_math.h"
#include "base/text.h"
#include "cluster/cluster.h"
#include "graph/graph.h"
#include "io/documents.h"
#include "io/file.h"
#include "meshes/factorisations.h"
#include "meshes/trial.h"
#include "pipeline/pipeline.h"
#include "pipeline/request.h"
#include "plan/plan.h"
#include "recipe/recipe.h"
#include "sbp/mesh.h"
#include "strategy/optimal/search_options.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

// "data=zero3,model=tp" names axes.
bool IsPerAxis(const std::string& recipe) { return recipe.find('=') != std::string::npos; }

Result<std::vector<std::string>> AxisNamesOf(const MeshSearch& search, const std::string& recipe) {
  if (!search.axes.empty()) return ParseAxisNames(search.axes);
  if (!IsPerAxis(recipe)) return ParseAxisNames(kDefaultAxes);
  std::vector<std::string> names;
  for (const std::string_view part : Split(recipe, ',')) names.emplace_back(Trim(part.substr(0, part.find('='))));
  return ParseAxisNames(Join(names, ","));
}

bool HasPins(const PlanRequest& request) {
  const Graph& graph = request.graph;
  return !request.pins.empty() ||
         std::ranges::any_of(graph.tensors, [](const Tensor& tensor) { return tensor.layout_pin.size() > 0; }) ||
         std::ranges::any_of(graph.ops, [](const Op& op) { return !op.signature_pin.empty(); });
}

Result<Cluster> ClusterOf(int64_t devices, const std::string& name, const NoteSink& note) {
  const Mesh line{.axes = {{"x", devices}}};
  SBP_ASSIGN_OR_RETURN(const Cluster cluster, ChooseCluster(name, nullptr));
  if (devices > cluster.num_devices()) {
    Result<Cluster> grown = ChooseCluster(name, &line, note);
    if (grown.ok()) return grown;
    return BadInput(StrCat("--devices ", devices, ": cluster ", name, " has ", cluster.num_devices()));
  }
  return cluster;
}

// Of the planner's words those before where the peak is and what holds it, and before the target, which is known.
std::string FirstWords(const std::string& message) {
  return message.substr(0, std::min({message.find('\n'), message.find(", at "), message.find("; the largest"),
                                     message.find(", --target-step")}));
}

class Planner {
 public:
  Planner(PlanningInput& input, const MeshSearch& search, const RuleSet& rules, const MeshSearchOptions& options,
          const NoteSink& note)
      : input_(input), search_(search), rules_(rules), options_(options), note_(note) {}

  Result<MeshChoice> Run() {
    SBP_RETURN_IF_ERROR(Prepare());
    return search_.fit ? Fit() : Choose(devices_, note_, options_.explains);
  }

 private:
  Status Prepare() {
    if (input_.mesh) return UsageError("--devices: the mesh is given, by --mesh");
    SBP_ASSIGN_OR_RETURN(names_, AxisNamesOf(search_, input_.recipe));
    if (search_.devices < 0 || search_.devices > kMostDevices || (search_.devices == 0 && !search_.fit)) {
      return UsageError(StrCat("--devices ", search_.devices, ": expected 1 to ", kMostDevices));
    }
    const bool pinned = !input_.pins.empty() || !input_.pin_files.empty();
    if (pinned && search_.axes.empty()) {
      return UsageError("pins have a layout for each mesh axis: --axes says which there are (--axes data,model)");
    }
    for (const std::string& name : names_) all_axes_.axes.push_back({name, 1});
    const auto place = [&](PlanRequest& request) -> Status {
      request.mesh = all_axes_;
      devices_ = search_.devices;
      if (devices_ == 0) {
        SBP_ASSIGN_OR_RETURN(const Cluster cluster, ChooseCluster(input_.cluster, nullptr));
        const bool grows =
            cluster.growable && FindPreset(input_.cluster.empty() ? kDefaultCluster : input_.cluster).ok();
        devices_ = grows ? std::max(cluster.num_nodes, kMostNodes) * cluster.devices_per_node : cluster.num_devices();
      }
      SBP_ASSIGN_OR_RETURN(request.cluster, ClusterOf(devices_, input_.cluster, nullptr));
      return OkStatus();
    };
    if (!search_.fit) input_.assumed_batch = search_.devices;
    SBP_ASSIGN_OR_RETURN(prepared_, PrepareModel(input_, rules_, place));
    SBP_RETURN_IF_ERROR(KeepOrder());
    if (note_ && !input_.ignore_annotations &&
        (input_.loaded->annotations != nullptr || input_.loaded->shardings != nullptr))
      note_("the model's sharding annotations are for one mesh: --devices and --fit plan without them");
    SBP_RETURN_IF_ERROR(ReadStartAxes());
    naming_ = HasPins(prepared_) ? AxisNaming::kAll : IsPerAxis(input_.recipe) ? AxisNaming::kNamed : AxisNaming::kFree;
    return OkStatus();
  }

  // Meshes are compared in the order of the graph, whose bounds hold in no other: also where a plan to start from has
  // its own.
  Status KeepOrder() {
    SBP_ASSIGN_OR_RETURN(const StrategyRow* strategy, FindStrategy(prepared_.options.strategy));
    if (strategy->reorders == nullptr) return OkStatus();
    if (!strategy->reorders(prepared_.strategy)) {
      prepared_.strategy.values["op-order"] = std::string(kGivenOrder);
      return OkStatus();
    }
    return UsageError(StrCat("--op-order ", kShortestOrder,
                             " is of one mesh: choose that with --devices or --fit first, ",
                             "then plan on it with --mesh"));
  }

  // A plan to start from has layouts for the axes of its own mesh; on meshes of more or fewer it is left out.
  Status ReadStartAxes() {
    SBP_ASSIGN_OR_RETURN(const StrategyRow* strategy, FindStrategy(prepared_.options.strategy));
    const StrategyOption* option = OptionOfKind(*strategy, OptionKind::kStart);
    const auto given = option == nullptr ? input_.strategy_options.end() : input_.strategy_options.find(option->name);
    if (given == input_.strategy_options.end()) return OkStatus();
    const std::string& path = std::get<std::string>(given->second);
    SBP_ASSIGN_OR_RETURN(const std::string content, ReadFile(path));
    SBP_ASSIGN_OR_RETURN(const Plan plan, ReadPlan(content, path));
    start_axes_ = plan.mesh.num_axes();
    without_start_ = input_;
    without_start_.strategy_options.erase(given->first);
    if (note_) {
      note_(StrCat("--", option->name, " ", path, " is for ", start_axes_, start_axes_ == 1 ? " axis" : " axes",
                   ": meshes of another number are planned without it"));
    }
    return OkStatus();
  }

  Result<MeshChoice> Choose(int64_t devices, const NoteSink& note, bool explains) {
    SBP_ASSIGN_OR_RETURN(Cluster cluster, ClusterOf(devices, input_.cluster, note));
    cluster.execution = prepared_.cluster.execution;
    cluster.fused_scopes = prepared_.cluster.fused_scopes;
    SBP_ASSIGN_OR_RETURN(std::vector<Mesh> meshes, MeshesOf(devices, names_, naming_, cluster));
    if (!search_.among.empty()) {
      std::erase_if(meshes, [&](const Mesh& mesh) { return KnownOn(mesh) == nullptr; });
    }
    const RequestOnMesh request_on = [&](const Mesh& mesh) -> Result<PlanRequest> {
      PlanRequest request = prepared_;
      request.mesh = mesh;
      request.cluster = cluster;
      SBP_ASSIGN_OR_RETURN(const std::vector<Recipe> recipes, RecipesOn(mesh));
      const bool starts = start_axes_ == 0 || mesh.num_axes() == start_axes_;
      SBP_RETURN_IF_ERROR(PutOnMesh(starts ? input_ : without_start_, recipes, request));
      const Plan* known = KnownOn(mesh);
      if (known != nullptr && request.strategy.start_signatures.empty()) StartFrom(*known, request);
      return request;
    };
    MeshSearchOptions options = options_;
    options.explains = explains;
    options.refines = !search_.among.empty();
    options.target_step = search_.fit ? search_.target_step : std::nullopt;
    return ChooseMesh(meshes, request_on, options);
  }

  const Plan* KnownOn(const Mesh& mesh) const {
    const Plan* known = nullptr;
    for (const std::shared_ptr<const Plan>& plan : search_.among) {
      if (plan->mesh == mesh) known = plan.get();
    }
    return known;
  }

  // Of the axes that the mesh has.
  Result<std::vector<Recipe>> RecipesOn(const Mesh& mesh) const {
    std::vector<Recipe> recipes;
    if (input_.recipe.empty()) return recipes;
    if (!IsPerAxis(input_.recipe)) return ReadRecipes(input_.recipe, mesh);
    SBP_ASSIGN_OR_RETURN(const std::vector<Recipe> all, ReadRecipes(input_.recipe, all_axes_));
    for (const MeshAxis& axis : mesh.axes) {
      recipes.push_back(all[static_cast<size_t>(std::ranges::find(names_, axis.name) - names_.begin())]);
    }
    return recipes;
  }

  // What no plan on so many devices is below: inputs and parameters, spread over all of them.
  double LeastBytes(int64_t devices) const {
    double bytes = 0;
    for (const Tensor& tensor : prepared_.graph.tensors) {
      if (!tensor.producer.valid()) bytes += static_cast<double>(tensor.type.num_bytes());
    }
    return bytes / static_cast<double>(devices);
  }

  // On so many devices. Error kNoPlan: not enough, said shortly in `too_few`, too.
  Result<MeshChoice> FitOn(int64_t devices, std::vector<SizeTrial>& too_few) {
    if (options_.progress) options_.progress(StrCat(devices, " devices"));
    const std::optional<int64_t> limit = prepared_.options.memory_limit;
    if (const double least = LeastBytes(devices); limit && least > static_cast<double>(*limit)) {
      const std::string why = StrCat("inputs and parameters alone take ", FormatBytes(least), " on each");
      too_few.push_back({devices, why});
      return NoPlan(StrCat(why, ", --memory-limit is ", FormatBytes(static_cast<double>(*limit))));
    }
    Result<MeshChoice> choice = Choose(devices, nullptr, options_.explains && devices == devices_);
    if (!choice.ok()) {
      if (choice.status().code() == Code::kNoPlan) too_few.push_back({devices, FirstWords(choice.status().message())});
      return choice;
    }
    if (!search_.target_step || choice->trials.front().StepSeconds(choice->measure) <= *search_.target_step) {
      return choice;
    }
    const MeshTrial& best = ShortestOf(*choice);
    const double step = best.StepSeconds(choice->measure);
    const std::string why = StrCat("a step takes ", FormatSeconds(step), " on ", ToString(best.mesh));
    too_few.push_back({devices, why});
    return NoPlan(StrCat(why, ", --target-step is ", FormatSeconds(*search_.target_step)));
  }

  // Doubles the devices until they are enough, then halves what lies between, in whole nodes above one node.
  Result<MeshChoice> Fit() {
    std::vector<SizeTrial> too_few;
    SBP_ASSIGN_OR_RETURN(const Cluster whole, ClusterOf(devices_, input_.cluster, nullptr));
    Status failure;
    std::optional<MeshChoice> found;
    int64_t low = 0, high = 0;  // the first are not enough, the second are
    for (const int64_t devices : SizesOf(whole, devices_)) {
      if (options_.cancelled && options_.cancelled()) return NoPlan("planning was interrupted");
      Result<MeshChoice> choice = FitOn(devices, too_few);
      if (choice.ok()) {
        found = *std::move(choice);
        high = devices;
        break;
      }
      failure = choice.status();
      if (failure.code() != Code::kNoPlan) return failure;
      low = devices;
    }
    if (!found) return NotUpTo(failure, too_few);
    const int64_t unit = high > whole.devices_per_node ? whole.devices_per_node : 1;
    bool interrupted = false;
    for (int64_t few = low / unit, many = CeilDiv(high, unit); many - few > 1;) {
      const int64_t half = few + (many - few) / 2;
      Result<MeshChoice> choice = FitOn(half * unit, too_few);
      interrupted = options_.cancelled && options_.cancelled();
      if (interrupted) {
        std::erase_if(too_few, [&](const SizeTrial& size) { return size.devices == half * unit; });
        break;
      }
      if (!choice.ok() && choice.status().code() != Code::kNoPlan) return choice;
      (choice.ok() ? many : few) = half;
      if (choice.ok()) found = *std::move(choice);
    }
    if (interrupted) {
      found->plans.front().warnings.push_back(
          StrCat("interrupted: fewer devices than ", found->plans.front().mesh.num_devices(), " may be enough"));
    }
    std::ranges::sort(too_few, {}, &SizeTrial::devices);
    found->too_few = std::move(too_few);
    return *std::move(found);
  }

  Status NotUpTo(const Status& failure, const std::vector<SizeTrial>& too_few) const {
    if (too_few.size() == 1) {
      return failure.WithContext(StrCat("--fit: not on ", devices_, " devices, the most that were tried"));
    }
    std::string text = failure.message() + "\nof each number that was tried:";
    for (const SizeTrial& size : too_few) {
      text += StrCat("\n  ", size.devices, size.devices == 1 ? " device: " : " devices: ", size.why);
    }
    return NoPlan(text).WithContext(StrCat("--fit: not on up to ", devices_, " devices, the most that were tried"));
  }

  // Meshes whose bounds say that they miss the target are not planned; what was found at a glance is a plan, too.
  static const MeshTrial& ShortestOf(const MeshChoice& choice) {
    const MeshTrial* shortest = &choice.trials.front();
    for (const MeshTrial& trial : choice.trials) {
      if (trial.has_price && trial.StepSeconds(choice.measure) < shortest->StepSeconds(choice.measure))
        shortest = &trial;
    }
    return *shortest;
  }

  PlanningInput& input_;
  const MeshSearch& search_;
  const RuleSet& rules_;
  const MeshSearchOptions& options_;
  const NoteSink& note_;
  std::vector<std::string> names_;
  Mesh all_axes_;  // each of size 1
  AxisNaming naming_ = AxisNaming::kFree;
  int64_t devices_ = 0;
  PlanRequest prepared_;
  int start_axes_ = 0;  // of the plan to start from; 0: none is given
  PlanningInput without_start_;
};

}  // namespace

Result<MeshChoice> PlanOnMeshes(PlanningInput input, const MeshSearch& search, const RuleSet& rules,
                                const MeshSearchOptions& options, const NoteSink& note) {
  return Planner(input, search, rules, options, note).Run();
}

}  // namespace sbp
