#include "page/layout_table.h"

#include <utility>

#include "boxing/boxing.h"
#include "plan/plan.h"
#include "sbp/signature.h"

namespace sbp {

uint32_t LayoutTable::Find(const NdSbp& layout) {
  const auto [entry, is_new] = index_.try_emplace(layout, static_cast<uint32_t>(all_.size()));
  if (is_new) all_.push_back(layout);
  return entry->second;
}

Json LayoutTable::FindAll(std::span<const NdSbp> layouts) {
  Json ids = Json::array();
  for (const NdSbp& layout : layouts) ids.push_back(Find(layout));
  return ids;
}

Json LayoutTable::Write() const {
  Json list = Json::array();
  for (const NdSbp& layout : all_) {
    Json axes = Json::array();
    for (int axis = 0; axis < layout.size(); ++axis) axes.push_back(ToString(layout[axis]));
    list.push_back({{"text", ToString(layout)}, {"axes", std::move(axes)}});
  }
  return list;
}

LayoutTable LayoutsOfPlan(const Plan& plan) {
  LayoutTable table;
  for (const NdSbp& layout : plan.source_layouts) table.Find(layout);
  for (const DecisionRecord& record : plan.records) {
    for (const Signature* signature : {&record.signature, record.alternative ? &*record.alternative : nullptr}) {
      if (signature == nullptr) continue;
      for (const NdSbp& layout : signature->inputs) table.Find(layout);
      for (const NdSbp& layout : signature->outputs) table.Find(layout);
    }
  }
  for (const Transition& transition : plan.transitions) {
    table.Find(transition.from);
    table.Find(transition.to);
    for (const BoxingStep& step : transition.steps) {
      table.Find(step.from);
      table.Find(step.to);
    }
  }
  return table;
}

}  // namespace sbp
