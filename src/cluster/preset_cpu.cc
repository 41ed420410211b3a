// CPU threads or ranks as devices. Round numbers on purpose: calibration on the machine at hand replaces them.
#include <string>

#include "base/dtype.h"
#include "cluster/cluster.h"
#include "cluster/presets.h"

namespace sbp {

Cluster PresetCpu() {
  const std::string placeholder = "placeholder until calibrated";
  Cluster cluster;
  cluster.devices_per_node = 8;
  cluster.device.name = "cpu";
  cluster.device.memory_bytes = {8e9, placeholder};
  cluster.device.memory_bandwidth = {10e9, placeholder};
  cluster.device.flops = {{DType::kF32, {32e9, placeholder}}, {DType::kF64, {16e9, placeholder}}};
  cluster.device.compute_efficiency = {1, placeholder};
  cluster.device.memory_efficiency = {1, placeholder};
  cluster.device.launch_seconds = {1e-6, placeholder};
  cluster.intra_node = {"shared memory", {5e9, placeholder}, {5e-6, placeholder}, {1, placeholder}};
  cluster.growable = false;
  cluster.inter_node = {"network", {5e9, placeholder}, {5e-6, placeholder}, {1, placeholder}};
  return cluster;
}

}  // namespace sbp
