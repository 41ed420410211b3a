#include "strategy/optimal/changed_pins.h"

#include <algorithm>
#include <cstdint>

namespace sbp {
namespace {

bool SamePin(const TensorPin& a, const TensorPin& b) { return a.layout == b.layout; }
bool SamePin(const SignaturePin& a, const SignaturePin& b) { return a.signature == b.signature; }

// Calls visit(key, is it that the earlier pin no longer holds?) of what the two differ in, in no order.
template <typename PinMap, typename Visit>
void ForEachDifference(const PinMap& before, const PinMap& now, Visit visit) {
  for (const auto& [key, pin] : before) {
    const auto found = now.find(key);
    if (found == now.end() || !SamePin(pin, found->second)) visit(key, true);
  }
  for (const auto& [key, pin] : now) {
    if (!before.contains(key)) visit(key, false);
  }
}

template <typename Ids>
void SortUnique(Ids& ids) {
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace

ChangedPins FindChangedPins(const Graph& graph, const Pins& before, const Pins& now) {
  ChangedPins changed;
  ForEachDifference(before.tensors, now.tensors, [&](TensorId tensor, bool freed) {
    changed.tensors.push_back(tensor);
    if (!freed) return;
    if (graph.tensor(tensor).producer.valid()) {
      changed.freed_others = true;
    } else {
      changed.freed_sources.push_back(tensor);
    }
  });
  ForEachDifference(before.lies, now.lies, [&](TensorId tensor, bool freed) {
    changed.tensors.push_back(tensor);
    changed.freed_others = changed.freed_others || freed;
  });
  ForEachDifference(before.uses, now.uses, [&](uint64_t key, bool freed) {
    changed.ops.push_back(OpId(static_cast<size_t>(key >> 32)));
    changed.freed_others = changed.freed_others || freed;
  });
  ForEachDifference(before.signatures, now.signatures, [&](OpId op, bool freed) {
    changed.ops.push_back(op);
    changed.freed_others = changed.freed_others || freed;
  });
  SortUnique(changed.tensors);
  SortUnique(changed.ops);
  SortUnique(changed.freed_sources);
  return changed;
}

}  // namespace sbp
