#include "api/cluster.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/checked_math.h"
#include "base/text.h"
#include "io/call_files.h"
#include "io/documents.h"
#include "io/file.h"

namespace sbp {

Result<Cluster> ChooseCluster(const std::string& name, const Mesh* mesh, const NoteSink& note) {
  const std::string chosen = name.empty() ? std::string(kDefaultCluster) : name;
  auto preset = FindPreset(chosen);
  const bool is_preset = preset.ok();
  Cluster cluster;
  if (is_preset) {
    cluster = std::move(preset).value();
  } else if (chosen != "-" && !IsOfCall(chosen) && access(chosen.c_str(), R_OK) != 0) {
    return preset.status().WithContext("--cluster");  // neither a preset nor a file: the presets are the likelier wish
  } else {
    SBP_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(chosen));
    SBP_ASSIGN_OR_RETURN(cluster, ReadCluster(bytes, chosen));
  }
  if (mesh == nullptr) return cluster;
  int64_t needed = mesh->num_devices();
  for (const int64_t rank : mesh->ranks) needed = std::max(needed, rank + 1);
  if (needed <= cluster.num_devices()) return cluster;
  if (!is_preset || !cluster.growable) {
    return BadInput(StrCat("--cluster ", chosen, " has ", cluster.num_devices(), " devices; the mesh ", ToString(*mesh),
                           " needs ", needed));
  }
  Grow(CeilDiv(needed, cluster.devices_per_node), cluster);
  if (note) {
    note(StrCat("cluster ", chosen, " grown to ", cluster.num_nodes, " nodes to hold the mesh: ", cluster.name));
  }
  return cluster;
}

}  // namespace sbp
