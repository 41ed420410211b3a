// Tasks and registers of a plan, in the order of a step.
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "memory/memory.h"
#include "physical/arrange.h"
#include "physical/number_registers.h"
#include "physical/physical.h"
#include "plan/ends.h"
#include "plan/physical_plan.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

class PhysicalBuilder {
 public:
  PhysicalBuilder(const Plan& plan, const PhysicalOptions& options) : plan_(plan), graph_(plan.graph) {
    physical_.micro_batches = options.micro_batches;
  }

  PhysicalPlan Run() {
    AddTensors();
    FindBoxedUses();
    const StepOrder order = OrderOfStep(plan_);
    size_t next = 0;
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      for (; next < order.in_order.size() && order.transitions[order.in_order[next]] < order.ops[o]; ++next) {
        AddTransition(order.in_order[next]);
      }
      AddOp(OpId(o));
    }
    for (; next < order.in_order.size(); ++next) AddTransition(order.in_order[next]);
    SetLifetimes();
    SetCopies();
    WriteInPlace();
    NumberRegisters(graph_, physical_);
    Arrange(plan_, physical_);
    return std::move(physical_);
  }

 private:
  int64_t BytesIn(TensorId id, const NdSbp& layout) const {
    return LocalBytes(graph_.tensor(id).type, layout, plan_.mesh);
  }

  // Register t holds tensor t as its producer writes it.
  void AddTensors() {
    for (size_t t = 0; t < graph_.tensors.size(); ++t) {
      Register r;
      r.tensor = TensorId(t);
      r.layout = plan_.source_layouts[t];
      r.bytes = BytesIn(r.tensor, r.layout);
      r.resident = graph_.tensors[t].role != TensorRole::kActivation;
      physical_.registers.push_back(std::move(r));
    }
  }

  void FindBoxedUses() {
    for (size_t i = 0; i < plan_.transitions.size(); ++i) {
      for (const Use& use : plan_.transitions[i].consumers) {
        boxed_[UseKey(use.op, use.operand)] = static_cast<uint32_t>(i);
      }
    }
  }

  void AddTransition(uint32_t number) {
    const Transition& transition = plan_.transitions[number];
    uint32_t source = SourceOf(transition);
    for (size_t s = 0; s < transition.steps.size(); ++s) {
      Register r;
      r.tensor = transition.tensor;
      r.transition = static_cast<int32_t>(number);
      r.step = static_cast<int32_t>(s);
      r.layout = transition.steps[s].to;
      r.bytes = BytesIn(r.tensor, r.layout);
      Task task;
      task.transition = r.transition;
      task.step = r.step;
      task.reads = {source};
      source = static_cast<uint32_t>(physical_.registers.size());
      task.writes = {source};
      physical_.registers.push_back(std::move(r));
      physical_.tasks.push_back(std::move(task));
    }
    copies_[transition.tensor].emplace_back(number, source);
  }

  // An earlier copy in the layout that the transition starts from, else the tensor as it was written.
  uint32_t SourceOf(const Transition& transition) const {
    const auto copies = copies_.find(transition.tensor);
    if (copies != copies_.end()) {
      for (const auto& [number, reg] : copies->second) {
        if (plan_.transitions[number].to == transition.from) return reg;
      }
    }
    return transition.tensor.value;
  }

  uint32_t RegisterOf(TensorId id, OpId op, size_t operand) const {
    const auto boxed = boxed_.find(UseKey(op, operand));
    if (boxed == boxed_.end()) return id.value;
    for (const auto& [number, reg] : copies_.at(id)) {
      if (number == boxed->second) return reg;
    }
    return id.value;
  }

  void AddOp(OpId id) {
    const Op& op = graph_.op(id);
    Task task;
    task.op = id;
    size_t operand = 0;
    for (const std::vector<TensorId>* list : {&op.inputs, &op.captures}) {
      for (const TensorId tensor : *list) {
        task.reads.push_back(tensor.valid() ? RegisterOf(tensor, id, operand) : kNoRegister);
        ++operand;
      }
    }
    for (const TensorId tensor : op.outputs) task.writes.push_back(tensor.valid() ? tensor.value : kNoRegister);
    physical_.tasks.push_back(std::move(task));
  }

  void SetLifetimes() {
    std::vector<Register>& registers = physical_.registers;
    is_read_.assign(registers.size(), false);
    const auto last = static_cast<uint32_t>(physical_.tasks.empty() ? 0 : physical_.tasks.size() - 1);
    for (uint32_t t = 0; t < physical_.tasks.size(); ++t) {
      for (const uint32_t r : physical_.tasks[t].writes) {
        if (r != kNoRegister) registers[r].first = registers[r].last = t;
      }
      for (const uint32_t r : physical_.tasks[t].reads) {
        if (r == kNoRegister) continue;
        registers[r].last = t;
        is_read_[r] = true;
      }
    }
    for (Register& r : registers) {
      if (!r.resident) continue;
      r.first = 0;
      r.last = last;
    }
    for (const TensorEnd& end : EndsOf(plan_)) registers[RegisterOf(end)].last = last;
  }

  // What the caller of a step sees of a tensor.
  uint32_t RegisterOf(const TensorEnd& end) const {
    const auto copies = copies_.find(end.tensor);
    if (copies == copies_.end()) return end.tensor.value;
    for (const auto& [number, reg] : copies->second) {
      if (static_cast<int32_t>(number) == end.transition) return reg;
    }
    return end.tensor.value;
  }

  void SetCopies() {
    if (physical_.micro_batches < 2) return;
    for (const Task& task : physical_.tasks) {
      if (!IsCommunication(plan_, task)) continue;
      for (const std::vector<uint32_t>* list : {&task.reads, &task.writes}) {
        for (const uint32_t r : *list) physical_.registers[r].copies = 2;
      }
    }
    for (const TensorId id : graph_.inputs) physical_.registers[id.index()].copies = 2;
    const std::vector<TensorEnd> ends = EndsOf(plan_);
    for (size_t i = 0; i < graph_.outputs.size(); ++i) physical_.registers[RegisterOf(ends[i])].copies = 2;
    for (Register& r : physical_.registers) {
      if (graph_.tensor(r.tensor).role == TensorRole::kParameter && r.transition < 0) r.copies = 1;
    }
  }

  // A state that many micro-batches read, and buffers of different copies, stay apart; as do types of which a run makes
  // one wider than the plan has it.
  void WriteInPlace() {
    for (const InPlaceWrite& write : plan_.in_place) {
      const Op& op = graph_.op(write.op);
      const uint32_t result = op.outputs[write.result].value;
      const uint32_t source = RegisterOf(graph_.OperandsOf(op)[write.operand], write.op, write.operand);
      const Register &from = physical_.registers[source], &to = physical_.registers[result];
      if (from.bytes != to.bytes) continue;
      if (physical_.micro_batches > 1 && (from.resident || from.copies != to.copies)) continue;
      physical_.registers[result].over = source;
    }
  }

  const Plan& plan_;
  const Graph& graph_;
  PhysicalPlan physical_;
  std::vector<bool> is_read_;                     // per register: by some task
  std::unordered_map<uint64_t, uint32_t> boxed_;  // UseKey -> the transition that it reads
  std::unordered_map<TensorId, std::vector<std::pair<uint32_t, uint32_t>>> copies_;  // transition, register
};

}  // namespace

PhysicalPlan MakePhysicalPlan(const Plan& plan, const PhysicalOptions& options) {
  return PhysicalBuilder(plan, options).Run();
}

}  // namespace sbp
