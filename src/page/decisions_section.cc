// What was chosen for each op, and why.
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "base/ids.h"
#include "boxing/op_seconds.h"
#include "cost/cost.h"
#include "graph/kernel_groups.h"
#include "page/layout_table.h"
#include "page/sections.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "render/facts.h"
#include "rule/candidates.h"
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

// Of each op the flops and the rate that a device has for its kind and element type.
void AddFlops(const PageFacts& facts, Json& section) {
  const Problem* problem = facts.options.problem;
  if (problem == nullptr) {
    section["flops"] = nullptr;
    return;
  }
  std::map<double, size_t> known;
  Json flops = Json::array(), peaks = Json::array(), peak_of = Json::array();
  for (uint32_t op = 0; op < facts.plan.graph.ops.size(); ++op) {
    const CandidateList& list = problem->candidates(OpId(op));
    const Work work = WorkOf(*list.instance, list.candidates[0], problem->mesh);
    const double peak = PeakFlops(facts.plan.cluster.device, work);
    const auto [entry, is_new] = known.try_emplace(peak, known.size());
    if (is_new) peaks.push_back(peak);
    flops.push_back(list.instance->flops);
    peak_of.push_back(entry->second);
  }
  section["flops"] = std::move(flops);
  section["peaks"] = std::move(peaks);
  section["peak_of"] = std::move(peak_of);
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
                  {"kernels", Kernels(plan)},          {"outputs", layouts.FindAll(plan.output_layouts)}};
  AddFlops(facts, section);
  section["layouts"] = layouts.Write();
  return section;
}

}  // namespace sbp
