// infer: model in, plan out.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/model.h"
#include "api/planning.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/caller.h"
#include "cli/command.h"
#include "cli/mesh_flags.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "io/documents.h"
#include "io/file.h"
#include "meshes/choose.h"
#include "physical/physical.h"
#include "pipeline/pipeline.h"
#include "pipeline/request.h"
#include "plan/plan.h"
#include "report/report.h"
#include "rule/rule_set.h"
#include "sbp/shard_math.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

struct InferFlags {
  PlanningFlags planning;
  MeshFlags meshes;
  OutputFlags output;
  std::string out;
  bool physical = false;
  uint32_t micro_batches = 1;
};

// The most memory that this process has held. Not getrusage's figure alone: that counts what the parent held before
// this program was loaded.
double PeakRssBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    constexpr std::string_view kPeak = "VmHWM:";
    if (line.starts_with(kPeak)) return std::strtod(line.c_str() + kPeak.size(), nullptr) * 1024;
  }
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<double>(usage.ru_maxrss) * 1024 : 0;
}

using Clock = std::chrono::steady_clock;
double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void MakePhysical(const InferFlags& flags, Plan& plan) {
  plan.physical = MakePhysicalPlan(plan, {.micro_batches = flags.micro_batches});
  if (std::string warning = WarnOfArena(plan, *plan.physical); !warning.empty()) {
    plan.warnings.push_back(std::move(warning));
  }
}

// With what a user who has no plan for lack of memory may ask for.
Status WithAdvice(const InferFlags& flags, Status failure) {
  if (!failure.lacks_memory()) return failure;
  const std::string& remat = flags.planning.request.remat;
  const bool may_compute_again = flags.planning.train && (remat.empty() || remat == "none");
  std::vector<std::string> advice;
  if (may_compute_again) advice.emplace_back("--remat auto computes activations again in place of keeping them");
  if (!flags.meshes.search.fit) {
    const std::string_view given = flags.meshes.chooses() ? "--devices" : "--mesh";
    advice.push_back(StrCat("--fit in place of ", given, " finds how many devices are enough"));
  }
  if (advice.empty()) return failure;
  return NoPlanFits(StrCat(failure.message(), "\n", Join(advice, "; ")));
}

// The mesh is chosen, too.
Status InferMesh(const InferFlags& flags, const RuleSet& rules, Encoding encoding, Clock::time_point start) {
  for (size_t number = 2; number <= flags.meshes.top && !flags.out.empty() && flags.out != "-"; ++number) {
    SBP_RETURN_IF_ERROR(CheckWritable(PathOfPlan(flags.out, number)));
  }
  if (flags.out == "-" && flags.meshes.top > 1) return UsageError("-o - is one plan, --top several; give -o a file");
  Timings timings;
  Result<MeshChoice> made = PlanChoosingMesh(flags.planning, flags.meshes, rules, timings);
  if (!made.ok()) return WithAdvice(flags, made.status());
  MeshChoice choice = *std::move(made);
  for (size_t i = 0; i < choice.kept; ++i) {
    if (flags.physical) MakePhysical(flags, choice.plans[i]);
  }
  const Plan& best = choice.plans.front();
  NotePins(best);
  const auto writing = Clock::now();
  for (size_t i = 0; i < choice.kept && !flags.out.empty(); ++i) {
    const std::string path = i == 0 ? flags.out : PathOfPlan(flags.out, i + 1);
    SBP_RETURN_IF_ERROR(WriteFile(path, WritePlan(choice.plans[i], encoding)));
  }
  timings["write"] = SecondsSince(writing);
  timings["total"] = SecondsSince(start);
  if (CurrentCaller() == nullptr) timings["peak_rss_bytes"] = PeakRssBytes();  // else mostly the calling process's own
  if (flags.output.json()) return Print(SummaryJson(best, timings, &choice));
  const std::string text =
      StrCat(FormatMeshes(choice), "\n", FormatSummary(best, {.notation = flags.output.layout_notation()}));
  if (flags.out == "-") {
    Note(text);
    return OkStatus();
  }
  SBP_RETURN_IF_ERROR(Print(text));
  if (flags.out.empty()) return OkStatus();
  Note(StrCat("plan written to ", flags.out));
  for (size_t i = 1; i < choice.kept; ++i) {
    Note(StrCat("plan of ", ToString(choice.plans[i].mesh), " written to ", PathOfPlan(flags.out, i + 1)));
  }
  return OkStatus();
}

Status Infer(const InferFlags& flags) {
  const auto start = Clock::now();
  SBP_RETURN_IF_ERROR(CheckMeshFlags(flags.meshes));
  if (flags.out == "-" && flags.output.json()) {
    return UsageError("-o - and --format json both want stdout; give -o a file");
  }
  Encoding encoding = Encoding::kJson;
  if (!flags.out.empty()) {
    SBP_ASSIGN_OR_RETURN(encoding, EncodingForPath(flags.out));  // before any work
    SBP_RETURN_IF_ERROR(CheckWritable(flags.out));
  }
  Timings stages, timings;
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.planning.model.rules));
  if (flags.meshes.chooses()) return InferMesh(flags, rules, encoding, start);
  SBP_ASSIGN_OR_RETURN(PlanRequest request, PreparePlan(flags.planning, rules, timings));
  const SearchGoal goal = GoalOf(request);
  const auto planning = Clock::now();
  Result<Plan> made = ChoosesRemat(flags.planning)
                          ? PlanChoosingRemat(flags.planning, rules, std::move(request), stages)
                          : PlanObserved(std::move(request), flags.planning, stages);
  if (!made.ok()) return WithAdvice(flags, made.status());
  Plan plan = *std::move(made);
  NotePins(plan);
  if (flags.physical) MakePhysical(flags, plan);
  timings["plan"] = SecondsSince(planning);
  const auto writing = Clock::now();
  if (!flags.out.empty()) SBP_RETURN_IF_ERROR(WriteFile(flags.out, WritePlan(plan, encoding)));
  timings["write"] = SecondsSince(writing);
  timings["total"] = SecondsSince(start);
  if (CurrentCaller() == nullptr) timings["peak_rss_bytes"] = PeakRssBytes();  // else mostly the calling process's own
  if (flags.output.json()) return Print(SummaryJson(plan, timings));
  const std::string summary = FormatSummary(
      plan, {.notation = flags.output.layout_notation(), .goal_gap = goal.gap, .more_effort = goal.more_effort});
  if (flags.out == "-") {
    Note(summary);
    return OkStatus();
  }
  SBP_RETURN_IF_ERROR(Print(summary));
  if (!flags.out.empty()) Note(StrCat("plan written to ", flags.out));
  return OkStatus();
}

}  // namespace

Command SetupInfer(CLI::App& app) {
  auto flags = std::make_shared<InferFlags>();
  AddPlanningFlags(app, flags->planning);
  AddMeshFlags(app, flags->meshes);
  AddStrategyFlags(app, flags->planning);
  AddTrainingFlags(app, flags->planning);
  app.add_option("--weights", flags->planning.weights,
                 "check that these weights of Hugging Face are the model's: .safetensors, "
                 "model.safetensors.index.json, or a folder with one of them")
      ->type_name("FILE");
  AddFormatFlag(app, flags->output);
  AddNotationFlag(app, flags->output);
  auto* physical = app.add_flag("--physical", flags->physical, "also tasks, registers and offsets in one arena");
  app.add_option("--micro-batches", flags->micro_batches, "of --physical: how many inputs stream through a step")
      ->check(CLI::Range(1, 1 << 20))
      ->needs(physical)
      ->capture_default_str();
  app.add_option("-o,--output", flags->out, "write the plan: .json, .prototxt or .pb; - is stdout")->type_name("PLAN");
  return [flags] { return Infer(*flags); };
}

}  // namespace sbp
