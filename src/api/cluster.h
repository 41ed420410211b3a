// Which cluster a plan is made for.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cluster/cluster.h"
#include "sbp/mesh.h"

namespace sbp {

// What was chosen for the caller: one line, without an end of line.
using NoteSink = std::function<void(std::string_view)>;

inline constexpr std::string_view kDefaultCluster = "8xH100";

// The cluster named, or read from a file; kDefaultCluster when `name` is empty. A preset of nodes is grown by nodes
// until it holds the mesh, and named after what it became, which `note` is told. `mesh`: null where none is asked for.
// Errors (kBadInput): neither a preset nor a file, with the nearest name; another cluster that is too small for the
// mesh.
Result<Cluster> ChooseCluster(const std::string& name, const Mesh* mesh, const NoteSink& note = nullptr);

}  // namespace sbp
