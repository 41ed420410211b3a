#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/checked_math.h"
#include "graph/graph.h"
#include "memory/memory.h"
#include "plan/plan.h"

namespace sbp {
namespace {

__extension__ using Wide = __int128;  // a sum of many sizes that each fit 63 bits

std::string HolderName(const Plan& plan, const Lifetime& lifetime) {
  const std::string& name = plan.graph.tensor(lifetime.tensor).name;
  if (lifetime.transition < 0) return name;
  const std::vector<Use>& consumers = plan.transitions[lifetime.transition].consumers;
  if (consumers.empty()) return "boxing of " + name + " for the end of the step";
  return "boxing of " + name + " for " + plan.graph.op(consumers.front().op).name;
}

}  // namespace

uint32_t PeakPosition(const StepOrder& order, const std::vector<Lifetime>& lifetimes) {
  const size_t positions = std::max<size_t>(1, order.op_at.size());
  std::vector<Wide> change(positions + 1, 0);
  for (const Lifetime& lifetime : lifetimes) {
    change[lifetime.first] += lifetime.bytes;
    change[lifetime.last + 1] -= lifetime.bytes;
  }
  Wide now = 0, most = -1;
  uint32_t at = 0;
  for (size_t i = 0; i < positions; ++i) {
    now += change[i];
    if (now > most) {
      most = now;
      at = static_cast<uint32_t>(i);
    }
  }
  return at;
}

std::vector<int64_t> MostHeldByOp(const StepOrder& order, const std::vector<Lifetime>& lifetimes) {
  std::vector<Wide> change(order.op_at.size() + 1, 0);
  for (const Lifetime& lifetime : lifetimes) {
    if (lifetime.first >= order.op_at.size()) continue;
    change[lifetime.first] += lifetime.bytes;
    change[lifetime.last + 1] -= lifetime.bytes;
  }
  std::vector<int64_t> held(order.ops.size(), 0);
  Wide now = 0;
  for (size_t i = 0; i < order.op_at.size(); ++i) {
    now += change[i];
    int64_t& most = held[order.op_at[i].index()];
    most = std::max(most, static_cast<int64_t>(std::min<Wide>(now, kInt64Max)));
  }
  return held;
}

MemorySummary PeakMemory(const Plan& plan, const StepOrder& order, const std::vector<Lifetime>& lifetimes) {
  constexpr size_t kMaxHolders = 10;
  MemorySummary summary;
  const uint32_t peak = PeakPosition(order, lifetimes);
  if (!order.op_at.empty()) summary.peak_op = order.op_at[peak];
  std::vector<const Lifetime*> alive;
  for (const Lifetime& lifetime : lifetimes) {
    if (lifetime.first > peak || lifetime.last < peak) continue;
    const std::string_view kind = lifetime.kind;
    int64_t& sum = kind == "parameter" ? summary.parameter_bytes
                   : kind == "boxing"  ? summary.boxing_bytes
                                       : summary.activation_bytes;
    sum = SaturatingAdd(sum, lifetime.bytes);
    summary.peak_bytes = SaturatingAdd(summary.peak_bytes, lifetime.bytes);
    if (lifetime.bytes > 0) alive.push_back(&lifetime);
  }
  const auto larger = [](const Lifetime* a, const Lifetime* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a < b;  // of equal ones the first in the list
  };
  const size_t count = std::min(kMaxHolders, alive.size());
  std::partial_sort(alive.begin(), alive.begin() + static_cast<std::ptrdiff_t>(count), alive.end(), larger);
  for (size_t i = 0; i < count; ++i) {
    summary.holders.push_back({HolderName(plan, *alive[i]), alive[i]->kind, alive[i]->bytes});
  }
  return summary;
}

}  // namespace sbp
