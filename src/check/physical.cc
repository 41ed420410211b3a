#include "check/physical.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/checked_math.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "physical/physical.h"
#include "physical/streams.h"
#include "plan/ends.h"
#include "plan/physical_plan.h"
#include "plan/plan.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

class PhysicalChecker {
 public:
  PhysicalChecker(const Plan& plan, Findings& findings)
      : plan_(plan), graph_(plan.graph), physical_(*plan.physical), findings_(findings) {}

  void Run() {
    CheckCoverage();
    CheckRegisters();
    for (uint32_t t = 0; t < physical_.tasks.size(); ++t) CheckTask(t);
    if (!findings_.empty()) return;
    CheckLifetimes();
    CheckOver();
    CheckMemory();
    CheckReuse();
  }

 private:
  std::string Place(uint32_t task) const {
    const Task& t = physical_.tasks[task];
    if (t.op.valid()) return StrCat("task ", task, ", ", PlaceOf(graph_, t.op));
    return StrCat("task ", task, ", step ", t.step, " of transition ", t.transition);
  }
  std::string RegisterPlace(uint32_t r) const {
    return StrCat("register ", r, " of ", PlaceOf(graph_, physical_.registers[r].tensor));
  }

  // Every op and every step once.
  void CheckCoverage() {
    std::vector<uint32_t> ops(graph_.ops.size(), 0);
    std::map<std::pair<int32_t, int32_t>, uint32_t> steps;
    for (const Task& task : physical_.tasks) {
      if (task.op.valid()) {
        ++ops[task.op.index()];
      } else {
        ++steps[{task.transition, task.step}];
      }
    }
    for (size_t o = 0; o < ops.size(); ++o) {
      if (ops[o] != 1) findings_.Add(PlaceOf(graph_, OpId(o)), "number of tasks", "1", StrCat(ops[o]));
    }
    for (size_t i = 0; i < plan_.transitions.size(); ++i) {
      for (size_t s = 0; s < plan_.transitions[i].steps.size(); ++s) {
        const uint32_t count = steps[{static_cast<int32_t>(i), static_cast<int32_t>(s)}];
        if (count != 1) findings_.Add(StrCat("step ", s, " of transition ", i), "number of tasks", "1", StrCat(count));
      }
    }
  }

  void CheckRegisters() {
    for (uint32_t i = 0; i < physical_.registers.size(); ++i) {
      const Register& r = physical_.registers[i];
      const TensorType& type = graph_.tensor(r.tensor).type;
      int64_t elements = 1;
      for (int64_t size : LocalShape(type.shape, r.layout, plan_.mesh)) elements = SaturatingMul(elements, size);
      const int64_t bytes = type.is_static() ? BytesOf(type.dtype, elements) : 0;
      if (r.bytes != bytes) findings_.Add(RegisterPlace(i), "bytes", StrCat(bytes), StrCat(r.bytes));
      const uint32_t most = std::min(physical_.micro_batches, 2U);  // one in use, one to come
      if (r.copies < 1 || r.copies > most) {
        findings_.Add(RegisterPlace(i), "copies", StrCat("1 to ", most), StrCat(r.copies));
      }
      const bool resident = r.transition < 0 && graph_.tensor(r.tensor).role != TensorRole::kActivation;
      if (r.resident != resident) {
        findings_.Add(RegisterPlace(i), "is filled before the first task", resident ? "yes" : "no",
                      r.resident ? "yes" : "no");
      }
    }
    written_.assign(physical_.registers.size(), kNone);
  }

  // The register must exist, hold that tensor in that layout, and have been filled.
  void CheckRead(uint32_t task, uint32_t reg, TensorId tensor, const NdSbp& layout) {
    if (reg == kNoRegister || physical_.registers[reg].tensor != tensor) {
      findings_.Add(Place(task), "reads another register", StrCat("one of ", PlaceOf(graph_, tensor)),
                    reg == kNoRegister ? "none" : RegisterPlace(reg));
      return;
    }
    const Register& r = physical_.registers[reg];
    if (!(r.layout == layout)) {
      findings_.Add(Place(task), StrCat("layout of ", PlaceOf(graph_, tensor)), ToString(layout), ToString(r.layout));
    }
    if (!r.resident && written_[reg] == kNone) {
      findings_.Add(Place(task), "reads a register before it is filled", "a task before it that writes it",
                    RegisterPlace(reg));
    }
  }

  void CheckWrite(uint32_t task, uint32_t reg, TensorId tensor, int32_t transition, int32_t step) {
    const bool fits = reg != kNoRegister && physical_.registers[reg].tensor == tensor &&
                      physical_.registers[reg].transition == transition && physical_.registers[reg].step == step;
    if (!fits) {
      findings_.Add(Place(task), "writes another register", StrCat("one of ", PlaceOf(graph_, tensor)),
                    reg == kNoRegister ? "none" : RegisterPlace(reg));
    } else if (written_[reg] != kNone) {
      findings_.Add(Place(task), "writes a register that another task writes", "one writer", RegisterPlace(reg));
    } else {
      written_[reg] = task;
    }
  }

  void CheckTask(uint32_t number) {
    const Task& task = physical_.tasks[number];
    if (task.op.valid()) {
      CheckCompute(number, task);
      return;
    }
    const Transition& transition = plan_.transitions[task.transition];
    if (task.reads.size() != 1 || task.writes.size() != 1) {
      findings_.Add(Place(number), "registers of a boxing step", "1 read, 1 written",
                    StrCat(task.reads.size(), " and ", task.writes.size()));
      return;
    }
    CheckRead(number, task.reads[0], transition.tensor, transition.steps[task.step].from);
    CheckWrite(number, task.writes[0], transition.tensor, task.transition, task.step);
  }

  void CheckCompute(uint32_t number, const Task& task) {
    const Op& op = graph_.op(task.op);
    const Signature& signature = plan_.decision(task.op).signature;
    const std::vector<TensorId> operands = graph_.OperandsOf(op);
    if (task.reads.size() != operands.size() || task.writes.size() != op.outputs.size()) {
      findings_.Add(Place(number), "registers", StrCat(operands.size(), " read, ", op.outputs.size(), " written"),
                    StrCat(task.reads.size(), " and ", task.writes.size()));
      return;
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].valid()) CheckRead(number, task.reads[i], operands[i], signature.inputs[i]);
    }
    for (size_t r = 0; r < op.outputs.size(); ++r) {
      if (op.outputs[r].valid()) CheckWrite(number, task.writes[r], op.outputs[r], -1, -1);
    }
  }

  // From the writer to the last reader; what is there from the start, and what a step leaves behind, throughout.
  void CheckLifetimes() {
    std::vector<uint32_t> last(physical_.registers.size(), 0);
    for (uint32_t t = 0; t < physical_.tasks.size(); ++t) {
      for (const std::vector<uint32_t>* list : {&physical_.tasks[t].reads, &physical_.tasks[t].writes}) {
        for (const uint32_t r : *list) {
          if (r != kNoRegister) last[r] = t;
        }
      }
    }
    const auto end = static_cast<uint32_t>(physical_.tasks.empty() ? 0 : physical_.tasks.size() - 1);
    std::set<std::pair<TensorId, int32_t>> at_end;
    for (const TensorEnd& e : EndsOf(plan_)) at_end.emplace(e.tensor, e.transition);
    for (uint32_t r = 0; r < last.size(); ++r) {
      const Register& reg = physical_.registers[r];
      const bool is_last =
          reg.transition < 0 || static_cast<size_t>(reg.step) + 1 == plan_.transitions[reg.transition].steps.size();
      if (is_last && at_end.contains({reg.tensor, std::max(-1, reg.transition)})) last[r] = end;
    }
    for (uint32_t r = 0; r < last.size(); ++r) {
      const Register& reg = physical_.registers[r];
      const uint32_t from = reg.resident || written_[r] == kNone ? 0 : written_[r];
      const uint32_t to = reg.resident ? end : last[r];
      if (reg.first == from && reg.last >= to) continue;
      findings_.Add(RegisterPlace(r), "holds data too shortly", StrCat("task ", from, " to ", to),
                    StrCat("task ", reg.first, " to ", reg.last));
    }
  }

  // A register lies over another one only where the plan writes the result over the operand; the parts of states that
  // other micro-batches read are no place for it.
  void CheckOver() {
    std::set<std::pair<uint32_t, uint32_t>> stated;  // registers of result and operand
    std::vector<const Task*> task_of(graph_.ops.size(), nullptr);
    std::vector<uint32_t> last_read(physical_.registers.size(), 0);
    for (uint32_t t = 0; t < physical_.tasks.size(); ++t) {
      const Task& task = physical_.tasks[t];
      if (task.op.valid()) task_of[task.op.index()] = &task;
      for (const uint32_t r : task.reads) {
        if (r != kNoRegister) last_read[r] = t;
      }
    }
    for (const InPlaceWrite& write : plan_.in_place) {
      const Task& task = *task_of[write.op.index()];
      stated.emplace(task.writes[write.result], task.reads[write.operand]);
    }
    for (uint32_t r = 0; r < physical_.registers.size(); ++r) {
      const Register& reg = physical_.registers[r];
      if (reg.over == kNoRegister) continue;
      const Register& below = physical_.registers[reg.over];
      if (!stated.contains({r, reg.over}))
        findings_.Add(RegisterPlace(r), "lies over another register", "one that the plan writes it over",
                      RegisterPlace(reg.over));
      if (physical_.micro_batches > 1 && (below.resident || below.copies != reg.copies))
        findings_.Add(RegisterPlace(r), "lies over a register that other micro-batches read", "memory of its own",
                      RegisterPlace(reg.over));
      if (written_[r] != kNone && last_read[reg.over] > written_[r])
        findings_.Add(RegisterPlace(r), "lies over a register that is read later",
                      StrCat("behind task ", last_read[reg.over]), StrCat("task ", written_[r]));
      if (reg.offset != below.offset)
        findings_.Add(RegisterPlace(r), "offset", StrCat(below.offset), StrCat(reg.offset));
    }
  }

  // No two buffers share a byte at one time; registers that lie over each other are one.
  void CheckMemory() {
    const size_t tasks = physical_.tasks.size();
    if (const int64_t bound = LivePeak(physical_.registers, tasks); bound != physical_.lower_bound_bytes) {
      findings_.Add("arena", "lower bound", StrCat(bound), StrCat(physical_.lower_bound_bytes));
    }
    std::vector<std::vector<uint32_t>> begin(tasks + 1), end(tasks + 1);
    std::vector<uint32_t> last(physical_.registers.size());
    for (uint32_t r = static_cast<uint32_t>(last.size()); r-- > 0;) {
      const Register& reg = physical_.registers[r];
      last[r] = std::max(last[r], reg.last);
      if (reg.over != kNoRegister) last[reg.over] = std::max(last[reg.over], last[r]);
    }
    int64_t top = 0;
    for (uint32_t r = 0; r < physical_.registers.size(); ++r) {
      const Register& reg = physical_.registers[r];
      if (reg.bytes == 0 || reg.over != kNoRegister) continue;
      top = std::max(top, SaturatingAdd(reg.offset, reg.footprint()));
      const bool throughout = reg.copies > 1;  // other micro-batches use it outside of its lifetime
      begin[throughout ? 0 : reg.first].push_back(r);
      end[throughout ? tasks : std::min<size_t>(last[r] + 1, tasks)].push_back(r);
    }
    if (top != physical_.arena_bytes) findings_.Add("arena", "bytes", StrCat(top), StrCat(physical_.arena_bytes));
    std::map<int64_t, uint32_t> live;  // by offset
    for (size_t t = 0; t <= tasks; ++t) {
      for (const uint32_t r : end[t]) {
        const auto found = live.find(physical_.registers[r].offset);
        if (found != live.end() && found->second == r) live.erase(found);
      }
      for (const uint32_t r : begin[t]) Insert(r, live);
    }
  }

  void Insert(uint32_t r, std::map<int64_t, uint32_t>& live) {
    const Register& reg = physical_.registers[r];
    const int64_t top = SaturatingAdd(reg.offset, reg.footprint());
    const auto clash = [&](uint32_t other) {
      findings_.Add(RegisterPlace(r), "shares memory with another register that is in use", "memory of its own",
                    RegisterPlace(other));
    };
    const auto above = live.lower_bound(reg.offset);
    if (above != live.end() && above->first < top) {
      clash(above->second);
      return;
    }
    if (above != live.begin()) {
      const Register& below = physical_.registers[std::prev(above)->second];
      if (SaturatingAdd(below.offset, below.footprint()) > reg.offset) {
        clash(std::prev(above)->second);
        return;
      }
    }
    live.emplace(reg.offset, r);
  }

  void CheckReuse() {
    PhysicalPlan again = physical_;
    OrderReuse(plan_, again);
    for (uint32_t t = 0; t < physical_.tasks.size(); ++t) {
      if (physical_.tasks[t].after == again.tasks[t].after) continue;
      const auto list = [](const std::vector<uint32_t>& tasks) { return tasks.empty() ? "none" : Join(tasks, ", "); };
      findings_.Add(Place(t), "tasks whose memory it overwrites", list(again.tasks[t].after),
                    list(physical_.tasks[t].after));
    }
  }

  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  const Plan& plan_;
  const Graph& graph_;
  const PhysicalPlan& physical_;
  Findings& findings_;
  std::vector<uint32_t> written_;  // per register: the task that writes it
};

}  // namespace

void CheckPhysical(const Plan& plan, Findings& findings) { PhysicalChecker(plan, findings).Run(); }

}  // namespace sbp
