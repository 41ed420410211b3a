// Edges of a view: what passes between two of its nodes, as one edge for all tensors.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "plan/plan.h"
#include "render/view.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {

class EdgesOfView {
 public:
  // `training`: the plan is of a training step, whose kept tensors have edges of their own. The plan outlives this.
  EdgesOfView(const Plan& plan, bool training, Notation notation);

  // A tensor passes from one node of the view to another, in `layout` (nullptr: unknown). A second time is none.
  void Add(uint32_t from, uint32_t to, TensorId tensor, const NdSbp* layout);

  // Into `view`, whose nodes are complete, sorted by ends. Of many the heaviest, and a note says how many are left out:
  // Graphviz's time grows with edges, not only nodes.
  // What leads to the optimizer, or to `many` (-1: none), a node that stands for many outputs, is one edge for all of a
  // repeated part, or of a pass: single ones would cross the picture by the hundred and say nothing.
  void WriteTo(View& view, int32_t many) const;

 private:
  struct Sum {
    std::set<TensorId> tensors;
    std::set<std::string> layouts;
    double bytes = 0, kept = 0;  // kept: on each device, for the backward pass

    void Merge(const Sum& other) {
      tensors.insert(other.tensors.begin(), other.tensors.end());
      layouts.insert(other.layouts.begin(), other.layouts.end());
      bytes += other.bytes;
      kept += other.kept;
    }
  };
  using Sums = std::map<std::pair<uint32_t, uint32_t>, Sum>;  // by ends

  Sums Bundled(const View& view, int32_t many) const;

  const Plan& plan_;
  const Notation notation_;
  std::vector<int64_t> kept_bytes_;  // of a training step, per tensor
  Sums sums_;
};

}  // namespace sbp
