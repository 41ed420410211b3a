// The table of presets: `cluster list` prints it.
#include "base/text.h"
#include "cluster/presets.h"

namespace sbp {
namespace {

constexpr PresetRow kPresets[] = {
    {"8xA100-80G", "one node of 8 NVIDIA A100 80 GB, NVLink", Preset8xA100},
    {"8xH100", "one node of 8 NVIDIA H100 SXM 80 GB, NVLink and NVSwitch", Preset8xH100},
    {"8xH200", "one node of 8 NVIDIA H200 141 GB, NVLink and NVSwitch", Preset8xH200},
    {"16x8xH100", "16 nodes of 8 NVIDIA H100 SXM, 400 Gb/s InfiniBand per GPU", Preset16x8xH100},
    {"tpu-v5e-256", "a pod of 256 TPU v5e chips, 2-d torus", PresetTpuV5e256},
    {"cpu", "threads or ranks of CPUs: round numbers, replaced by calibration", PresetCpu},
};

}  // namespace

std::span<const PresetRow> AllPresets() { return kPresets; }

Result<Cluster> FindPreset(std::string_view name) {
  std::vector<std::string> known;
  for (const PresetRow& row : kPresets) {
    if (row.name == name) {
      Cluster cluster = row.make();
      cluster.name = std::string(row.name);
      cluster.description = std::string(row.description);
      return cluster;
    }
    known.emplace_back(row.name);
  }
  return BadInput(
      StrCat("no cluster is called ", Quote(name), DidYouMean(name, known), "; there are: ", Join(known, ", ")));
}

}  // namespace sbp
