// Parts: how whole tensors become the devices' parts, and how parts become whole again.
#pragma once

#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/view.h"
#include "runtime/data/space.h"
#include "runtime/data/value.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {

// The view of the part that the device at `coordinates` holds of a tensor; `data` holds at least that much.
TensorView PartView(DType dtype, const Shape& whole, const NdSbp& layout, const Mesh& mesh,
                    const std::vector<int64_t>& coordinates, std::byte* data);

// Makes this device's part in layout `to` (target, with its ranges set) from its part in `from`. Requires
// IsLocalChange(from, to). Where an axis becomes partial, one rank keeps the values and the others get the neutral
// element. Both lie in `space`; without one, in memory of this process.
Status ChangeLocally(const TensorView& source, const NdSbp& from, const NdSbp& to,
                     const std::vector<int64_t>& coordinates, const TensorView& target, Space& space);
void ChangeLocally(const TensorView& source, const NdSbp& from, const NdSbp& to,
                   const std::vector<int64_t>& coordinates, const TensorView& target);

// The whole tensors that the parts of all devices (by position) stand for: one for each combination of coordinates on
// the axes where they are copies. Error: parts that disagree in type or whole size.
Result<std::vector<Value>> AssembleCopies(const std::vector<Value>& parts, const NdSbp& layout, const Mesh& mesh);

}  // namespace sbp
