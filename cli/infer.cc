// infer: model in, plan out.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/model.h"
#include "api/planning.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "io/documents.h"
#include "io/file.h"
#include "physical/physical.h"
#include "pipeline/pipeline.h"
#include "plan/plan.h"
#include "report/report.h"
#include "rule/rule_set.h"
#include "sbp/shard_math.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

struct InferFlags {
  PlanningFlags planning;
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

// What fused kernels keep inside, this program's runtime keeps in the arena.
void WarnOfArena(Plan& plan) {
  const std::optional<int64_t> limit = plan.options.memory_limit;
  const int64_t arena = SaturatingAdd(plan.physical->arena_bytes, plan.memory.workspace_bytes);
  if (!limit || arena <= *limit) return;
  const auto bytes = [](int64_t count) { return FormatBytes(static_cast<double>(count)); };
  std::string text = StrCat("the arena takes ", bytes(arena), " per device, more than --memory-limit ", bytes(*limit));
  if (plan.cluster.execution == Execution::kFused) {
    text += StrCat(": it holds what fused kernels keep inside, beside the peak of ", bytes(plan.memory.peak_bytes),
                   "; --execution eager plans for this program's own kernels");
  }
  plan.warnings.push_back(std::move(text));
}

Status Infer(const InferFlags& flags) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [](auto from) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  };
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
  SBP_ASSIGN_OR_RETURN(PlanRequest request, PreparePlan(flags.planning, rules, timings));
  const SearchGoal goal = GoalOf(request);
  const auto planning = std::chrono::steady_clock::now();
  SBP_ASSIGN_OR_RETURN(Plan plan, ChoosesRemat(flags.planning)
                                      ? PlanChoosingRemat(flags.planning, rules, std::move(request), stages)
                                      : PlanObserved(std::move(request), flags.planning, stages));
  NotePins(plan);
  if (flags.physical) {
    plan.physical = MakePhysicalPlan(plan, {.micro_batches = flags.micro_batches});
    WarnOfArena(plan);
  }
  timings["plan"] = seconds(planning);
  const auto writing = std::chrono::steady_clock::now();
  if (!flags.out.empty()) SBP_RETURN_IF_ERROR(WriteFile(flags.out, WritePlan(plan, encoding)));
  timings["write"] = seconds(writing);
  timings["total"] = seconds(start);
  timings["peak_rss_bytes"] = PeakRssBytes();
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
  AddStrategyFlags(app, flags->planning);
  AddTrainingFlags(app, flags->planning);
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
