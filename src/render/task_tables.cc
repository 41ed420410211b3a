// Tasks and registers as tables.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "physical/physical.h"
#include "plan/physical_plan.h"
#include "plan/plan.h"
#include "render/document.h"
#include "render/facts.h"
#include "render/render.h"
#include "render/task_text.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

std::string Left(size_t shown, size_t all, std::string_view what) {
  return shown < all ? StrCat(all - shown, " more ", what, "; --max-nodes shows more") : "";
}

Table TaskTable(const Plan& plan, const PhysicalPlan& physical, size_t most) {
  Table table{"Tasks",
              {"task", "stream", "op or collective", "reads", "writes", "after"},
              {true, false, false, false, false, false},
              {},
              ""};
  const size_t shown = std::min(most, physical.tasks.size());
  for (size_t t = 0; t < shown; ++t) {
    const Task& task = physical.tasks[t];
    std::vector<std::string> after;
    for (const uint32_t before : task.after) after.push_back(StrCat("t", before));
    table.rows.push_back({StrCat("t", t), IsCommunication(plan, task) ? "communication" : "compute",
                          TaskName(plan, task), RegisterList(task.reads), RegisterList(task.writes), Join(after, " ")});
  }
  table.note = Left(shown, physical.tasks.size(), "tasks");
  return table;
}

Table RegisterTable(const Plan& plan, const PhysicalPlan& physical, Notation notation, size_t most) {
  Table table{"Registers",
              {"register", "tensor", "layout", "kind", "bytes", "copies", "first", "last", "offset"},
              {true, false, false, false, true, true, true, true, true},
              {},
              ""};
  const size_t shown = std::min(most, physical.registers.size());
  for (size_t r = 0; r < shown; ++r) {
    const Register& reg = physical.registers[r];
    const Tensor& tensor = plan.graph.tensor(reg.tensor);
    table.rows.push_back(
        {StrCat("r", r), Shorten(tensor.name, 60), FormatLayout(reg.layout, tensor.type.rank(), notation),
         StrCat(KindOfRegister(plan, reg).name, reg.over != kNoRegister ? StrCat(", over r", reg.over) : ""),
         FormatCount(reg.bytes), StrCat(reg.copies), StrCat("t", reg.first), StrCat("t", reg.last),
         FormatCount(reg.offset)});
  }
  table.note = Left(shown, physical.registers.size(), "registers");
  return table;
}

}  // namespace

Result<Document> TabulateTasks(const Plan& plan, const RenderOptions& options) {
  if (!plan.physical) return NoTasks();
  const PhysicalPlan& physical = *plan.physical;
  const size_t most = std::max<size_t>(options.max_nodes, 10);
  Document document;
  document.head = {plan.graph.name.empty() ? "graph" : plan.graph.name, PlanHeadline(plan), ArenaHeadline(physical)};
  document.tables = {TaskTable(plan, physical, most), RegisterTable(plan, physical, options.notation, most)};
  return document;
}

}  // namespace sbp
