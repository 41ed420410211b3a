// The table of presets: `cluster list` prints it.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "cluster/cluster.h"
#include "cluster/presets.h"

namespace sbp {
namespace {

constexpr PresetRow kPresets[] = {
    {"8xA100-80G", "one node of 8 NVIDIA A100 80 GB, NVLink", Preset8xA100},
    {"8xH100", "one node of 8 NVIDIA H100 SXM 80 GB, NVLink and NVSwitch", Preset8xH100},
    {"8xH200", "one node of 8 NVIDIA H200 141 GB, NVLink and NVSwitch", Preset8xH200},
    {"8xB200", "one node of 8 NVIDIA B200 180 GB, NVLink and NVSwitch", Preset8xB200},
    {"72xGB200", "one node of 72 NVIDIA GB200 186 GB, an NVL72 rack", Preset72xGB200},
    {"16x8xH100", "16 nodes of 8 NVIDIA H100 SXM, 400 Gb/s InfiniBand per GPU", Preset16x8xH100},
    {"tpu-v5e-256", "a pod of 256 TPU v5e chips, 2-d torus", PresetTpuV5e256},
    {"tpu-v5p-8960", "a pod of 8960 TPU v5p chips, 3-d torus", PresetTpuV5p8960},
    {"cpu", "threads or ranks of CPUs: round numbers, replaced by calibration", PresetCpu},
};

constexpr int64_t kMostNodes = int64_t{1} << 24;

Cluster Make(const PresetRow& row) {
  Cluster cluster = row.make();
  cluster.name = std::string(row.name);
  cluster.description = std::string(row.description);
  return cluster;
}

std::string Small(std::string_view name) {
  std::string small(name);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

// The devices of a preset, in small letters: "gb200" of 72xGB200, "tpu" of tpu-v5p-8960.
std::string DevicesOf(std::string_view preset) {
  const size_t times = preset.find_first_not_of("0123456789");
  if (times != 0 && preset[times] == 'x') preset.remove_prefix(times + 1);
  if (const size_t inner = preset.find('x'); inner != std::string_view::npos) preset.remove_prefix(inner + 1);
  return Small(preset.substr(0, preset.find('-')));
}

// Presets whose devices a name speaks of, "GB200-NVL72" or "h100"; of those, the ones with the longest such word.
std::string PresetsMeant(std::string_view name, const std::vector<std::string>& known) {
  const std::string wanted = Small(name);
  std::vector<std::string> meant;
  size_t longest = 1;
  for (const std::string& preset : known) {
    const std::string devices = DevicesOf(preset);
    if (devices.size() < longest || wanted.find(devices) == std::string::npos) continue;
    if (devices.size() > longest) meant.clear();
    longest = devices.size();
    meant.push_back(Quote(preset));
  }
  return meant.empty() ? DidYouMean(name, known) : StrCat(" (did you mean ", Join(meant, " or "), "?)");
}

}  // namespace

std::span<const PresetRow> AllPresets() { return kPresets; }

void Grow(int64_t nodes, Cluster& cluster) {
  const std::string before = StrCat(cluster.num_nodes, "x"), described = StrCat(cluster.num_nodes, " nodes");
  std::string_view node = cluster.name, rest = cluster.description;
  if (cluster.num_nodes > 1 && node.starts_with(before)) node.remove_prefix(before.size());
  constexpr std::string_view kOne = "one node";
  const std::string_view count = rest.starts_with(kOne) ? kOne : std::string_view(described);
  if (rest.starts_with(count)) cluster.description = StrCat(nodes, " nodes", rest.substr(count.size()));
  cluster.name = StrCat(nodes, "x", node);
  cluster.num_nodes = nodes;
}

Result<Cluster> FindPreset(std::string_view name) {
  std::vector<std::string> known;
  for (const PresetRow& row : kPresets) {
    if (row.name == name) return Make(row);
    known.emplace_back(row.name);
  }
  const size_t times = std::min(name.find('x'), name.size());
  const std::optional<int64_t> nodes = ParseInt(name.substr(0, times));
  for (const PresetRow& row : kPresets) {
    if (times == name.size() || !nodes || *nodes < 2 || *nodes > kMostNodes) break;
    if (row.name != name.substr(times + 1)) continue;
    Cluster cluster = Make(row);
    if (!cluster.growable || cluster.num_nodes != 1) break;
    Grow(*nodes, cluster);
    return cluster;
  }
  return BadInput(
      StrCat("no cluster is called ", Quote(name), PresetsMeant(name, known), "; there are: ", Join(known, ", ")));
}

}  // namespace sbp
