// The presets behind the table in all_presets.cc, one file a vendor.
#pragma once

#include "cluster/cluster.h"

namespace sbp {

Cluster Preset8xA100();      // preset_nvidia.cc
Cluster Preset8xH100();      // preset_nvidia.cc
Cluster Preset8xH200();      // preset_nvidia.cc
Cluster Preset8xB200();      // preset_nvidia.cc
Cluster Preset72xGB200();    // preset_nvidia.cc
Cluster Preset16x8xH100();   // preset_nvidia.cc
Cluster PresetTpuV5e256();   // preset_tpu.cc
Cluster PresetTpuV5p8960();  // preset_tpu.cc
Cluster PresetCpu();         // preset_cpu.cc

}  // namespace sbp
