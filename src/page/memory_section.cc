// What memory holds over a step.
#include <cstdint>
#include <utility>

#include "base/ids.h"
#include "memory/memory.h"
#include "page/interned.h"
#include "page/sections.h"
#include "plan/plan.h"

namespace sbp {

Json MemorySection(const PageFacts& facts) {
  const Plan& plan = facts.plan;
  Interned kinds;
  Json op_at = Json::array(), bytes = Json::array(), first = Json::array(), last = Json::array(),
       tensor = Json::array(), transition = Json::array(), kind = Json::array();
  for (const OpId op : facts.order.op_at) op_at.push_back(op.valid() ? int64_t{op.value} : -1);
  for (const Lifetime& lifetime : facts.lifetimes) {
    bytes.push_back(lifetime.bytes);
    first.push_back(lifetime.first);
    last.push_back(lifetime.last);
    tensor.push_back(lifetime.tensor.valid() ? int64_t{lifetime.tensor.value} : -1);
    transition.push_back(lifetime.transition);
    kind.push_back(kinds.Find(lifetime.kind));
  }
  Json lifetimes = {{"bytes", std::move(bytes)},   {"first", std::move(first)},           {"last", std::move(last)},
                    {"tensor", std::move(tensor)}, {"transition", std::move(transition)}, {"kind", std::move(kind)}};
  return {{"op_at", std::move(op_at)},
          {"lifetimes", std::move(lifetimes)},
          {"kinds", kinds.all()},
          {"workspace_bytes", plan.memory.workspace_bytes},
          {"peak_bytes", plan.memory.peak_bytes},
          {"limit_bytes", plan.options.memory_limit ? Json(*plan.options.memory_limit) : Json()},
          {"device_bytes", plan.cluster.device.memory_bytes.value}};
}

}  // namespace sbp
