// How people call what holds memory: "val_76" is val_76 (m/layers.0/mlp/gate_proj:weight), and so in the names of
// boxing buffers, "boxing of TENSOR for OP" (memory/peak.cc), whose ops have their scope beside them.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"
#include "naming/module_names.h"

namespace sbp {

// Names that are no tensor's and no such buffer's stay as they are. Linear in the length of `name` for each " for " in
// it.
std::string BufferLabel(const Graph& graph, const NameIndex& index, const ModuleNames& names, std::string_view name);

}  // namespace sbp
