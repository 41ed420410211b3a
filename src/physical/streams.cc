#include "physical/streams.h"

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/checked_math.h"
#include "memory/byte_map.h"
#include "plan/physical_plan.h"
#include "plan/plan.h"

namespace sbp {
namespace {

constexpr uint32_t kNoTask = std::numeric_limits<uint32_t>::max();
using LastUsers = std::array<uint32_t, 2>;  // per stream: the last task that touches a register

}  // namespace

bool IsCommunication(const Plan& plan, const Task& task) {
  if (task.transition < 0) return false;
  return !RowOf(plan.transitions[task.transition].steps[task.step].kind).local;
}

void OrderReuse(const Plan& plan, PhysicalPlan& physical) {
  std::vector<LastUsers> users(physical.registers.size(), {kNoTask, kNoTask});
  std::vector<bool> communicates(physical.tasks.size());
  for (uint32_t t = 0; t < physical.tasks.size(); ++t) {
    communicates[t] = IsCommunication(plan, physical.tasks[t]);
    for (const std::vector<uint32_t>* list : {&physical.tasks[t].reads, &physical.tasks[t].writes}) {
      for (const uint32_t r : *list) {
        if (r != kNoRegister) users[r][communicates[t] ? 1 : 0] = t;
      }
    }
  }
  ByteMap<LastUsers> memory;
  for (uint32_t r = 0; r < users.size(); ++r) {
    const Register& reg = physical.registers[r];
    if (!reg.resident || reg.bytes == 0) continue;
    memory.Replace(reg.offset, SaturatingAdd(reg.offset, reg.footprint()), users[r], [](const LastUsers&) {});
  }
  for (uint32_t t = 0; t < physical.tasks.size(); ++t) {
    Task& task = physical.tasks[t];
    uint32_t latest = kNoTask;
    for (const uint32_t r : task.writes) {
      if (r == kNoRegister || physical.registers[r].bytes == 0) continue;
      const Register& reg = physical.registers[r];
      memory.Replace(reg.offset, SaturatingAdd(reg.offset, reg.footprint()), users[r], [&](const LastUsers& before) {
        const uint32_t other = before[communicates[t] ? 0 : 1];
        if (other != kNoTask && other < t && (latest == kNoTask || other > latest)) latest = other;
      });
    }
    task.after.clear();
    if (latest != kNoTask) task.after.push_back(latest);
  }
}

}  // namespace sbp
