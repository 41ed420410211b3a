// The fake backend: the actors of a whole mesh in virtual time. No data moves; firings take as long as they are told
// to.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.h"
#include "runtime/actors/actor_graph.h"
#include "sbp/mesh.h"

namespace sbp {

// One firing on one device. Times in seconds from the start of the run.
struct Span {
  uint32_t device = 0;  // position in the mesh
  Firing firing;
  double start = 0, end = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

struct Timeline {
  std::vector<Span> spans;  // in the order in which they started; at one time, by device
  double seconds = 0;       // when the last one ended
};

// How long a firing takes on a device, in seconds; one that meets others takes as long as the slowest of them, from
// when the last of them has come.
using FiringSeconds = std::function<double(uint32_t device, Firing firing)>;

// Runs every firing of every device by the rule of DeviceFirings. Deterministic. Without `seconds` every firing takes
// what its actor predicts. Error (kDefect): a deadlock, with the actors that wait.
Result<Timeline> Simulate(const ActorGraph& graph, const Mesh& mesh, const FiringSeconds& seconds = {});

}  // namespace sbp
