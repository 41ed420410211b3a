// LifetimeBuilder: the buffers of a step and who reads them, for lifetimes and for what is written in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "memory/memory.h"
#include "plan/plan.h"
#include "sbp/sbp.h"

namespace sbp {

class LifetimeBuilder {
 public:
  // Both outlive it.
  LifetimeBuilder(const Plan& plan, const StepOrder& order);

  // Buffers as if each result had memory of its own. Tensor t, as its producer writes it, is buffer t; the copies that
  // transitions leave come next, then what the steps between write.
  std::vector<Lifetime>& buffers() { return buffers_; }
  const std::vector<Lifetime>& buffers() const { return buffers_; }
  // The buffer that the op reads as its operand (captures last).
  size_t BufferOf(OpId op, uint32_t operand, TensorId tensor) const;
  const NdSbp& LayoutOf(size_t buffer) const;
  // The buffer that a transition starts from.
  size_t source(size_t transition) const { return source_of_transition_[transition]; }
  // Tensors and the copies that transitions leave.
  size_t num_final() const { return last_read_.size(); }
  // The position of the last op or boxing step that reads the buffer; kUnread: none does.
  static constexpr uint32_t kUnread = ~uint32_t{0};
  uint32_t last_read(size_t buffer) const { return last_read_[buffer]; }
  // Does the caller of the step find it in the end?
  bool kept(size_t buffer) const { return kept_[buffer]; }

 private:
  void AddTensors();
  void AddTransition(uint32_t number);
  void KeepEnds();
  uint32_t SourceOf(const Transition& transition, const std::vector<uint32_t>& copies) const;
  void Read(size_t buffer, uint32_t position);
  void ReadByOps();
  void HoldForKernels();
  int64_t BytesIn(const Transition& transition, const NdSbp& layout) const;

  const Plan& plan_;
  const Graph& graph_;
  const StepOrder& order_;
  uint32_t last_position_ = 0;
  std::vector<Lifetime> buffers_;
  std::vector<uint32_t> last_read_;  // per buffer, as is
  std::vector<bool> kept_;
  std::vector<Lifetime> intermediates_;
  std::unordered_map<TensorId, std::vector<uint32_t>> copies_;  // per tensor: its boxed copies
  std::vector<size_t> copy_of_transition_;                      // its place in buffers_; 0: none
  std::vector<size_t> source_of_transition_;
  std::vector<bool> is_boxed_;                       // per tensor
  std::unordered_map<uint64_t, size_t> boxed_uses_;  // UseKey -> the copy that it reads
};

// As in memory.h, where the buffers are known: those of the plan in that order.
std::vector<InPlaceWrite> FindInPlace(const Plan& plan, const StepOrder& order, const LifetimeBuilder& builder,
                                      const PairsOfOp& pairs);
std::vector<Lifetime> Lifetimes(const Plan& plan, const StepOrder& order, LifetimeBuilder builder);

}  // namespace sbp
