#include "report/diff_physical.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/text.h"
#include "boxing/boxing.h"
#include "physical/physical.h"
#include "plan/physical_plan.h"
#include "plan/plan.h"
#include "report/facts.h"

namespace sbp {
namespace {

class PhysicalDiff {
 public:
  PhysicalDiff(const Plan& a, const Plan& b, const DiffOptions& options, std::vector<PlanDifference>& out)
      : a_(a), b_(b), options_(options), out_(out) {}

  void Run() {
    Bytes("arena bytes", a_.physical->arena_bytes, b_.physical->arena_bytes);
    Bytes("lower bound of the arena", a_.physical->lower_bound_bytes, b_.physical->lower_bound_bytes);
    Text("physical part", "micro-batches", StrCat(a_.physical->micro_batches), StrCat(b_.physical->micro_batches));
    DiffTasks();
    DiffRegisters();
  }

 private:
  void Text(const std::string& where, const std::string& what, const std::string& x, const std::string& y) {
    if (x != y) out_.push_back({where, what, x, y});
  }

  void Bytes(const std::string& what, int64_t a, int64_t b) {
    const auto x = static_cast<double>(a), y = static_cast<double>(b);
    if (std::abs(x - y) <= options_.tolerance * std::max(x, y)) return;
    Text("memory", what, StrCat(FormatBytes(x), " (", a, ")"), StrCat(FormatBytes(y), " (", b, ")"));
  }

  // By name; a boxing task also by the layouts that it moves between.
  static std::vector<std::string> NamesOfTasks(const Plan& plan) {
    std::vector<std::string> names;
    for (const Task& task : plan.physical->tasks) {
      std::string name = TaskName(plan, task);
      if (!task.op.valid()) {
        const BoxingStep& step = plan.transitions[task.transition].steps[task.step];
        name += StrCat(", ", ToString(step.from), " -> ", ToString(step.to));
      }
      names.push_back(std::move(name));
    }
    return names;
  }

  void DiffTasks() {
    const std::vector<std::string> in_a = NamesOfTasks(a_), in_b = NamesOfTasks(b_);
    std::map<std::string, size_t> at_a, at_b;
    for (size_t t = 0; t < in_a.size(); ++t) at_a.emplace(in_a[t], t);
    for (size_t t = 0; t < in_b.size(); ++t) at_b.emplace(in_b[t], t);
    std::vector<std::string> common_a, common_b;
    for (const std::string& name : in_a) {
      if (at_b.contains(name)) {
        common_a.push_back(name);
      } else {
        Text(StrCat("task ", name), "only in the first plan", "present", "absent");
      }
    }
    for (const std::string& name : in_b) {
      if (at_a.contains(name)) {
        common_b.push_back(name);
      } else {
        Text(StrCat("task ", name), "only in the second plan", "absent", "present");
      }
    }
    for (size_t t = 0; t < std::min(common_a.size(), common_b.size()); ++t) {
      if (common_a[t] == common_b[t]) continue;
      Text("physical part", "order of tasks, from here on", common_a[t], common_b[t]);
      return;
    }
  }

  // register of "h", or of "h" boxed to (S(0), B); layouts as written are compared with the signatures.
  static std::map<std::string, const Register*> RegistersByName(const Plan& plan) {
    std::map<std::string, const Register*> registers;
    for (const Register& reg : plan.physical->registers) {
      const std::string name = StrCat("register of ", Quote(TensorName(plan, reg.tensor)),
                                      reg.transition < 0 ? "" : StrCat(" boxed to ", ToString(reg.layout)));
      for (int n = 1; !registers.emplace(n == 1 ? name : StrCat(name, " #", n), &reg).second;) ++n;
    }
    return registers;
  }

  void DiffRegisters() {
    const auto in_a = RegistersByName(a_), in_b = RegistersByName(b_);
    for (const auto& [name, x] : in_a) {
      const auto y = in_b.find(name);
      if (y == in_b.end()) {
        Text(name, "only in the first plan", FormatBytes(static_cast<double>(x->bytes)), "absent");
        continue;
      }
      Text(name, "bytes", StrCat(x->bytes), StrCat(y->second->bytes));
      Text(name, "copies", StrCat(x->copies), StrCat(y->second->copies));
    }
    for (const auto& [name, y] : in_b) {
      if (in_a.contains(name)) continue;
      Text(name, "only in the second plan", "absent", FormatBytes(static_cast<double>(y->bytes)));
    }
  }

  const Plan& a_;
  const Plan& b_;
  const DiffOptions& options_;
  std::vector<PlanDifference>& out_;
};

}  // namespace

void DiffPhysical(const Plan& a, const Plan& b, const DiffOptions& options, std::vector<PlanDifference>& out) {
  if (!a.physical && !b.physical) return;
  if (!a.physical || !b.physical) {
    out.push_back({"plan", "physical part", a.physical ? "present" : "none", b.physical ? "present" : "none"});
    return;
  }
  PhysicalDiff(a, b, options, out).Run();
}

}  // namespace sbp
