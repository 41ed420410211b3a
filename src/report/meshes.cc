#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cluster/collective_kind.h"
#include "meshes/choose.h"
#include "meshes/trial.h"
#include "naming/module_names.h"
#include "plan/plan.h"
#include "report/facts.h"
#include "report/report.h"
#include "sbp/mesh.h"
#include "schedule/measure.h"
#include "schedule/schedule.h"

namespace sbp {
namespace {

constexpr size_t kMostParts = 4;      // that the next best is dearer or cheaper by
constexpr double kLeastPart = 0.02;   // of the difference
constexpr double kLeastShare = 1e-6;  // of a step, to be called a difference
constexpr size_t kMostFailures = 6;

std::string PercentOf(double part, double whole) {
  if (whole <= 0) return "0 %";
  const double percent = 100 * part / whole;
  return StrCat(FormatDouble(percent < 9.95 ? std::round(10 * percent) / 10 : std::round(percent)), " %");
}

std::vector<std::string> RowOf(const MeshTrial& trial, StepMeasure measure) {
  std::vector<std::string> row(8, "-");
  row[0] = ToString(trial.mesh);
  const bool planned = trial.outcome == MeshOutcome::kPlanned;
  if (planned || (trial.has_price && measure == StepMeasure::kSchedule)) {
    row[1] = FormatSeconds(trial.overlapped_seconds);
  }
  if (trial.has_price) row[2] = FormatSeconds(trial.seconds);
  if (planned) {
    row[3] = FormatSeconds(trial.exposed_seconds);
    row[4] = FormatBytes(static_cast<double>(trial.peak_bytes));
  }
  const std::optional<double> bound = trial.StepBound(measure);
  if (bound) row[5] = FormatSeconds(*bound);
  if (bound && trial.has_price) {
    const double seconds = trial.StepSeconds(measure);
    row[6] = PercentOf(seconds - *bound, seconds);
  }
  row[7] = std::string(kMeshOutcomeNames[static_cast<size_t>(trial.outcome)]);
  return row;
}

// Where the time goes: compute, and what of the collectives it does not hide; of the sum: compute, kinds of
// collectives, local copies.
std::map<std::string, double> PartsOfStep(const Plan& plan, StepMeasure measure) {
  if (measure == StepMeasure::kSchedule) {
    const ScheduleSummary schedule = MakeSchedule(plan).summary;
    return {{"compute", schedule.compute},
            {"exposed collectives", schedule.exposed},
            {"compute slowed by collectives", schedule.slowed},
            {"idle", schedule.idle}};
  }
  std::map<std::string, double> parts = {{"compute", plan.total.compute_seconds}};
  for (const auto& [kind, sum] : SumCollectives(plan)) parts[std::string(CollectiveKindName(kind))] += sum.seconds;
  parts["local slices and copies"] = SumLocalCopies(plan).seconds;
  return parts;
}

// "all-reduce 3.1 ms more, compute 1 ms less": of the other plan, largest first.
std::string Differences(const Plan& best, const Plan& other, StepMeasure measure, double difference) {
  std::map<std::string, double> parts = PartsOfStep(other, measure);
  for (const auto& [name, seconds] : PartsOfStep(best, measure)) parts[name] -= seconds;
  std::vector<std::pair<std::string, double>> sorted(parts.begin(), parts.end());
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return std::fabs(a.second) > std::fabs(b.second); });
  std::vector<std::string> texts;
  for (const auto& [name, seconds] : sorted) {
    if (texts.size() == kMostParts || std::fabs(seconds) < kLeastPart * difference ||
        std::fabs(seconds) < kLeastShare * best.total.seconds())
      break;
    texts.push_back(StrCat(name, " ", FormatSeconds(std::fabs(seconds)), seconds > 0 ? " more" : " less"));
  }
  return Join(texts, ", ");
}

// What is compared, with its verb.
std::string_view StepTakes(StepMeasure measure) {
  return measure == StepMeasure::kSchedule ? "a step takes" : "the sum of prices is";
}

std::string Reasons(const Plan& best, const Plan& other, StepMeasure measure) {
  const double step = StepSeconds(best, measure), other_step = StepSeconds(other, measure);
  const double difference = other_step - step;
  const std::string name = ToString(other.mesh);
  std::string text = StrCat(ToString(best.mesh), " is best: ");
  if (difference > kLeastShare * step) {
    text += StrCat(StepTakes(measure), " ", FormatSeconds(difference), " (", PercentOf(difference, other_step),
                   ") less than on ", name, ", the next best");
  } else {
    text += StrCat(StepTakes(measure), " the same on ", name, ", the next best");
  }
  if (const std::string parts = Differences(best, other, measure, difference); !parts.empty())
    text += StrCat(", which takes ", parts);
  text += StrCat("; peak ", FormatBytes(static_cast<double>(best.memory.peak_bytes)), ", there ",
                 FormatBytes(static_cast<double>(other.memory.peak_bytes)), "\n");
  const std::vector<CollectiveGroup> groups = GroupCollectives(other);
  if (!groups.empty()) {
    const CollectiveGroup& group = groups.front();
    const ModuleNames names(other.graph);
    text += StrCat("dearest collective on ", name, ": ", DescribeSteps(other, *group.first), " of ",
                   names.Label(other.graph, group.first->tensor),
                   group.count > 1 ? StrCat(" and ", group.count - 1, " alike") : "", ", ",
                   FormatSeconds(group.seconds), "\n");
  }
  return text;
}

std::string Failures(const MeshChoice& choice) {
  std::string text;
  size_t shown = 0, all = 0;
  for (const MeshTrial& trial : choice.trials) {
    if (trial.why.empty() || ++all > kMostFailures) continue;
    text += StrCat(ToString(trial.mesh), ": ",
                   trial.why.substr(0, std::min(trial.why.find('\n'), trial.why.find("; the largest"))), "\n");
    ++shown;
  }
  if (all > shown) text += StrCat("and ", all - shown, " meshes more without a plan (--format json has them all)\n");
  return text;
}

}  // namespace

std::string FormatMeshes(const MeshChoice& choice) {
  const bool schedules = choice.measure == StepMeasure::kSchedule;
  std::vector<std::vector<std::string>> rows = {{"mesh", "step", "sum of prices", "exposed", "peak",
                                                 schedules ? "bound of step" : "bound of sum", "gap", "outcome"}};
  for (const MeshTrial& trial : choice.trials) rows.push_back(RowOf(trial, choice.measure));
  std::string text;
  for (const SizeTrial& size : choice.too_few) {
    text += StrCat(size.devices, size.devices == 1 ? " device is" : " devices are", " too few: ", size.why, "\n");
  }
  text += AlignColumns(rows, {false, true, true, true, true, true, true, false}, 0);
  text += Failures(choice);
  if (choice.plans.size() > 1) {
    text += Reasons(choice.plans[0], choice.plans[1], choice.measure);
  } else if (choice.trials.size() > 1 && choice.trials[1].outcome == MeshOutcome::kPruned) {
    const MeshTrial& next = choice.trials[1];
    text += StrCat(ToString(choice.trials[0].mesh), " is best: on ", ToString(next.mesh), ", the next best, no ",
                   schedules ? "step takes" : "sum of prices is", " less than ",
                   FormatSeconds(next.StepBound(choice.measure).value_or(0)), "\n");
  }
  if (const std::optional<double> bound = choice.StepBound()) {
    const double best = choice.trials.front().StepSeconds(choice.measure);
    text += StrCat("no mesh that was tried is better by more than ", PercentOf(best - *bound, best), "\n");
  }
  return text;
}

std::string SumUpMeshes(const MeshChoice& choice) {
  std::map<MeshOutcome, int64_t> counts;
  for (const MeshTrial& trial : choice.trials) ++counts[trial.outcome];
  std::vector<std::string> parts;
  for (const auto& [outcome, count] : counts) {
    parts.push_back(StrCat(count, " ", kMeshOutcomeNames[static_cast<size_t>(outcome)]));
  }
  const MeshTrial& best = choice.trials.front();
  const double seconds = best.StepSeconds(choice.measure);
  const std::optional<double> bound = choice.StepBound();
  const std::string what =
      StrCat("of ", choice.trials.size(), choice.trials.size() == 1 ? " mesh " : " meshes ", Join(parts, ", "), "; ");
  if (choice.plans.empty()) return StrCat(what, "none takes less than ", FormatSeconds(bound.value_or(0)));
  return StrCat(what, ToString(best.mesh), " in ", FormatSeconds(seconds),
                bound ? StrCat(", none is better by more than ", PercentOf(seconds - *bound, seconds)) : "");
}

}  // namespace sbp
