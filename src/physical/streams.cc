#include "physical/streams.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "base/checked_math.h"

namespace sbp {
namespace {

constexpr uint32_t kNoTask = std::numeric_limits<uint32_t>::max();
using LastUsers = std::array<uint32_t, 2>;  // per stream: the last task that touches a register

// Who used each byte of the arena last: disjoint ranges by their begin.
class UserMap {
 public:
  // Visits the users of every range within [begin, end), then makes the range belong to `users`.
  template <typename Visit>
  void Replace(int64_t begin, int64_t end, const LastUsers& users, Visit visit) {
    Cut(begin);
    Cut(end);
    auto it = ranges_.lower_bound(begin);
    while (it != ranges_.end() && it->first < end) {
      visit(it->second.users);
      it = ranges_.erase(it);
    }
    ranges_[begin] = {end, users};
  }

 private:
  struct Held {
    int64_t end = 0;
    LastUsers users{};
  };

  void Cut(int64_t at) {
    auto it = ranges_.upper_bound(at);
    if (it == ranges_.begin()) return;
    --it;
    if (it->first == at || it->second.end <= at) return;
    ranges_[at] = it->second;
    it->second.end = at;
  }

  std::map<int64_t, Held> ranges_;
};

}  // namespace

bool IsCommunication(const Plan& plan, const Task& task) {
  if (task.transition < 0) return false;
  switch (plan.transitions[task.transition].steps[task.step].kind) {
    case CollectiveKind::kSlice:
    case CollectiveKind::kFill:
    case CollectiveKind::kPad:
      return false;
    default:
      return true;
  }
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
  UserMap memory;
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
