// One screen: what a step costs, where communication comes from and why, what fills the memory, what to worry about.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/number_text.h"
#include "base/text.h"
#include "cluster/collective_kind.h"
#include "cost/cost.h"
#include "graph/graph.h"
#include "graph/kernel_groups.h"
#include "graph/tensor_type.h"
#include "naming/buffer_label.h"
#include "naming/module_names.h"
#include "plan/layer_kinds.h"
#include "plan/patterns.h"
#include "plan/physical_plan.h"
#include "plan/plan.h"
#include "report/facts.h"
#include "report/report.h"
#include "sbp/shard_math.h"
#include "schedule/measure.h"
#include "schedule/schedule.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

constexpr double kLeastWait = 0.005;  // of a schedule, to be worth a word

std::string Bytes(int64_t bytes) { return FormatBytes(static_cast<double>(bytes)); }

std::string Percent(double part, double whole) {
  return whole > 0 ? StrCat(std::lround(100 * part / whole), " %") : "0 %";
}

// Rounded up: "0.04 %", "0.7 %", "12 %". Less than 1e-9 is rounding.
std::string GapPercent(double gap) {
  if (gap < 1e-9) return "0 %";
  const int parts = gap < 0.001 ? 100 : gap < 0.1 ? 10 : 1;  // of a percent
  return StrCat(FormatGeneral(std::ceil(100 * gap * parts - 1e-6) / parts), " %");
}

std::string Headline(const Plan& plan) {
  const std::string model = plan.model_path.empty() ? plan.graph.name : plan.model_path;
  std::string text = StrCat(
      model.empty() ? "graph" : model, ": ", FormatCount(static_cast<int64_t>(plan.graph.ops.size())), " ops on mesh ",
      ToString(plan.mesh), " (", plan.mesh.num_devices(), plan.mesh.num_devices() == 1 ? " device" : " devices");
  if (!plan.cluster.name.empty()) text += StrCat(", ", plan.cluster.name);
  text += StrCat("), strategy ", plan.options.strategy);
  const std::string_view criterion = CriterionOf(plan.options.strategy, plan.options.criterion);
  if (!criterion.empty()) text += StrCat(" by ", criterion);
  return text + "\n\n";
}

// What may close a gap above its goal. It is sums whose search ends at a goal or is cut short, so theirs counts, too.
std::string MoreEffort(const Plan& plan, double gap, const SummaryOptions& options) {
  const bool may = plan.cut_short && std::min(gap, GapOf(plan)) > options.goal_gap && !options.more_effort.empty();
  return may ? StrCat(": ", options.more_effort, " may help") : "";
}

// What runs as one kernel, and what cutting groups costs.
std::vector<std::string> KernelsRow(const Plan& plan) {
  const KernelGroups& kernels = plan.kernels;
  size_t count = plan.graph.ops.size(), light = 0, epilogues = 0, attention = 0, backward = 0;
  for (size_t o = 0; o < plan.graph.ops.size(); ++o) count -= kernels.runs_no_kernel(OpId(o)) ? 1 : 0;
  for (const KernelGroup& group : kernels.groups) {
    const auto run = [&](OpId op) { return !kernels.runs_no_kernel(op); };
    count -= static_cast<size_t>(std::ranges::count_if(group.ops, run)) - 1;
    switch (group.kind) {
      case GroupKind::kLight:
        ++light;
        break;
      case GroupKind::kEpilogue:
        ++epilogues;
        break;
      case GroupKind::kAttention:
        ++attention;
        break;
      case GroupKind::kAttentionBackward:
        ++backward;
        break;
    }
  }
  double cut = 0;
  size_t cuts = 0;
  for (const Transition& transition : plan.transitions) {
    cut += transition.cut_seconds;
    cuts += transition.cut_seconds > 0 ? 1 : 0;
  }
  std::string text = StrCat("of ", FormatCount(plan.graph.ops.size()), " ops; fused: ", FormatCount(light), " light");
  if (epilogues > 0) text += StrCat(", ", FormatCount(epilogues), " with a contraction");
  if (attention > 0) text += StrCat(", ", FormatCount(attention), " attention");
  if (backward > 0) text += StrCat(", ", FormatCount(backward), " attention backward");
  if (cuts > 0)
    text += StrCat("; ", FormatCount(cuts), cuts == 1 ? " cut for layouts costs " : " cuts for layouts cost ",
                   FormatSeconds(cut));
  return {"kernels", FormatCount(count), text};
}

// Of the step as it is executed. `shares`: of what adds up to it where there are no collectives.
std::vector<std::string> ScheduleRow(const Plan& plan, const ScheduleSummary& schedule, const std::string& shares,
                                     const SummaryOptions& options) {
  std::string text = shares;
  if (schedule.collectives > 0) {
    text = StrCat("compute and collectives side by side: exposed ", FormatSeconds(schedule.exposed), " of ",
                  FormatSeconds(schedule.collectives), " of collectives");
  }
  if (schedule.slowed > 0) text += StrCat(", compute ", FormatSeconds(schedule.slowed), " slower beside them");
  if (schedule.idle > 0) text += StrCat(", idle ", FormatSeconds(schedule.idle));
  size_t ahead = 0, early = 0;
  for (const Transition& transition : plan.transitions) {
    if (!transition.ahead_of.valid()) continue;
    const bool sends = std::ranges::any_of(transition.steps, [](const auto& step) { return !RowOf(step.kind).local; });
    ++(sends ? ahead : early);
  }
  if (ahead > 0) text += StrCat("; ", FormatCount(ahead), " sent ahead");
  if (early > 0) text += StrCat("; ", FormatCount(early), early == 1 ? " slice" : " slices", " made early for memory");
  const std::optional<double> in_arena = SecondsInArena(plan);
  if (in_arena && std::fabs(*in_arena - schedule.step) > kLeastWait * schedule.step) {
    text += StrCat("; ", FormatSeconds(*in_arena), " in the arena of --physical, which uses memory again");
  }
  if (plan.schedule_bound_seconds) {
    const double gap = ScheduleGapOf(plan, schedule.step);
    text +=
        StrCat("; no plan ", plan.options.reorders ? "in this order of ops " : "", "takes less than ",
               FormatSeconds(*plan.schedule_bound_seconds), ", gap ", GapPercent(gap), MoreEffort(plan, gap, options));
  }
  return {"step time", FormatSeconds(schedule.step), text};
}

// Of the phase in which a training step computes again.
std::string Recomputed(const Plan& plan) {
  const AgainSum sum = SumAgain(plan);
  return StrCat("; ", FormatCount(sum.ops), " ops write ", Bytes(sum.bytes), " again, per device");
}

// "1 kind of 32: uniform, 0.4 % dearer than the best mix found". Empty where no layers repeat, or nobody asked.
std::vector<std::string> LayersRow(const Plan& plan) {
  if (!plan.options.uniform || plan.mesh.num_devices() == 1) return {};
  const LayerKinds layers = KindsOfLayers(plan);
  if (layers.layers == 0) return {};
  std::string text = StrCat(layers.kinds == 1 ? "kind" : "kinds", " among ", FormatCount(layers.layers), " layers");
  if (layers.kinds > 1) text += StrCat(", in ", FormatCount(layers.runs), " runs");
  const double share = *plan.options.uniform;
  if (share < 0) {
    text += "; uniform: off";
  } else if (plan.uniformity_cost) {
    text += StrCat("; uniform: within ", FormatDouble(100 * share), " %, costs ", GapPercent(*plan.uniformity_cost),
                   " against the best mix found");
  } else {
    text +=
        StrCat("; uniform: no plan of fewer kinds was found that fits and is within ", FormatDouble(100 * share), " %");
  }
  return {"layers", FormatCount(layers.kinds), text};
}

std::string CollectiveLines(const Plan& plan) {
  const auto sums = SumCollectives(plan);
  if (sums.empty()) return "\nno collectives: no tensor moves between devices\n";
  std::vector<std::vector<std::string>> rows = {{"collectives", "count", "bytes moved", "time"}};
  for (const auto& [kind, sum] : sums) {
    rows.push_back({StrCat("  ", CollectiveKindName(kind)), FormatCount(sum.count), FormatBytes(sum.bytes),
                    FormatSeconds(sum.seconds)});
  }
  return "\n" + AlignColumns(rows, {false, true, true, true}, 0);
}

// The largest shares of the sum of prices, the rest summed. `title`: "compute by op type".
std::string TimeShares(std::string_view title, const std::vector<TimeShare>& shares, double step, size_t shown) {
  std::vector<std::vector<std::string>> rows = {{std::string(title), "ops", "time", "share"}};
  const auto add = [&](const TimeShare& share) {
    const std::string collectives =
        share.collective_seconds > 0 ? StrCat("of it collectives ", FormatSeconds(share.collective_seconds)) : "";
    rows.push_back({"  " + share.name, FormatCount(share.ops), FormatSeconds(share.seconds()),
                    Percent(share.seconds(), step), collectives});
  };
  rows.front().emplace_back();
  TimeShare rest;
  for (size_t i = 0; i < shares.size(); ++i) {
    // A rest of one is no shorter than its name.
    if (i < shown || (i + 1 == shares.size() && rest.ops == 0)) {
      add(shares[i]);
      continue;
    }
    rest.ops += shares[i].ops;
    rest.compute_seconds += shares[i].compute_seconds;
    rest.collective_seconds += shares[i].collective_seconds;
  }
  if (rest.ops > 0) {
    rest.name = StrCat(shares.size() - shown, " others");
    add(rest);
  }
  return "\n" + AlignColumns(rows, {false, true, true, true, false}, 0);
}

std::string Times(const Plan& plan, const SummaryOptions& options) {
  const double step = plan.total.seconds();
  if (step <= 0) return "";
  std::string text = TimeShares("compute by op type", TimeByType(plan), step, options.shares);
  std::vector<TimeShare> scopes = TimeByScope(plan);
  if (scopes.size() < 2) return text;  // one scope, or none at all, says nothing
  for (TimeShare& scope : scopes) {
    if (scope.name.empty()) scope.name = "(no scope)";
  }
  return text + TimeShares("time by scope", scopes, step, options.shares);
}

std::string Dearest(const Plan& plan, const SummaryOptions& options) {
  const std::vector<CollectiveGroup> groups = GroupCollectives(plan);
  if (groups.empty()) return "";
  std::string out = "\ndearest collectives\n";
  const ModuleNames names(plan.graph);
  for (size_t i = 0; i < std::min(groups.size(), options.dearest); ++i) {
    const CollectiveGroup& group = groups[i];
    const Transition& first = *group.first;
    const TensorType& type = plan.graph.tensor(first.tensor).type;
    out += StrCat("  ", FormatSeconds(group.seconds), ", ", FormatBytes(group.bytes), ": ", DescribeSteps(plan, first),
                  group.count > 1 ? StrCat(", ", FormatCount(group.count), " alike, first") : "", " of ",
                  names.QuotedLabel(plan.graph, first.tensor), " ", ToString(type), ", ",
                  FormatLayout(first.from, type.rank(), options.notation), " -> ",
                  FormatLayout(first.to, type.rank(), options.notation), "\n");
    if (!first.reason.empty()) out += StrCat("      because ", first.reason, "\n");
  }
  if (groups.size() > options.dearest) out += StrCat("  and ", groups.size() - options.dearest, " other kinds\n");
  return out;
}

std::string Holders(const Plan& plan) {
  constexpr size_t kShown = 5;
  if (plan.memory.holders.empty()) return "";
  const ModuleNames names(plan.graph);
  const NameIndex index(plan.graph);
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < std::min(plan.memory.holders.size(), kShown); ++i) {
    const MemoryHolder& holder = plan.memory.holders[i];
    rows.push_back({Bytes(holder.bytes), holder.kind, BufferLabel(plan.graph, index, names, holder.name)});
  }
  return "\nlargest at the peak\n" + AlignColumns(rows, {true, false, false}, 2);
}

// How many of the parameters that the step updates are spread how, and their bytes, per mesh axis.
std::string Patterns(const Plan& plan) {
  const PatternReader reader(plan);
  if (reader.updated().empty() || plan.mesh.num_devices() == 1) return "";
  struct Sum {
    int64_t count = 0, bytes = 0;
  };
  std::map<std::pair<int, SpreadPattern>, Sum> sums;
  for (const TensorId parameter : reader.updated()) {
    for (const AxisPattern& found : reader.Of(parameter)) {
      Sum& sum = sums[{found.axis, found.pattern}];
      ++sum.count;
      sum.bytes += plan.graph.tensor(parameter).type.num_bytes();
    }
  }
  std::vector<std::vector<std::string>> rows = {{"updated parameters", "over", "count", "bytes, unsharded"}};
  for (const auto& [key, sum] : sums) {
    rows.push_back({StrCat("  ", PatternName(key.second)), plan.mesh.axes[key.first].name, FormatCount(sum.count),
                    Bytes(sum.bytes)});
  }
  return "\n" + AlignColumns(rows, {false, false, true, true}, 0);
}

// A titled list of which only the first entries are printed.
template <typename List, typename Print>
std::string Limited(std::string_view title, const List& list, size_t shown, Print print) {
  if (list.empty()) return "";
  std::string out = StrCat("\n", title, " (", list.size(), ")\n");
  for (size_t i = 0; i < std::min(list.size(), shown); ++i) out += StrCat("  ", print(list[i]), "\n");
  if (list.size() > shown) out += StrCat("  and ", list.size() - shown, " more\n");
  return out;
}

}  // namespace

double ScheduleGapOf(const Plan& plan, double step) {
  return step > 0 ? std::max(0.0, (step - *plan.schedule_bound_seconds) / step) : 0.0;
}

double GapOf(const Plan& plan) {
  const double seconds = plan.total.seconds();
  return seconds > 0 ? std::max(0.0, (seconds - plan.lower_bound_seconds) / seconds) : 0.0;
}

std::vector<std::vector<std::string>> TotalRows(const Plan& plan, const SummaryOptions& options) {
  const Cost& total = plan.total;
  const double seconds = total.seconds();
  std::vector<std::vector<std::string>> rows;
  const auto share = [&](std::string_view what, double part) {
    return StrCat(what, " ", FormatSeconds(part), " (", Percent(part, seconds), ")");
  };
  const CollectiveSum local = SumLocalCopies(plan);
  const double wire = std::max(0.0, total.collective_seconds - local.seconds);
  std::string shares = share("compute", total.compute_seconds) + ", " + share("collectives", wire);
  if (local.count > 0) shares += StrCat(", ", share("local slices and copies", local.seconds));
  const ScheduleSummary schedule = MakeSchedule(plan).summary;
  rows.push_back(ScheduleRow(plan, schedule, shares, options));
  // Without collectives nothing runs beside compute: both are the same.
  if (schedule.collectives > 0) rows.push_back({"sum of prices", FormatSeconds(seconds), shares});
  for (const TimeShare& phase : TimeByPhase(plan)) {
    rows.push_back(
        {"  " + phase.name, FormatSeconds(phase.seconds()),
         StrCat("compute ", FormatSeconds(phase.compute_seconds), ", collectives ", FormatSeconds(phase.wire_seconds()),
                phase.local_seconds > 0 ? StrCat(", local slices and copies ", FormatSeconds(phase.local_seconds)) : "",
                "; ", Percent(phase.seconds(), seconds), phase.name == kAgainPhase ? Recomputed(plan) : "")});
  }
  if (const int64_t count = plan.graph.micro_batches; count > 1) {
    const double micro = SecondsOfMicroBatches(plan);
    rows.push_back({"  sections", "",
                    StrCat("micro ", count, " x ", FormatSeconds(micro / static_cast<double>(count)), ", step ",
                           FormatSeconds(seconds - micro))});
  }
  if (plan.has_bound) {
    rows.push_back({"lower bound", FormatSeconds(plan.lower_bound_seconds),
                    StrCat("of the sum of prices; gap ", GapPercent(GapOf(plan)),
                           MeasureOf(plan) == StepMeasure::kSum ? MoreEffort(plan, GapOf(plan), options) : "")});
  }
  if (const std::vector<std::string> layers = LayersRow(plan); !layers.empty()) rows.push_back(layers);
  if (!plan.kernels.empty()) rows.push_back(KernelsRow(plan));
  rows.push_back({"bytes moved", FormatBytes(total.bytes_moved), "sent by all ranks in one step"});
  const MemorySummary& memory = plan.memory;
  std::vector<std::string> parts;
  for (const auto& [name, bytes] : PartsOfPeak(plan)) parts.push_back(StrCat(name, " ", Bytes(bytes)));
  const double capacity = plan.cluster.device.memory_bytes.value;
  const bool exceeds = capacity > 0 && static_cast<double>(memory.peak_bytes) > capacity;
  std::string split = StrCat(
      "per device", exceeds ? StrCat(", above the ", FormatBytes(capacity), " of ", plan.cluster.device.name) : "",
      ": ", Join(parts, ", "));
  if (memory.workspace_bytes > 0) split += StrCat(", workspace of kernels ", Bytes(memory.workspace_bytes));
  if (memory.peak_op.valid() && memory.peak_op.index() < plan.graph.ops.size()) {
    split += StrCat("; during ", Quote(plan.graph.op(memory.peak_op).name), ScopeBeside(plan.graph, memory.peak_op));
  }
  rows.push_back({"peak memory", Bytes(memory.peak_bytes), split});
  if (plan.physical) {
    const PhysicalPlan& physical = *plan.physical;
    const auto bound = static_cast<double>(physical.lower_bound_bytes);
    rows.push_back({"arena", Bytes(physical.arena_bytes),
                    StrCat("per device, ", Percent(static_cast<double>(physical.arena_bytes) - bound, bound),
                           " above what is in use at one time; ", physical.tasks.size(), " tasks, ",
                           physical.registers.size(), " registers, placed ", physical.placement)});
  }
  return rows;
}

std::string GapText(const Plan& plan) {
  if (MeasureOf(plan) == StepMeasure::kSum) return plan.has_bound ? GapPercent(GapOf(plan)) : "";
  return plan.schedule_bound_seconds ? GapPercent(ScheduleGapOf(plan, MakeSchedule(plan).summary.step)) : "";
}

std::string FormatSummary(const Plan& plan, const SummaryOptions& options) {
  std::string out = Headline(plan) + AlignColumns(TotalRows(plan, options), {false, true, false}, 0) +
                    Times(plan, options) + Patterns(plan) + CollectiveLines(plan) + Dearest(plan, options) +
                    Holders(plan);
  const ModuleNames names = plan.replicated.empty() ? ModuleNames() : ModuleNames(plan.graph);
  out += Limited("replicated for lack of a legal split", plan.replicated, 5, [&](const ReplicatedTensor& r) {
    return StrCat(names.QuotedLabel(plan.graph, r.tensor), ": ", r.reason);
  });
  out += Limited("layouts overridden", plan.conflicts, 3, [](const LayoutConflict& c) {
    return StrCat(c.where, ": ", c.given, " given, ", c.used, " used: ", c.reason);
  });
  out += Limited("warnings", plan.warnings, 8, [](const std::string& warning) { return warning; });
  return out;
}

}  // namespace sbp
