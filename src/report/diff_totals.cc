// The figures of two plans, one beside the other.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cluster/collective_kind.h"
#include "plan/layer_kinds.h"
#include "plan/plan.h"
#include "report/diff_spellings.h"
#include "report/facts.h"
#include "report/report.h"
#include "schedule/schedule.h"

namespace sbp {
namespace {

// "x 2.31", "+12 %", "-0.4 %"; "" where nothing changed.
std::string Change(double before, double after) {
  if (before == after) return "";
  if (before <= 0) return "new";
  if (after <= 0) return "gone";
  if (after >= 2 * before) return StrCat("x ", FormatDouble(std::round(100 * after / before) / 100));
  const double percent = 100 * (after - before) / before;
  const double step = std::abs(percent) < 1 ? 0.01 : std::abs(percent) < 10 ? 0.1 : 1;
  const double rounded = std::round(percent / step) * step;
  const std::string number = FormatDouble(std::round(std::abs(rounded) * 100) / 100);
  return number == "0" ? "less than 0.01 %" : StrCat(percent > 0 ? "+" : "-", number, " %");
}

class TotalsTable {
 public:
  void Add(const std::string& what, double before, double after, std::string (*format)(double)) {
    rows_.push_back({what, format(before), format(after), Change(before, after)});
  }
  void AddCollective(CollectiveKind kind, const CollectiveSum& before, const CollectiveSum& after) {
    const auto text = [](const CollectiveSum& sum) {
      return sum.count == 0 ? std::string("none") : StrCat(FormatCount(sum.count), ": ", FormatSeconds(sum.seconds));
    };
    rows_.push_back(
        {StrCat("  ", CollectiveKindName(kind)), text(before), text(after), Change(before.seconds, after.seconds)});
  }
  std::string Text() const { return AlignColumns(rows_, {false, true, true, false}, 0); }

 private:
  std::vector<std::vector<std::string>> rows_ = {{"", "before", "after", ""}};
};

// By name; where one of the two is no training step it has none of the other's parts.
std::vector<std::pair<std::string_view, std::pair<int64_t, int64_t>>> PartsOfBothPeaks(const Plan& a, const Plan& b) {
  std::vector<std::pair<std::string_view, std::pair<int64_t, int64_t>>> both;
  for (const auto& [name, bytes] : PartsOfPeak(a)) both.push_back({name, {bytes, 0}});
  for (const auto& [name, bytes] : PartsOfPeak(b)) {
    const auto known = std::ranges::find(both, name, [](const auto& part) { return part.first; });
    if (known == both.end()) {
      both.push_back({name, {0, bytes}});
    } else {
      known->second.second = bytes;
    }
  }
  return both;
}

}  // namespace

std::string FormatTotals(const Plan& a, const Plan& b) {
  TotalsTable table;
  const ScheduleSummary x = MakeSchedule(a).summary, y = MakeSchedule(b).summary;
  table.Add("step time", x.step, y.step, FormatSeconds);
  table.Add("sum of prices", a.total.seconds(), b.total.seconds(), FormatSeconds);
  table.Add("exposed", x.exposed, y.exposed, FormatSeconds);
  table.Add("compute", a.total.compute_seconds, b.total.compute_seconds, FormatSeconds);
  table.Add("boxing", a.total.collective_seconds, b.total.collective_seconds, FormatSeconds);
  auto before = SumCollectives(a), after = SumCollectives(b);
  std::set<CollectiveKind> kinds;
  for (const auto& [kind, sum] : before) kinds.insert(kind);
  for (const auto& [kind, sum] : after) kinds.insert(kind);
  for (const CollectiveKind kind : kinds) table.AddCollective(kind, before[kind], after[kind]);
  table.Add("bytes moved", a.total.bytes_moved, b.total.bytes_moved, FormatBytes);
  const auto memory = [&](const std::string& what, int64_t x, int64_t y) {
    table.Add(what, static_cast<double>(x), static_cast<double>(y), FormatBytes);
  };
  memory("peak memory", a.memory.peak_bytes, b.memory.peak_bytes);
  for (const auto& [name, bytes] : PartsOfBothPeaks(a, b)) memory(StrCat("  ", name), bytes.first, bytes.second);
  if (a.memory.workspace_bytes + b.memory.workspace_bytes > 0) {
    memory("  workspace", a.memory.workspace_bytes, b.memory.workspace_bytes);
  }
  const LayerKinds alike_a = KindsOfLayers(a), alike_b = KindsOfLayers(b);
  if (alike_a.kinds != alike_b.kinds) {
    const auto count = [](double kinds) { return FormatCount(std::lround(kinds)); };
    table.Add("kinds of layer", alike_a.kinds, alike_b.kinds, count);
  }
  return table.Text() + FormatUnmatched(a, b);
}

}  // namespace sbp
