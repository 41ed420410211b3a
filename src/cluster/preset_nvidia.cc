// NVIDIA nodes. Sources in brief: "AP" is PyTorch's AutoParallel (compute_estimation.py, nccl_cost_model.py),
// "calculon" the system files of Calculon; NCCL's constants are those of its tuning model.
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "cluster/cluster.h"
#include "cluster/collective_kind.h"
#include "cluster/presets.h"

namespace sbp {
namespace {

constexpr double kTera = 1e12;

// What products reach was fitted, by `scripts/truth-published --fit`, to one published run a device; the other runs of
// its tables test it. The depth of products and memory_efficiency are of no row: between published values.
constexpr const char* kFittedHopper =
    "fitted: llm-foundry's MPT-3b, 8 H100, sequences of 4096 (scripts/truth-published --fit)";
constexpr const char* kFittedAmpere =
    "fitted: llm-foundry's MPT-3b, 8 A100 of 80 GB, sequences of 2048 (scripts/truth-published --fit)";
// Of what a causal mask leaves, forward, heads of 128, 16k positions.
constexpr const char* kAttentionAmpere =
    "FlashAttention-2 (arXiv 2307.08691), figure 4: 189 TFLOP/s of both passes on A100, forward by the speeds of "
    "passes";
constexpr const char* kAttentionMeasured =
    "measured on H200, PyTorch 2.11, profile of a step: 515 TFLOP/s, causal, heads of 128";

// Attention's other shapes against heads of 128 forward.
struct AttentionRow {
  int64_t head;
  bool backward, mask;
  double speed;
  const char* source;
};
constexpr const char* kFlash2Masked =
    "FlashAttention-2 takes no mask: as measured on H200 with PyTorch's attention of memory";
// Of heads of 64 on A100 no figure is at hand: as fast.
constexpr AttentionRow kAmpereRows[] = {
    {128, false, false, 1, kAttentionAmpere},
    {128, false, true, 0.56, kFlash2Masked},
    {128, true, false, 0.63 / 0.73,
     "FlashAttention-2 (arXiv 2307.08691), 4.1: up to 73 % of peak forward, 63 % backward"},
};
constexpr const char* kProfiled = "measured on H200, PyTorch 2.11, profiles of steps: 0.42 of peak, of 0.52";
constexpr AttentionRow kProfiledRows[] = {
    {64, false, false, 0.42 / 0.52, kProfiled},
    {128, false, false, 1, "measured on H200, PyTorch 2.11, profiles of steps"},
    {64, false, true, 0.23 / 0.52, "measured on H200, PyTorch 2.11, profiles of steps: 0.23 of peak, of 0.52"},
    {128, false, true, 0.29 / 0.52, "measured on H200, PyTorch 2.11, profiles of steps: 0.29 of peak, of 0.52"},
    {64, true, false, 0.24 / 0.52, "measured on H200, PyTorch 2.11, profiles of steps: 0.24 of peak, of 0.52"},
    {128, true, false, 0.35 / 0.52, "measured on H200, PyTorch 2.11, profiles of steps: 0.35 of peak, of 0.52"},
};

// H200 is younger than the software of those runs. One product alone (tests/bench/gpu_kernel_bench.cc) reaches 0.81 of
// the peak in bf16, which no step keeps up.
constexpr const char* kFittedGrouped =
    "fitted: Mixtral-8x7B of 2 layers, forward, 4 x 2048, causal, compiled, one H200 (examples/truth/steps.csv)";
constexpr const char* kFittedH200 =
    "fitted: Llama-3-8B of 4 layers, training, 2 x 4096, causal, compiled (examples/truth/steps.csv)";
constexpr const char* kMeasuredProduct = "measured on H200, cuBLASLt 13.1: 8192 x 8192 x 8192, 51.3 TFLOP/s";

// One measured curve: latency at size 0, and the rate of a tensor of 1 GB (T / seconds, "algorithm bandwidth").
struct Curve {
  CollectiveKind kind;
  int64_t nodes, ranks_per_node;
  double latency, bytes_per_second;
  const char* source;
};

constexpr const char* kMeasured = "measured on H100 + NVSwitch at 1 GB, with its base latency (AP tables)";
constexpr const char* kRing = "ring, Simple protocol, H100 nodes of 8 (AP nccl_cost_model.py)";

// All-to-all of the copy engines moves 380 GB/s from each GPU after 50 us (AP); each of n ranks sends T (n - 1) / n^2,
// so the rate in terms of T is 380 GB/s x n^2 / (n - 1).
constexpr const char* kCopyEngine = "copy engines 380 GB/s per GPU, 50 us (AP), converted to tensor bytes";
constexpr double CopyEngineRate(double n) { return 380e9 * n * n / (n - 1); }

// All-to-all over k nodes of 8: each GPU sends T / n x (k - 1) / k through its 50 GB/s adapter of efficiency
// 1 - 0.44 / k; latencies are measured ones.
constexpr const char* kNodesAllToAll =
    "latency measured, 50 GB/s adapter at efficiency 1 - 0.44/nodes (AP), in tensor bytes";
constexpr double NodesAllToAllRate(double k) { return 50e9 * (1 - 0.44 / k) * (8 * k) * k / (k - 1); }

constexpr Curve kHopperCurves[] = {
    {CollectiveKind::kAllGather, 1, 2, 8e-6, 537e9, kMeasured},
    {CollectiveKind::kAllGather, 1, 4, 17e-6, 434e9, kMeasured},
    {CollectiveKind::kAllGather, 1, 8, 30e-6, 394e9, kMeasured},
    {CollectiveKind::kAllGather, 2, 8, 70e-6, 409.6e9, kRing},
    {CollectiveKind::kAllGather, 4, 8, 145.6e-6, 396.4e9, kRing},
    {CollectiveKind::kAllGather, 32, 8, 1204e-6, 385.5e9, kRing},
    {CollectiveKind::kAllReduce, 1, 2, 10e-6, 324e9, kMeasured},
    {CollectiveKind::kAllReduce, 1, 4, 15e-6, 236e9, kMeasured},
    {CollectiveKind::kAllReduce, 1, 8, 31e-6, 267e9, kMeasured},
    {CollectiveKind::kReduceScatter, 1, 2, 8e-6, 537e9, kMeasured},
    {CollectiveKind::kReduceScatter, 1, 4, 17e-6, 434e9, kMeasured},
    {CollectiveKind::kReduceScatter, 1, 8, 30e-6, 394e9, kMeasured},
    {CollectiveKind::kReduceScatter, 2, 8, 70e-6, 409.6e9, kRing},
    {CollectiveKind::kReduceScatter, 4, 8, 145.6e-6, 396.4e9, kRing},
    {CollectiveKind::kReduceScatter, 32, 8, 1204e-6, 385.5e9, kRing},
    {CollectiveKind::kAllToAll, 1, 2, 50e-6, CopyEngineRate(2), kCopyEngine},
    {CollectiveKind::kAllToAll, 1, 4, 50e-6, CopyEngineRate(4), kCopyEngine},
    {CollectiveKind::kAllToAll, 1, 8, 50e-6, CopyEngineRate(8), kCopyEngine},
    {CollectiveKind::kAllToAll, 2, 8, 37e-6, NodesAllToAllRate(2), kNodesAllToAll},
    {CollectiveKind::kAllToAll, 4, 8, 42e-6, NodesAllToAllRate(4), kNodesAllToAll},
    {CollectiveKind::kAllToAll, 8, 8, 60e-6, NodesAllToAllRate(8), kNodesAllToAll},
    {CollectiveKind::kAllToAll, 16, 8, 98e-6, NodesAllToAllRate(16), kNodesAllToAll},
    {CollectiveKind::kAllToAll, 32, 8, 290e-6, NodesAllToAllRate(32), kNodesAllToAll},
};

void AddCurves(std::span<const Curve> curves, const char* suffix, Cluster& cluster) {
  constexpr double kMeasuredBytes = 1e9;
  for (const Curve& curve : curves) {
    for (const double bytes : {0.0, kMeasuredBytes}) {
      cluster.samples.push_back({curve.kind, curve.nodes, curve.ranks_per_node, bytes,
                                 curve.latency + bytes / curve.bytes_per_second, std::string(curve.source) + suffix});
    }
  }
}

// Tensor cores: products of 128 x 128 tiles on each multiprocessor; the ceilings are by device and type. Convolutions
// of f32 run on them, too: PyTorch allows cuDNN TF32 unless told otherwise (torch.backends.cudnn.allow_tf32), though
// not cuBLAS.
ContractionSpec TensorCores(double multiprocessors, double half, const std::string& source, double tf32) {
  const Constant vector_units{0.90, "assumed, vector units"};
  ContractionSpec spec;
  spec.ceilings = {{DType::kBF16, {half, source}},
                   {DType::kF16, {half, source}},
                   {DType::kF8E4M3FN, {half, "as of bf16: " + source}},
                   {DType::kF8E5M2, {half, "as of bf16: " + source}},
                   {DType::kF32, vector_units}};
  spec.depth = {64, "half of a tile"};
  spec.units = {multiprocessors, "multiprocessors, vendor's data sheet"};
  spec.tile = {128, "the common tile of cuBLAS"};
  spec.grouped = {0.91, kFittedGrouped};
  spec.f32_convolutions = {tf32 * kTera, "vendor's data sheet, TF32, dense"};
  return spec;
}

void SetAttention(const Constant& efficiency, std::span<const AttentionRow> rows, DeviceSpec& device) {
  device.compute_efficiency = efficiency;
  device.attention.clear();
  for (const AttentionRow& row : rows)
    device.attention.push_back({row.head, row.backward, row.mask, {row.speed, row.source}});
}

// NCCL's protocols for small messages; links' latencies, and curves over nodes, are of its third one, Simple.
constexpr const char* kRings = "NCCL tuning model, rings (AP nccl_cost_model.py)";
constexpr const char* kRingsInside =
    "NCCL tuning model, rings: 0.6 us, 1.8 times that over nodes (src/graph/tuning.cc)";
constexpr const char* kRingFlags = "NCCL tuning model, rings over nodes: a quarter of the bus (src/graph/tuning.cc)";
constexpr const char* kRingLines = "NCCL tuning model, rings of one rank a node; 0.92 of more (src/graph/tuning.cc)";
constexpr const char* kTrees = "NCCL tuning model, trees (src/graph/tuning.cc)";
constexpr const char* kTreesInside =
    "NCCL tuning model, trees: 0.6 us, 1.8 times that over nodes (src/graph/tuning.cc)";
constexpr const char* kTreeFlags =
    "NCCL tuning model, trees: 0.9 / 3.8, half of that at medium sizes (src/graph/tuning.cc)";
constexpr const char* kTreeLines =
    "NCCL tuning model, trees: 0.9 x 0.915, 0.6 of that at medium sizes (src/graph/tuning.cc)";

std::vector<CollectiveProtocol> Protocols() {
  return {
      {"LL", false, {6.6e-6, kRings}, {1.08e-6, kRingsInside}, {2.7e-6, kRings}, {0.25, kRingFlags}},
      {"LL128", false, {14e-6, kRings}, {1.9e-6, kRings}, {4e-6, kRings}, {0.7, kRingLines}},
      {"LL", true, {6.8e-6, kTrees}, {1.08e-6, kTreesInside}, {5e-6, kTrees}, {0.12, kTreeFlags}},
      {"LL128", true, {14e-6, kTrees}, {1.25e-6, kTrees}, {8.5e-6, kTrees}, {0.5, kTreeLines}},
  };
}

// What all of NVIDIA's presets share.
Cluster Node() {
  Cluster cluster;
  cluster.devices_per_node = 8;
  cluster.device.memory_efficiency = {0.80, "between calculon's 0.75 from 10 MB on and 0.90 from 100 MB on"};
  cluster.device.launch_seconds = {7e-6, "AP compute_estimation.py"};
  cluster.device.queued_launch_seconds = {1.5e-6, "assumed: gap between kernels of a captured CUDA graph"};
  cluster.device.overlap = {1 / 1.1256, "Galvatron's overlap coefficient 1.1256, of its own cluster"};
  cluster.execution = Execution::kFused;
  cluster.intra_node.name = "NVLink";
  cluster.intra_node.latency_seconds = {3.4e-6, "NCCL tuning model, NVLink hop of the Simple protocol"};
  cluster.inter_node.name = "InfiniBand";
  cluster.inter_node.latency_seconds = {14e-6, "NCCL tuning model, network hop of the Simple protocol"};
  cluster.protocols = Protocols();
  return cluster;
}

// H100 and H200: the same chip and the same links.
Cluster HopperNode() {
  Cluster cluster = Node();
  const std::string sheet = "vendor's data sheet, dense";
  cluster.device.flops = {{DType::kBF16, {989.5 * kTera, "AP compute_estimation.py, dense"}},
                          {DType::kF16, {989.4 * kTera, sheet}},
                          {DType::kF32, {67 * kTera, sheet + ", vector units"}},
                          {DType::kF64, {67 * kTera, sheet + ", matrix units"}},
                          {DType::kF8E4M3FN, {1979 * kTera, sheet}},
                          {DType::kF8E5M2, {1979 * kTera, sheet}},
                          {DType::kI8, {1979 * kTera, sheet}}};
  cluster.device.contraction = TensorCores(132, 0.63, kFittedHopper, 494.7);
  SetAttention({0.52, kAttentionMeasured}, kProfiledRows, cluster.device);
  cluster.intra_node.bandwidth = {450e9, "AP; calculon: NVLink4, one direction"};
  cluster.intra_node.efficiency = {320.0 / 450.0, "NCCL tuning model: 320 GB/s bus bandwidth inside an H100 node (AP)"};
  cluster.inter_node.bandwidth = {50e9, "AP; calculon: NDR 400 Gb/s per GPU"};
  cluster.inter_node.efficiency = {0.96, "AP nccl_cost_model.py: ring rates are 384 GB/s per 8 adapters of 50 GB/s"};
  return cluster;
}

// HGX B200 and GB200: the same chip, at two clocks, and the same NVLink. No collective of theirs was measured for us:
// they are priced by latency and bandwidth.
Cluster BlackwellNode(double tf32) {
  Cluster cluster = Node();
  cluster.device.contraction = TensorCores(148, 0.63, "assumed as for H100", tf32);
  SetAttention({0.52, "assumed as for H100"}, kProfiledRows, cluster.device);
  cluster.intra_node.bandwidth = {900e9, "NVLink5, one direction (AP)"};
  cluster.intra_node.efficiency = {640.0 / 900.0, "NCCL tuning model: 640 GB/s bus bandwidth inside a B200 node (AP)"};
  cluster.inter_node.bandwidth = {50e9, "NDR 400 Gb/s per GPU"};
  cluster.inter_node.efficiency = {0.96, "as H100 nodes (AP nccl_cost_model.py)"};
  return cluster;
}

// Dense peaks: of 16-bit floats, twice that of 8 bits, and of the f32 and f64 units.
std::map<DType, Constant> BlackwellFlops(double half, double f32, double f64, const std::string& source) {
  return {{DType::kBF16, {half * kTera, source}},
          {DType::kF16, {half * kTera, source}},
          {DType::kF32, {f32 * kTera, source + ", vector units"}},
          {DType::kF64, {f64 * kTera, source}},
          {DType::kF8E4M3FN, {2 * half * kTera, source}},
          {DType::kF8E5M2, {2 * half * kTera, source}},
          {DType::kI8, {2 * half * kTera, source}}};
}

}  // namespace

Cluster Preset8xA100() {
  Cluster cluster = Node();
  const std::string sheet = "vendor's data sheet, dense";
  cluster.device.name = "A100-SXM-80GB";
  cluster.device.memory_bytes = {80.0 * 1073741824.0, "calculon a100_80g.json (80 GiB)"};
  cluster.device.memory_bandwidth = {2039e9, "vendor's data sheet"};
  cluster.device.flops = {{DType::kBF16, {312 * kTera, "AP compute_estimation.py"}},
                          {DType::kF16, {312 * kTera, sheet}},
                          {DType::kF32, {19.5 * kTera, sheet + ", vector units"}},
                          {DType::kF64, {19.5 * kTera, sheet + ", matrix units"}},
                          {DType::kI8, {624 * kTera, sheet}}};
  cluster.device.contraction = TensorCores(108, 0.76, kFittedAmpere, 156);
  SetAttention({0.67, kAttentionAmpere}, kAmpereRows, cluster.device);
  cluster.intra_node.bandwidth = {300e9, "calculon a100_80g.json: NVLink3, one direction"};
  cluster.intra_node.efficiency = {0.65, "calculon: NVLink"};
  cluster.inter_node.bandwidth = {25e9, "calculon a100_80g.json: HDR 200 Gb/s per GPU"};
  cluster.inter_node.efficiency = {0.90, "calculon: InfiniBand"};
  return cluster;
}

Cluster Preset8xH100() {
  Cluster cluster = HopperNode();
  cluster.device.name = "H100-SXM-80GB";
  cluster.device.memory_bytes = {80e9, "vendor's data sheet"};
  cluster.device.memory_bandwidth = {3350e9, "AP compute_estimation.py"};
  AddCurves(kHopperCurves, "", cluster);
  return cluster;
}

Cluster Preset8xH200() {
  Cluster cluster = HopperNode();
  cluster.device.name = "H200-141GB";
  cluster.device.memory_bytes = {141e9, "MLCommons inference v4.1, H200-SXM-141GBx8 system file"};
  cluster.device.memory_bandwidth = {4800e9, "vendor's data sheet"};
  cluster.device.memory_efficiency = {0.87, "measured on H200: 1 GiB read and 1 GiB written in 0.513 ms"};
  cluster.device.launch_seconds = {5.3e-6, "measured on H200, CUDA 13.0: a kernel of 64 elements"};
  cluster.device.contraction = TensorCores(132, 0.70, kFittedH200, 494.7);
  cluster.device.contraction.ceilings[DType::kF32] = {0.80, kMeasuredProduct};
  AddCurves(kHopperCurves, "; same links as H100", cluster);
  return cluster;
}

Cluster Preset8xB200() {
  Cluster cluster = BlackwellNode(1125);
  cluster.device.name = "B200-SXM-180GB";
  cluster.device.memory_bytes = {180e9, "vendor's data sheet, HGX B200"};
  cluster.device.memory_bandwidth = {7700e9, "AP compute_estimation.py"};
  cluster.device.flops = BlackwellFlops(2250, 75, 37, "vendor's data sheet, HGX B200, dense");
  return cluster;
}

Cluster Preset72xGB200() {
  Cluster cluster = BlackwellNode(1250);
  cluster.devices_per_node = 72;
  cluster.device.name = "GB200-186GB";
  cluster.device.memory_bytes = {186e9, "vendor's data sheet, GB200 NVL72: 13.4 TB of 72 GPUs"};
  cluster.device.memory_bandwidth = {8000e9, "vendor's data sheet, GB200 NVL72: 576 TB/s of 72 GPUs"};
  cluster.device.flops = BlackwellFlops(2500, 80, 40, "vendor's data sheet, GB200 NVL72, dense, a 72nd");
  return cluster;
}

Cluster Preset16x8xH100() {
  Cluster cluster = Preset8xH100();
  cluster.num_nodes = 16;
  return cluster;
}

}  // namespace sbp
