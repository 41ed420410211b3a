#include "report/diff_spellings.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/sections.h"
#include "report/facts.h"

namespace sbp {
namespace {

constexpr double kSamePrice = 0.005;
constexpr double kLeastPrice = 1e-9;  // seconds; what is less is rounding
constexpr size_t kMostTypes = 8;      // of both plans together

bool ShareNames(const Graph& a, const Graph& b) {
  std::unordered_set<std::string_view> names;
  for (const Op& op : a.ops) names.insert(op.name);
  const auto shared = std::ranges::count_if(b.ops, [&](const Op& op) { return names.contains(op.name); });
  return 2 * static_cast<size_t>(shared) >= std::max(a.ops.size(), b.ops.size());
}

struct PricedOp {
  double seconds;
  OpId op;
};
// Dearest first, equal ones in order; those that cost next to nothing are left out.
std::vector<PricedOp> PricedOps(const Plan& plan) {
  std::vector<PricedOp> priced;
  const StepRuns runs(plan.graph);
  for (size_t o = 0; o < plan.graph.ops.size(); ++o) {
    const double seconds = static_cast<double>(runs.of(OpId(o))) * plan.decision(OpId(o)).compute_seconds;
    if (seconds >= kLeastPrice) priced.push_back({seconds, OpId(o)});
  }
  std::ranges::stable_sort(priced, std::greater<>(), &PricedOp::seconds);
  return priced;
}

struct Unmatched {
  std::string_view side, type;
  int64_t count = 0;
  double seconds = 0;
  std::string first;
};

class UnmatchedTypes {
 public:
  void Add(std::string_view side, const Plan& plan, const PricedOp& priced) {
    const Op& op = plan.graph.op(priced.op);
    const std::string_view type = plan.graph.type_of(op);
    Unmatched& sum = of_.try_emplace({side, type}, Unmatched{side, type, 0, 0, op.name}).first->second;
    ++sum.count;
    sum.seconds += priced.seconds;
  }
  std::string Text() const {
    std::vector<Unmatched> sorted;
    for (const auto& [key, sum] : of_) sorted.push_back(sum);
    std::ranges::stable_sort(sorted, std::greater<>(), &Unmatched::seconds);
    std::vector<std::vector<std::string>> rows;
    double rest = 0;
    for (size_t i = 0; i < sorted.size(); ++i) {
      const Unmatched& sum = sorted[i];
      if (i >= kMostTypes) {
        rest += sum.seconds;
        continue;
      }
      rows.push_back({std::string(sum.side), std::string(sum.type), FormatCount(sum.count), FormatSeconds(sum.seconds),
                      StrCat(sum.count > 1 ? "first " : "", Quote(sum.first))});
    }
    if (rows.empty()) return "";
    std::string text = "ops without one of the same price in the other plan, by type (most names differ)\n";
    text += AlignColumns(rows, {false, false, true, true, false}, 2);
    if (rest > 0) text += StrCat("  and ", sorted.size() - kMostTypes, " other types: ", FormatSeconds(rest), "\n");
    return text;
  }

 private:
  std::map<std::pair<std::string_view, std::string_view>, Unmatched> of_;
};

}  // namespace

std::string FormatUnmatched(const Plan& a, const Plan& b) {
  if (ShareNames(a.graph, b.graph)) return "";
  const std::vector<PricedOp> before = PricedOps(a), after = PricedOps(b);
  UnmatchedTypes unmatched;
  size_t i = 0, j = 0;
  while (i < before.size() || j < after.size()) {
    const double x = i < before.size() ? before[i].seconds : 0, y = j < after.size() ? after[j].seconds : 0;
    if (i < before.size() && j < after.size() && std::max(x, y) - std::min(x, y) <= kSamePrice * std::max(x, y)) {
      ++i;
      ++j;
    } else if (x >= y) {
      unmatched.Add("before", a, before[i++]);
    } else {
      unmatched.Add("after", b, after[j++]);
    }
  }
  return unmatched.Text();
}

}  // namespace sbp
