// The exact prices of the greedy strategies.
#include <cstdint>

#include "boxing/boxing.h"
#include "boxing/search.h"
#include "graph/tensor_type.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {

int64_t CopyCost(Sbp from, Sbp to, int64_t tensor_bytes) {
  if (from == to) return 0;
  if (to.is_partial()) return kToPartialPrice;
  if (from.is_broadcast()) return kBroadcastToSplitPrice;
  return tensor_bytes;
}

double BytesPriceOneAxis(Sbp from, Sbp to, int64_t ranks, double group_bytes) {
  const double n = static_cast<double>(ranks);
  if (from == to) return 0;
  // The cheapest way to another kind of partial is a reduce-scatter, then padding; B and S become partial without
  // moving.
  if (to.is_partial()) return (from.is_partial() ? group_bytes * (n - 1) : 0) + 1;
  if (from.is_broadcast()) return 1;
  if (from.is_split() && to.is_split()) return group_bytes * (n - 1) / n;
  if (from.is_partial() && to.is_broadcast()) return 2 * group_bytes * (n - 1);
  return group_bytes * (n - 1);  // S -> B, P -> S
}

double BytesPrice(const TensorType& type, const NdSbp& from, const NdSbp& to, const Mesh& mesh) {
  double price = 0;
  NdSbp layout = from;
  for (int axis = 0; axis < layout.size(); ++axis) {
    if (layout[axis] == to[axis]) continue;
    // The price is linear in T, so the groups' sum stands for their bytes.
    price += BytesPriceOneAxis(layout[axis], to[axis], mesh.size(axis), AllGroupsBytes(type, layout, mesh, axis));
    layout[axis] = to[axis];
  }
  return price;
}

double BytesPriceOtherDevices(Sbp from, Sbp to, int64_t n_from, int64_t n_to, double tensor_bytes) {
  double price = tensor_bytes;
  if (to.is_broadcast()) price += tensor_bytes * static_cast<double>(n_to - 1);
  if (from.is_partial()) price += tensor_bytes * static_cast<double>(n_from - 1);
  return price;
}

}  // namespace sbp
