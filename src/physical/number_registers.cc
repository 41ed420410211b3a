#include "physical/number_registers.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "plan/physical_plan.h"

namespace sbp {
namespace {

// Registers of inputs and parameters, in this order.
std::vector<uint32_t> Residents(const Graph& graph, const PhysicalPlan& physical) {
  std::vector<uint32_t> of_tensor(graph.tensors.size(), kNoRegister);
  for (uint32_t r = 0; r < physical.registers.size(); ++r) {
    if (physical.registers[r].resident) of_tensor[physical.registers[r].tensor.index()] = r;
  }
  std::vector<uint32_t> residents;
  for (const TensorId id : graph.inputs) residents.push_back(of_tensor[id.index()]);
  for (uint32_t t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].role == TensorRole::kParameter) residents.push_back(of_tensor[t]);
  }
  return residents;
}

}  // namespace

void NumberRegisters(const Graph& graph, PhysicalPlan& physical) {
  std::vector<uint32_t> order = Residents(graph, physical);
  for (const Task& task : physical.tasks) {
    for (const uint32_t r : task.writes) {
      if (r != kNoRegister) order.push_back(r);
    }
  }
  std::vector<uint32_t> number(physical.registers.size(), kNoRegister);
  std::vector<Register> registers;
  registers.reserve(order.size());
  for (const uint32_t r : order) {
    number[r] = static_cast<uint32_t>(registers.size());
    registers.push_back(std::move(physical.registers[r]));
  }
  for (Register& r : registers) r.over = r.over == kNoRegister ? r.over : number[r.over];
  physical.registers = std::move(registers);
  for (Task& task : physical.tasks) {
    for (std::vector<uint32_t>* list : {&task.reads, &task.writes}) {
      for (uint32_t& r : *list) r = r == kNoRegister ? r : number[r];
    }
  }
}

}  // namespace sbp
