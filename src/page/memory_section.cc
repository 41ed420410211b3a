// What memory holds over a step.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "memory/memory.h"
#include "memory/training.h"
#include "page/interned.h"
#include "page/sections.h"
#include "plan/plan.h"

namespace sbp {

namespace {

// What the peak is made of: the parts that `infer` prints (report/facts.h, PartsOfPeak), per lifetime. Of a training
// step what memory/training.h tells apart, else by kind.
class Parts {
 public:
  explicit Parts(const Plan& plan) : of_buffer_(PartsOfBuffers(plan)) {}

  Json Names() const {
    Json names = Json::array();
    if (of_buffer_.empty()) return {"parameters", "activations", "boxing buffers"};
    for (const auto& [name, bytes] : PartsOf({})) names.push_back(name);
    return names;
  }
  int Of(size_t buffer, std::string_view kind) const {
    if (!of_buffer_.empty()) return of_buffer_[buffer];
    return kind == "parameter" ? 0 : kind == "boxing" ? 2 : 1;
  }

 private:
  std::vector<uint8_t> of_buffer_;
};

Json Physical(const Plan& plan) {
  if (!plan.physical) return nullptr;
  return {{"arena_bytes", plan.physical->arena_bytes},
          {"micro_batches", plan.physical->micro_batches},
          {"registers", plan.physical->registers.size()},
          {"tasks", plan.physical->tasks.size()}};
}

}  // namespace

Json MemorySection(const PageFacts& facts) {
  const Plan& plan = facts.plan;
  const Parts parts(plan);
  Interned kinds;
  Json op_at = Json::array(), bytes = Json::array(), first = Json::array(), last = Json::array(),
       tensor = Json::array(), transition = Json::array(), kind = Json::array(), part = Json::array();
  for (const OpId op : facts.order.op_at) op_at.push_back(op.valid() ? int64_t{op.value} : -1);
  for (const Lifetime& lifetime : facts.lifetimes) {
    bytes.push_back(lifetime.bytes);
    first.push_back(lifetime.first);
    last.push_back(lifetime.last);
    tensor.push_back(lifetime.tensor.valid() ? int64_t{lifetime.tensor.value} : -1);
    transition.push_back(lifetime.transition);
    kind.push_back(kinds.Find(lifetime.kind));
    part.push_back(parts.Of(part.size(), lifetime.kind));
  }
  Json lifetimes = {{"bytes", std::move(bytes)},   {"first", std::move(first)},           {"last", std::move(last)},
                    {"tensor", std::move(tensor)}, {"transition", std::move(transition)}, {"kind", std::move(kind)},
                    {"part", std::move(part)}};
  return {{"op_at", std::move(op_at)},
          {"lifetimes", std::move(lifetimes)},
          {"kinds", kinds.all()},
          {"parts", parts.Names()},
          {"workspace_bytes", plan.memory.workspace_bytes},
          {"peak_bytes", plan.memory.peak_bytes},
          {"physical", Physical(plan)},
          {"limit_bytes", plan.options.memory_limit ? Json(*plan.options.memory_limit) : Json()},
          {"device_bytes", plan.cluster.device.memory_bytes.value}};
}

}  // namespace sbp
