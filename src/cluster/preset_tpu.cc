// TPU v5e: chips of one pod are joined by a 2-d torus, pods by the data centre's network.
#include <string>

#include "base/dtype.h"
#include "cluster/cluster.h"
#include "cluster/presets.h"

namespace sbp {

Cluster PresetTpuV5e256() {
  const std::string docs = "docs.cloud.google.com/tpu/docs/v5e";
  Cluster cluster;
  cluster.devices_per_node = 256;  // the pod: everything that the torus reaches
  cluster.device.name = "TPU-v5e";
  cluster.device.memory_bytes = {16e9, docs};
  cluster.device.memory_bandwidth = {819e9, docs};
  cluster.device.flops = {{DType::kBF16, {197e12, docs}}, {DType::kI8, {394e12, docs}}};
  cluster.device.compute_efficiency = {0.70, "assumed as for GPUs (AP compute_estimation.py)"};
  cluster.device.memory_efficiency = {0.70, "assumed as for GPUs (AP compute_estimation.py)"};
  cluster.device.launch_seconds = {1e-6, "assumed: ops of one compiled program have no launch by the host"};
  cluster.intra_node.name = "ICI";
  cluster.intra_node.bandwidth = {
      100e9, docs + ": 4 links, 400 GB/s in both directions together; a ring along one torus axis uses 2 of the 4"};
  cluster.intra_node.latency_seconds = {1e-6, "assumed; ASTRA-sim's networks have 0.9 to 1 us a hop"};
  cluster.intra_node.efficiency = {0.70, "assumed as for NVLink"};
  cluster.growable = false;
  cluster.inter_node.name = "data centre network";
  cluster.inter_node.bandwidth = {3.125e9, "assumed: 200 Gb/s per host of 8 chips"};
  cluster.inter_node.latency_seconds = {50e-6, "assumed"};
  cluster.inter_node.efficiency = {0.70, "assumed"};
  return cluster;
}

}  // namespace sbp
