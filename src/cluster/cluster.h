// Cluster: devices and links, with the origin of each constant.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "cluster/collective_kind.h"
#include "sbp/mesh.h"

namespace sbp {

// A constant and where it comes from ("datasheet", "facts: calculon a100_80g.json", "measured on ... 2026-11-21").
struct Constant {
  double value = 0;
  std::string source;
};

// A measured time of one op on one device, while all other devices did the same.
struct OpSample {
  std::string op;  // type
  DType dtype = DType::kF32;
  double flops = 0, bytes = 0;  // as Work counts them
  double seconds = 0;
  std::string source;
  double workspace_bytes = 0;  // that the device took besides operands and results
};

// How fast contractions (matrix products, convolutions) are, by shape: peak x ceiling x waves x k / (k + depth), where
// k is the length of the sums and `waves` the part of the device's units that tiles of the output keep busy over whole
// rounds (cost/compute.cc). Unset (no ceilings): compute_efficiency, whatever the shape.
struct ContractionSpec {
  std::map<DType, Constant> ceilings;  // 0..1 of peak, by element type of the operands; others: the nearest stated
  Constant depth;                      // k at which half is lost
  Constant units;                      // that work on a tile each
  Constant tile;                       // rows and columns of a tile
  // 0..1: of that, what products reach whose rows are dealt among matrices as the data say, as those of experts.
  Constant grouped{1, "assumed"};
  // Operations a second, peak, of convolutions of f32 whose library rounds the operands unless it is told otherwise, as
  // cuDNN does below PyTorch (TF32); they reach the ceiling of 16 bits. Absent: as all of f32.
  std::optional<Constant> f32_convolutions;
};

// How fast attention kernels are against compute_efficiency, which is that of the forward pass over heads of 128
// without a mask. `mask`: one that is read from memory; what is causal or a window needs none.
struct AttentionSpeed {
  int64_t head = 128;  // elements of a query's head; between rows linear in its logarithm, outside of them the nearest
  bool backward = false;
  bool mask = false;
  Constant speed;
};

// What runs as one kernel. Eager: each op. Fused: what a compiler as Inductor or XLA makes of the graph
// (graph/kernel_groups.h).
enum class Execution : uint8_t { kEager, kFused };
std::string_view ExecutionName(Execution execution);
std::optional<Execution> ParseExecution(std::string_view text);
inline constexpr std::string_view kExecutionNames[] = {"eager", "fused"};

struct DeviceSpec {
  std::string name;
  Constant memory_bytes;
  Constant memory_bandwidth;        // bytes per second, peak
  std::map<DType, Constant> flops;  // per second, dense peak, by element type of the operands
  Constant compute_efficiency;  // 0..1, of peak flops: of what ContractionSpec does not tell (attention, scans, ...)
  Constant memory_efficiency;   // 0..1, of peak bandwidth
  Constant launch_seconds;      // floor of one kernel
  // 0..1: the part of its speed that compute keeps while a collective runs beside it; how much the collective itself
  // suffers is counted in. 1: they overlap for nothing; 0: one after the other.
  Constant overlap{1, "assumed"};
  // Between two kernels that wait in a queue or in a captured graph: what fused execution pays a kernel in place of
  // launch_seconds. At most that.
  std::optional<Constant> queued_launch_seconds;
  bool epilogue = false;  // fused execution: contractions take light ops behind them into their kernel
  ContractionSpec contraction;
  // Sorted by (backward, mask, head). Where none has the mask, those without; where none has the pass: 1.
  std::vector<AttentionSpeed> attention;
  std::vector<OpSample> op_samples;  // sorted by (op, dtype, flops, bytes)
};

// One level of the interconnect. bandwidth: bytes per second and device, one direction.
struct LinkSpec {
  std::string name;  // "NVLink", "InfiniBand", "ICI", "shared memory"
  Constant bandwidth;
  Constant latency_seconds;  // of one message step
  Constant efficiency;       // 0..1, of bandwidth
};

// How a library sends small messages of a collective: fewer seconds a step than the links' latency_seconds, at less
// than their rate.
struct CollectiveProtocol {
  std::string name;
  bool tree = false;      // of all-reduces: up and down a tree of nodes; else around a ring of ranks
  Constant base_seconds;  // of a call, where that is more than the device's launch
  Constant intra_step_seconds, inter_step_seconds;  // of a message step, within a node and between nodes
  Constant rate;                                    // 0..1, of the links' bandwidth x efficiency
};

// A measured price: `kind` among nodes x ranks_per_node takes latency + bytes / bandwidth seconds, where bytes is the
// size of the tensor on the group (T of the boxing table). Rows with equal (kind, nodes, ranks_per_node, run_bytes) and
// different `bytes` form a curve, interpolated linearly in bytes. run_bytes tells how the parts lie in the tensor: 0 in
// one run each, or whatever way (the only curve of most clusters), else in runs of so many bytes. A sample that stands
// alone is no point of a curve: it counts for exactly its bytes and run_bytes, and there before the curves.
struct CollectiveSample {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  int64_t nodes = 1;
  int64_t ranks_per_node = 1;
  double bytes = 0;
  double seconds = 0;
  std::string source;
  double run_bytes = 0;
  bool alone = false;
};

struct Cluster {
  std::string name;
  std::string description;
  DeviceSpec device;
  int64_t num_nodes = 1;
  int64_t devices_per_node = 1;
  LinkSpec intra_node;
  LinkSpec inter_node;                        // per device
  std::vector<CollectiveSample> samples;      // sorted by (kind, nodes, ranks_per_node, alone, run_bytes, bytes)
  std::vector<CollectiveProtocol> protocols;  // over nodes, and within one where nothing was measured
  bool growable = true;                       // a preset of nodes: may grow by nodes to hold the mesh (Grow)
  Execution execution = Execution::kEager;
  // Fused execution: patterns of the scopes that are compiled, as "layers.*" (naming/module_index.h); ops elsewhere are
  // eager. None: all are compiled.
  std::vector<std::string> fused_scopes;
  // Ops of no kernel group write over no operand, states aside, as PyTorch's eager mode does not.
  bool keeps_operands = false;

  int64_t num_devices() const { return num_nodes * devices_per_node; }
};

// Presets, one row each in all_presets.cc: 8xA100-80G, 8xH100, 8xH200, 8xB200, 72xGB200, 16x8xH100,
// tpu-v5e-256, tpu-v5p-8960, cpu.
struct PresetRow {
  std::string_view name;
  std::string_view description;
  Cluster (*make)();
};
std::span<const PresetRow> AllPresets();
// "3x8xH100": so many nodes of a preset that is one node and may grow. Error lists the presets and the nearest name.
Result<Cluster> FindPreset(std::string_view name);
// Gives a cluster so many nodes, and the name that FindPreset knows it by then: 8xH100 of 2 nodes is 2x8xH100. Requires
// growable.
void Grow(int64_t nodes, Cluster& cluster);

// Values in range (positive, finite), sizes positive.
Status Verify(const Cluster& cluster, std::string_view where);
std::string Dump(const Cluster& cluster);

// How a group of ranks lies on the nodes. Ranks fill nodes in order.
struct GroupShape {
  int64_t nodes = 1;
  int64_t ranks_per_node = 1;  // the largest number on one node
  friend bool operator==(const GroupShape&, const GroupShape&) = default;
  friend auto operator<=>(const GroupShape&, const GroupShape&) = default;
};
// The worst group of a mesh axis (most nodes, then fewest ranks per node): the axis is as slow as its slowest group.
GroupShape AxisGroupShape(const Cluster& cluster, const Mesh& mesh, int axis);

// Peak flops for an element type; the nearest stated type when it is not stated itself (then `substituted` is set).
struct FlopsAnswer {
  Constant constant;
  DType stated = DType::kF32;
  bool substituted = false;
};
FlopsAnswer FlopsFor(const DeviceSpec& device, DType dtype);

}  // namespace sbp
