// What may be computed while a tensor is sent, whatever layouts a plan has.
//
// A collective on a tensor runs behind the op that writes it and before those that read what it makes. Neither ops that
// lead to the former nor those that follow from one of the latter are computed meanwhile. Who reads what a collective
// makes is the plan's to say: of the tensor's readers at least one, or nobody where the tensor is an output. So what
// follows from all of them is excluded; and all that follows from one, the early one, where the collective serves that.
// Between the layers of a model that leaves nothing, or of a backward pass the gradients of weights.
//
// Ops are told apart by kinds, a few, so that an answer is a set of kinds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "problem/problem.h"

namespace sbp {

using KindSet = uint32_t;  // of kinds of ops: bit i is kind i

// Per tensor.
struct Beside {
  std::vector<KindSet> any;    // kinds of the ops that may be computed while the tensor is sent
  std::vector<KindSet> early;  // while it is sent for its early reader, perhaps others too: part of `any`
  std::vector<OpId> early_reader;
};

// Per op.
struct OpKinds {
  std::vector<uint8_t> kind;  // below 32
  // The first of a tensor's readers that have the highest rank among them, if that is above 0, is its early one.
  std::vector<uint8_t> rank;
};

class BesideFinder {
 public:
  // The problem must outlive this.
  explicit BesideFinder(const Problem& problem);
  // Never misses a kind; names one too many only where more than 64 ops of it pass by one that none of them reads. Ends
  // of a tie are alike. Linear in ops and operands, for each kind.
  Beside Find(const OpKinds& kinds) const;

 private:
  struct Cover;
  std::vector<uint32_t> OrderOf(const std::vector<uint8_t>& ranks) const;
  Cover CoverOf(const std::vector<uint8_t>& kinds, uint8_t kind, const std::vector<uint32_t>& order) const;
  void MarkTensors(const Cover& cover, uint8_t kind, Beside& found) const;

  const Problem& problem_;
  std::vector<std::vector<uint32_t>> producers_, readers_;  // per op
  std::vector<bool> ends_;                                  // per tensor: may be sent for nobody
};

}  // namespace sbp
