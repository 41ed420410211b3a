// Segments of a training graph's forward pass: what keeps tensors for the backward pass, or computes them again, as
// one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "remat/policy.h"

namespace sbp {

struct Segment {
  std::string name;  // its scope, or "stretch.3"
  RematPolicy policy = RematPolicy::kNone;
  bool held = false, fused = false;  // see RematEntry
};

struct Segments {
  static constexpr uint32_t kNone = ~uint32_t{0};
  std::vector<Segment> all;     // in the order of their first ops
  std::vector<uint32_t> of_op;  // per op: index into `all`; kNone: of none, which keeps everything
};

// The layers: scopes of one path up to a number ("m/layers.0"), of which there are several, of at least a few ops; the
// outermost ones, unless these hold such scopes that follow one another (blocks of a stage). Where no scope says so,
// stretches of ops between tensors that alone connect what depends on parameters. What no layer holds, and the loss, is
// of no segment. Linear in operands, apart from the depth of scopes.
Segments FindLayers(const Graph& training);

// The layers with what the entries say, and a segment of its own for each scope that an entry names, the loss where it
// is named by its whole name. Error (kBadInput):
// a scope that is none of the forward pass's, with the nearest.
Result<Segments> FindSegments(const Graph& training, std::span<const RematEntry> entries);

}  // namespace sbp
