// Writes through views: an op that changes a view in place changes the tensor that the view shows. As values: that
// tensor with the view's new value put where the view reads it from.
#pragma once

#include <optional>
#include <string>

#include "graph/graph.h"
#include "graph/tensor_type.h"

namespace sbp::torch {

// How a view was made of its first operand.
struct ViewMade {
  std::string of;    // the tensor that it shows a part or another shape of
  std::string type;  // "aten::slice.Tensor"
  Attributes attributes;
};

// The op that makes the whole anew: of type `type`, of the whole where `takes_whole`, and of the view's new value.
struct WriteBack {
  std::string type;
  Attributes attributes;
  bool takes_whole = false;
};
// Nothing: it is not known how a view of this kind is written through, or `whole`, its operand's type, must be static
// and is not.
std::optional<WriteBack> WriteBackOf(const ViewMade& view, const TensorType& whole);

}  // namespace sbp::torch
