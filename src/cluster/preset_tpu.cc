// TPUs: chips of one pod are joined by a torus, pods by the data centre's network. XLA fuses.
#include <string>

#include "base/dtype.h"
#include "cluster/cluster.h"
#include "cluster/presets.h"

namespace sbp {
namespace {

// Matrix units take tiles of 128 x 128 and fill as deep.
ContractionSpec MatrixUnits(double units, const std::string& docs) {
  ContractionSpec spec;
  spec.ceilings = {
      {DType::kBF16, {0.80, "assumed: MaxText reports 65 to 70 % of peak for whole training steps on v5p"}}};
  spec.depth = {128, "depth of the systolic array"};
  spec.units = {units, docs + ", matrix units of a chip"};
  spec.tile = {128, docs + ", a matrix unit is 128 x 128"};
  return spec;
}

// What all of them share.
Cluster Pod() {
  Cluster cluster;
  cluster.execution = Execution::kFused;
  cluster.growable = false;
  cluster.device.compute_efficiency = {0.70, "assumed as for GPUs (AP compute_estimation.py)"};
  cluster.device.memory_efficiency = {0.70, "assumed as for GPUs (AP compute_estimation.py)"};
  cluster.device.launch_seconds = {1e-6, "assumed: ops of one compiled program have no launch by the host"};
  cluster.device.epilogue = true;
  cluster.intra_node.name = "ICI";
  cluster.intra_node.latency_seconds = {1e-6, "assumed; ASTRA-sim's networks have 0.9 to 1 us a hop"};
  cluster.intra_node.efficiency = {0.70, "assumed as for NVLink"};
  cluster.inter_node.name = "data centre network";
  cluster.inter_node.latency_seconds = {50e-6, "assumed"};
  cluster.inter_node.efficiency = {0.70, "assumed"};
  return cluster;
}

}  // namespace

Cluster PresetTpuV5e256() {
  const std::string docs = "docs.cloud.google.com/tpu/docs/v5e";
  Cluster cluster = Pod();
  cluster.devices_per_node = 256;  // the pod: everything that the torus reaches
  cluster.device.name = "TPU-v5e";
  cluster.device.memory_bytes = {16e9, docs};
  cluster.device.memory_bandwidth = {819e9, docs};
  cluster.device.flops = {{DType::kBF16, {197e12, docs}}, {DType::kI8, {394e12, docs}}};
  cluster.device.contraction = MatrixUnits(4, docs);
  cluster.intra_node.bandwidth = {
      100e9, docs + ": 4 links, 400 GB/s in both directions together; a ring along one torus axis uses 2 of the 4"};
  cluster.inter_node.bandwidth = {3.125e9, "assumed: 200 Gb/s per host of 8 chips"};
  return cluster;
}

Cluster PresetTpuV5p8960() {
  const std::string docs = "docs.cloud.google.com/tpu/docs/v5p";
  Cluster cluster = Pod();
  cluster.devices_per_node = 8960;  // the pod
  cluster.device.name = "TPU-v5p";
  cluster.device.memory_bytes = {95e9, docs};
  cluster.device.memory_bandwidth = {2765e9, docs};
  cluster.device.flops = {{DType::kBF16, {459e12, docs}}, {DType::kI8, {918e12, docs}}};
  cluster.device.contraction = MatrixUnits(8, docs);
  cluster.intra_node.bandwidth = {
      200e9, docs + ": 6 links, 4800 Gb/s in one direction; a ring along one of the three torus axes uses 2 of the 6"};
  cluster.inter_node.bandwidth = {6.25e9, "assumed: 200 Gb/s per host of 4 chips"};
  return cluster;
}

}  // namespace sbp
