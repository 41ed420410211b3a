// Where the shards of a tensor lie, device by device, and the mesh and layout that say the same. Devices are numbered
// as the row-major positions of a mesh.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onnx/annotations.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {

struct SplitDim {
  int dim = 0;
  int64_t shards = 2;
  std::vector<int64_t> shard_of;  // per device: which shard it holds
  friend auto operator<=>(const SplitDim&, const SplitDim&) = default;
};

// Every device holds one shard; those that hold the same one are replicas.
struct Placement {
  int64_t num_devices = 1;
  std::vector<SplitDim> dims;  // of more than one shard, ascending
  friend auto operator<=>(const Placement&, const Placement&) = default;
};

// The layout on `mesh` that places shards so; nothing: none does, such as a split over devices 0-2 and 3 alone, or over
// the inner axis first and the outer one within. Linear in devices.
std::optional<NdSbp> LayoutOf(const Placement& placement, const Mesh& mesh);

// The mesh of the configuration's devices. Their names say it where they are coordinates in row-major order
// ("data=0,model=3", "data0.model3") and every placement has a layout on it. Else that factorisation of the number of
// devices on which most placements have one, of those the one of fewest axes, then of the largest outer axes; so many
// are tried as bounded work allows. Axes are then called x0, x1, ... `placements`: each once.
Mesh InferMesh(const DeviceConfiguration& configuration, std::span<const Placement> placements);

// The spec of a tensor of this shape and layout, which has no P.
ShardingSpec SpecOf(const std::string& tensor, const Shape& shape, const NdSbp& layout, const Mesh& mesh);

// "data=0,model=3": what a device of the mesh is called, so that InferMesh finds the mesh again.
std::string DeviceName(const Mesh& mesh, int64_t position);

}  // namespace sbp
