// Tasks and registers of a plan, in the order of a step.
#include <algorithm>
#include <unordered_map>

#include "memory/memory.h"
#include "physical/physical.h"
#include "physical/streams.h"
#include "plan/pins.h"

namespace sbp {
namespace {

constexpr uint32_t kAtTheEnd = std::numeric_limits<uint32_t>::max();

class PhysicalBuilder {
 public:
  PhysicalBuilder(const Plan& plan, const PhysicalOptions& options) : plan_(plan), graph_(plan.graph) {
    physical_.micro_batches = options.micro_batches;
  }

  PhysicalPlan Run() {
    AddTensors();
    FindPositions();
    size_t next = 0;
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      while (next < in_order_.size() && position_[in_order_[next]] <= o) AddTransition(in_order_[next++]);
      AddOp(OpId(o));
    }
    while (next < in_order_.size()) AddTransition(in_order_[next++]);
    SetLifetimes();
    SetCopies();
    Place();
    OrderReuse(plan_, physical_);
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

  // Before which op each transition runs: before its first reader; one that no op reads, before the first transition
  // that starts from it, or at the end of the step.
  void FindPositions() {
    const std::vector<Transition>& transitions = plan_.transitions;
    position_.assign(transitions.size(), kAtTheEnd);
    std::unordered_map<TensorId, std::vector<size_t>> later;
    for (size_t i = transitions.size(); i-- > 0;) {
      for (const Use& use : transitions[i].consumers) {
        position_[i] = std::min(position_[i], use.op.value);
        boxed_[UseKey(use.op, use.operand)] = static_cast<uint32_t>(i);
      }
      std::vector<size_t>& others = later[transitions[i].tensor];
      for (const size_t other : others) {
        if (transitions[other].from == transitions[i].to) position_[i] = std::min(position_[i], position_[other]);
      }
      others.push_back(i);
    }
    in_order_.resize(transitions.size());
    for (size_t i = 0; i < transitions.size(); ++i) in_order_[i] = static_cast<uint32_t>(i);
    std::stable_sort(in_order_.begin(), in_order_.end(),
                     [&](uint32_t a, uint32_t b) { return position_[a] < position_[b]; });
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
    const auto last = static_cast<uint32_t>(physical_.tasks.empty() ? 0 : physical_.tasks.size() - 1);
    for (uint32_t t = 0; t < physical_.tasks.size(); ++t) {
      for (const uint32_t r : physical_.tasks[t].writes) {
        if (r != kNoRegister) registers[r].first = registers[r].last = t;
      }
      for (const uint32_t r : physical_.tasks[t].reads) {
        if (r != kNoRegister) registers[r].last = t;
      }
    }
    for (Register& r : registers) {
      if (!r.resident) continue;
      r.first = 0;
      r.last = last;
    }
    for (const TensorId output : graph_.outputs) registers[LastOf(output)].last = last;
    for (const Tie& tie : graph_.ties) registers[LastOf(tie.output)].last = last;
  }

  // What the caller of a step sees of an output: its last copy that no op reads, where the end asks for a layout.
  uint32_t LastOf(TensorId id) const {
    const auto copies = copies_.find(id);
    if (copies == copies_.end()) return id.value;
    for (const auto& [number, reg] : copies->second) {
      if (plan_.transitions[number].consumers.empty()) return reg;
    }
    return id.value;
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
    for (const TensorId id : graph_.outputs) physical_.registers[LastOf(id)].copies = 2;
    for (Register& r : physical_.registers) {
      if (graph_.tensor(r.tensor).role == TensorRole::kParameter && r.transition < 0) r.copies = 1;
    }
  }

  void Place() {
    const size_t tasks = physical_.tasks.size();
    physical_.lower_bound_bytes = LivePeak(physical_.registers, tasks);
    physical_.arena_bytes = std::numeric_limits<int64_t>::max();
    for (const PlacementRow& row : AllPlacements()) {
      std::vector<Register> placed = physical_.registers;
      const int64_t arena = PlaceRegisters(row, tasks, placed);
      if (arena >= physical_.arena_bytes) continue;
      physical_.arena_bytes = arena;
      physical_.placement = row.name;
      physical_.registers = std::move(placed);
      if (arena == physical_.lower_bound_bytes) break;
    }
  }

  const Plan& plan_;
  const Graph& graph_;
  PhysicalPlan physical_;
  std::vector<uint32_t> position_;                // per transition
  std::vector<uint32_t> in_order_;                // transitions as they run
  std::unordered_map<uint64_t, uint32_t> boxed_;  // UseKey -> the transition that it reads
  std::unordered_map<TensorId, std::vector<std::pair<uint32_t, uint32_t>>> copies_;  // transition, register
};

}  // namespace

PhysicalPlan MakePhysicalPlan(const Plan& plan, const PhysicalOptions& options) {
  return PhysicalBuilder(plan, options).Run();
}

}  // namespace sbp
