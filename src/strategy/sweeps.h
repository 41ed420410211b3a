// Sweeps: layouts that users marked spread forward and backward through the factors of each op until nothing changes.
//
// A tensor has one layout; a use may want another (boxing). A layout only gains axes and marked ones never change, so
// sweeps end: each tensor changes at most once per mesh axis, and only ops next to a changed tensor are asked again.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "problem/problem.h"
#include "rule/infer.h"
#include "sbp/sbp.h"

namespace sbp {

class Sweeps {
 public:
  // `start`: a layout per tensor; `fixed`: those that never change.
  Sweeps(const Problem& problem, std::vector<NdSbp> start, std::vector<bool> fixed);

  // Runs to the end. `cancelled` is asked now and then; true: stops early (returns false).
  bool Run(const std::function<bool()>& cancelled);

  const NdSbp& layout(TensorId tensor) const { return layouts_[tensor.index()]; }
  const std::vector<NdSbp>& layouts() const { return layouts_; }
  // What an op wants of its operands and writes, given the layouts that tensors have now.
  const InferAnswer& Forward(OpId op) { return Ask(op, false); }

 private:
  struct Known {
    uint32_t op_class;
    bool backward;
    std::vector<NdSbp> inputs, outputs;
    InferAnswer answer;
  };
  const InferAnswer& Ask(OpId op, bool backward);
  void VisitForward(OpId op);
  void VisitBackward(OpId op);
  // Gains the axes of `suggested` that are free and fit; asks the neighbours again if there were any.
  void Suggest(TensorId tensor, const NdSbp& suggested, bool partial_too);
  bool Gain(TensorId tensor, const NdSbp& suggested, bool partial_too);
  void AskNeighboursAgain(TensorId tensor);
  void Push(OpId op, bool backward);
  OpId Pop(bool backward);

  const Problem& problem_;
  std::vector<NdSbp> layouts_;
  std::vector<bool> fixed_;
  std::unordered_multimap<TensorId, TensorId> tied_;                              // both ways
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> forward_;  // earliest op first
  std::priority_queue<uint32_t> backward_;                                        // latest op first
  std::vector<bool> in_forward_, in_backward_;
  std::vector<NdSbp> inputs_, outputs_;  // of the op being asked
  std::unordered_multimap<size_t, uint32_t> known_by_hash_;
  std::deque<Known> known_;  // addresses stay
};

}  // namespace sbp
