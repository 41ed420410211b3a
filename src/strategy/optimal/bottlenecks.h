// Tensors that nothing can be computed beside while they are sent: what every plan's step waits for.
//
// A collective on a tensor runs after the op that writes it and before those that read it. Where one op writes the
// tensor, one reads it, and every other op comes before the former or after the latter by what it depends on, nothing
// is left to be computed meanwhile, whatever layouts a plan has. So it is between the layers of a model (o_proj and the
// addition behind it; the sum of a product that is split over k), not of weights and of their gradients.
//
// A few small ops that depend on little and are wanted late (tables of positions, a transposed weight, a counter of
// steps) would make this false nearly everywhere. They are set aside: bounds do not count what these compute.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/graph.h"
#include "problem/problem.h"

namespace sbp {

struct Bottlenecks {
  std::vector<bool> tensors;  // per tensor: while it is sent, only ops set aside can be computed
  std::vector<bool> aside;    // per op
};

// What is set aside: ops that stand further than `near` ops before what reads them or behind what they read, of at most
// this share of the step's compute together, a quarter of it each.
struct AsideOptions {
  double share = 0.01;
  size_t near = 24;
};

// `seconds`: of each op in some plan, which says which ops are small; what is found holds for all plans. Tensors that
// are outputs, tied or pinned to stand otherwise than they are written are none. Linear in ops and operands.
Bottlenecks FindBottlenecks(const Problem& problem, const std::vector<double>& seconds, const AsideOptions& options);

}  // namespace sbp
