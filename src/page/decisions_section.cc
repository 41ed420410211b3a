// What was chosen for each op, and why.
#include <cstdint>
#include <utility>

#include "graph/kernel_groups.h"
#include "page/layout_table.h"
#include "page/sections.h"
#include "plan/plan.h"
#include "render/facts.h"
#include "sbp/sbp.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

Json SignatureOf(const Signature& signature, LayoutTable& layouts) {
  return {{"inputs", layouts.FindAll(signature.inputs)}, {"outputs", layouts.FindAll(signature.outputs)}};
}

Json Records(const Plan& plan, LayoutTable& layouts) {
  Json list = Json::array();
  for (const DecisionRecord& record : plan.records) {
    Json entry = SignatureOf(record.signature, layouts);
    entry["choice"] = record.choice;
    entry["reason"] = record.reason;
    entry["alternative"] = record.alternative ? SignatureOf(*record.alternative, layouts) : Json();
    entry["price"] = record.price;
    entry["alternative_price"] = record.alternative_price;
    entry["unit"] = record.price_unit;
    entry["candidates"] = record.num_candidates;
    list.push_back(std::move(entry));
  }
  return list;
}

Json Kernels(const Plan& plan) {
  Json of_op = Json::array(), kinds = Json::array(), no_kernel = Json::array();
  for (const int32_t group : plan.kernels.of_op) of_op.push_back(group);
  for (const KernelGroup& group : plan.kernels.groups) kinds.push_back(GroupKindName(group.kind));
  for (size_t op = 0; op < plan.kernels.no_kernel.size(); ++op) {
    if (plan.kernels.no_kernel[op]) no_kernel.push_back(op);
  }
  return {{"of_op", std::move(of_op)}, {"kinds", std::move(kinds)}, {"no_kernel", std::move(no_kernel)}};
}

}  // namespace

Json DecisionsSection(const PageFacts& facts) {
  const Plan& plan = facts.plan;
  LayoutTable layouts = LayoutsOfPlan(plan);
  Json source = Json::array(), seconds = Json::array(), alone = Json::array(), sharing = Json::array();
  for (const NdSbp& layout : plan.source_layouts) {
    source.push_back(layout.size() == 0 ? int64_t{-1} : int64_t{layouts.Find(layout)});
  }
  for (uint32_t op = 0; op < plan.graph.ops.size(); ++op) {
    const DecisionRecord* record = DecisionOf(plan, op);
    seconds.push_back(record == nullptr ? 0 : record->compute_seconds);
    alone.push_back(record == nullptr ? 0 : record->alone_seconds);
    sharing.push_back(static_cast<int>(SharingOf(plan, op)));
  }
  Json section = {{"records", Records(plan, layouts)}, {"of_op", plan.op_records},
                  {"source", std::move(source)},       {"seconds", std::move(seconds)},
                  {"alone_seconds", std::move(alone)}, {"sharing", std::move(sharing)},
                  {"kernels", Kernels(plan)}};
  section["layouts"] = layouts.Write();
  return section;
}

}  // namespace sbp
