// What pictures of training steps say besides (graph/phases.h, graph/kept.h).
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "plan/plan.h"

namespace sbp {

// "peak = parameters 2.10 MB + ..."; "" for other plans.
std::string PeakParts(const Plan& plan);
// Per tensor: bytes that each device keeps of it for the backward pass; of a bare graph those of the whole.
std::vector<int64_t> KeptBytesPerTensor(const Plan& plan);
// "12 states, 2.10 MB on each device": of the optimizer, that these ops read.
std::string StatesLine(const Plan& plan, std::span<const uint32_t> ops);

// Outputs that are drawn as one: hundreds of updated parameters or gradients say nothing singly. And what it is called.
std::set<TensorId> MergedOutputs(const Plan& plan, bool training);
std::string_view MergedTitle(const Plan& plan, bool training);

// Scopes of the ops as a picture frames them: "forward/..." beside "backward/..." and "optimizer/..."; what the vjp of
// one forward op became has a level of its own, named as the end of that op's name, and so has the sum of a tensor's
// cotangents, where they are several ops.
struct FramedScope {
  std::string path;
  bool is_vjp = false;
};
// `scopes`: of each op, as AdoptScopes has it.
std::vector<FramedScope> FrameScopes(const Graph& graph, std::span<const std::string_view> scopes);

}  // namespace sbp
