#include "io/physical_proto.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "base/text.h"
#include "graph/graph.h"
#include "io/utf8.h"
#include "plan/physical_plan.h"

namespace sbp {
namespace {

namespace v1 = sbp_plan::v1;

int64_t ToNumber(uint32_t reg) { return reg == kNoRegister ? -1 : int64_t{reg}; }

class PhysicalReader {
 public:
  PhysicalReader(const v1::Physical& message, const NameIndex& names, const Plan& plan)
      : message_(message), names_(names), plan_(plan) {}

  Result<PhysicalPlan> Read() {
    physical_.micro_batches = message_.micro_batches();
    physical_.arena_bytes = message_.arena_bytes();
    physical_.lower_bound_bytes = message_.lower_bound_bytes();
    physical_.placement = message_.placement();
    constexpr uint32_t kMostMicroBatches = 1 << 16;  // as run and infer take them
    if (physical_.micro_batches < 1 || physical_.micro_batches > kMostMicroBatches)
      return BadInput(
          StrCat("\"micro_batches\": expected 1 to ", kMostMicroBatches, ", found ", physical_.micro_batches));
    if (physical_.arena_bytes < 0 || physical_.lower_bound_bytes < 0) {
      return BadInput("\"arena_bytes\" and \"lower_bound_bytes\": expected numbers >= 0");
    }
    for (int i = 0; i < message_.registers_size(); ++i) {
      const Status status = ReadRegister(message_.registers(i));
      if (!status.ok()) return status.WithContext(StrCat("registers[", i, "]"));
    }
    for (int i = 0; i < message_.tasks_size(); ++i) {
      const Status status = ReadTask(message_.tasks(i));
      if (!status.ok()) return status.WithContext(StrCat("tasks[", i, "]"));
    }
    return std::move(physical_);
  }

 private:
  // "transition" and "step" of a task or a register; nothing where neither is given.
  template <typename Message, typename Item>
  Status ReadStep(const Message& message, Item& item) const {
    if (!message.has_transition() && !message.has_step()) return OkStatus();
    const size_t transitions = plan_.transitions.size();
    if (message.transition() >= transitions) {
      return BadInput(StrCat("transition ", message.transition(), " of ", transitions));
    }
    const size_t steps = plan_.transitions[message.transition()].steps.size();
    if (message.step() >= steps) {
      return BadInput(StrCat("step ", message.step(), " of transition ", message.transition(), ", which has ", steps));
    }
    item.transition = static_cast<int32_t>(message.transition());
    item.step = static_cast<int32_t>(message.step());
    return OkStatus();
  }

  Status ReadRegister(const v1::Register& message) {
    Register r;
    r.tensor = names_.tensor(message.tensor());
    if (!r.tensor.valid()) return BadInput(StrCat("the graph has no tensor ", Quote(message.tensor())));
    SBP_RETURN_IF_ERROR(ReadStep(message, r));
    if (r.transition >= 0 && plan_.transitions[r.transition].tensor != r.tensor) {
      return BadInput(StrCat("transition ", r.transition, " is not of tensor ", Quote(message.tensor())));
    }
    r.layout =
        r.transition < 0 ? plan_.source_layouts[r.tensor.index()] : plan_.transitions[r.transition].steps[r.step].to;
    r.bytes = message.bytes();
    r.copies = message.copies();
    r.resident = message.resident();
    r.first = message.first();
    r.last = message.last();
    r.offset = message.offset();
    if (message.has_over()) r.over = message.over();
    if (message.has_over() && r.over >= physical_.registers.size())
      return BadInput(StrCat("over register ", r.over, ", which does not stand before it"));
    if (r.bytes < 0 || r.offset < 0) return BadInput("\"bytes\" and \"offset\": expected numbers >= 0");
    if (r.copies < 1) return BadInput("\"copies\": expected at least 1");
    const auto tasks = static_cast<uint32_t>(message_.tasks_size());
    if (r.first > r.last || (r.last >= tasks && r.last > 0)) {
      return BadInput(StrCat("holds data from task ", r.first, " to task ", r.last, " of ", tasks));
    }
    physical_.registers.push_back(std::move(r));
    return OkStatus();
  }

  Status ReadTask(const v1::Task& message) {
    Task task;
    SBP_RETURN_IF_ERROR(ReadStep(message, task));
    if (task.transition < 0) {
      task.op = names_.op(message.op());
      if (!task.op.valid()) return BadInput(StrCat("the graph has no op ", Quote(message.op())));
    } else if (!message.op().empty()) {
      return BadInput("both \"op\" and \"transition\": a task is one of them");
    }
    SBP_RETURN_IF_ERROR(ReadRegisters(message.reads(), task.reads));
    SBP_RETURN_IF_ERROR(ReadRegisters(message.writes(), task.writes));
    for (const int64_t before : message.after()) {
      if (before < 0 || before >= static_cast<int64_t>(physical_.tasks.size()))
        return BadInput(StrCat("after task ", before, ", which does not stand before"));
      task.after.push_back(static_cast<uint32_t>(before));
    }
    physical_.tasks.push_back(std::move(task));
    return OkStatus();
  }

  template <typename Numbers>
  Status ReadRegisters(const Numbers& numbers, std::vector<uint32_t>& registers) const {
    for (const int64_t number : numbers) {
      if (number < -1 || number >= static_cast<int64_t>(physical_.registers.size())) {
        return BadInput(StrCat("register ", number, " of ", physical_.registers.size()));
      }
      registers.push_back(number < 0 ? kNoRegister : static_cast<uint32_t>(number));
    }
    return OkStatus();
  }

  const v1::Physical& message_;
  const NameIndex& names_;
  const Plan& plan_;
  PhysicalPlan physical_;
};

}  // namespace

void PhysicalToMessage(const Plan& plan, v1::Physical& message) {
  const PhysicalPlan& physical = *plan.physical;
  message.set_micro_batches(physical.micro_batches);
  message.set_arena_bytes(physical.arena_bytes);
  message.set_lower_bound_bytes(physical.lower_bound_bytes);
  message.set_placement(ToUtf8(physical.placement));
  for (const Task& task : physical.tasks) {
    v1::Task& out = *message.add_tasks();
    if (task.op.valid()) out.set_op(ToUtf8(plan.graph.op(task.op).name));
    if (task.transition >= 0) {
      out.set_transition(static_cast<uint32_t>(task.transition));
      out.set_step(static_cast<uint32_t>(task.step));
    }
    for (const uint32_t r : task.reads) out.add_reads(ToNumber(r));
    for (const uint32_t r : task.writes) out.add_writes(ToNumber(r));
    for (const uint32_t before : task.after) out.add_after(before);
  }
  for (const Register& r : physical.registers) {
    v1::Register& out = *message.add_registers();
    out.set_tensor(ToUtf8(plan.graph.tensor(r.tensor).name));
    if (r.transition >= 0) {
      out.set_transition(static_cast<uint32_t>(r.transition));
      out.set_step(static_cast<uint32_t>(r.step));
    }
    out.set_bytes(r.bytes);
    out.set_copies(r.copies);
    out.set_resident(r.resident);
    out.set_first(r.first);
    out.set_last(r.last);
    out.set_offset(r.offset);
    if (r.over != kNoRegister) out.set_over(r.over);
  }
}

Status PhysicalFromMessage(const v1::Physical& message, const NameIndex& names, Plan& plan) {
  SBP_ASSIGN_OR_RETURN(plan.physical, PhysicalReader(message, names, plan).Read());
  return OkStatus();
}

}  // namespace sbp
