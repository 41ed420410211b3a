// The subgraphs of an op that is kept whole: their inputs, and what they resolve to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "fold/assumed.h"
#include "fold/pass_state.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"

namespace sbp {

// What becomes of the results of an op with subgraphs.
struct ControlResults {
  std::vector<TensorType> types;
  std::vector<AssumedFlags> assumed;  // per result: dimensions that only running decides
};

// The subgraphs of an op in the order of its attributes, and where the captures of each begin.
struct Subgraphs {
  std::vector<std::string> names;
  std::vector<std::shared_ptr<const Graph>> graphs;
  std::vector<size_t> first_capture;
  size_t formal = 0;  // inputs of each subgraph that are no captures
};

std::string PlaceOf(const PassState& pass, const Op& op);  // for messages
// Errors: graphs that do not agree with the op (documents of other tools may say anything).
Result<Subgraphs> SubgraphsOf(const PassState& pass, const Op& op);

// A resolved body, with the captures that it still reads.
struct Body {
  Graph graph;
  std::vector<TensorId> captures;  // of the outer graph
  std::vector<TensorType> results;
  std::vector<AssumedFlags> assumed;  // dimensions of the results
};

// Resolves subgraph `index` whose formal inputs have these types, dimensions of which may be assumed.
Result<Body> ResolveBody(PassState& pass, const Op& op, const Subgraphs& subgraphs, size_t index,
                         const std::vector<TensorType>& formal, const std::vector<AssumedFlags>& assumed);

// Puts the resolved bodies into the op, and what they cost: of several the dearest one, run `trips` times.
void ReplaceBodies(PassState& pass, Op& op, const Subgraphs& subgraphs, std::vector<Body> bodies, int64_t trips);

void WarnKeptWhole(PassState& pass, const Op& op, std::string_view why);

// What is assumed in either.
void Merge(AssumedFlags& flags, const AssumedFlags& more);
// The dimensions in which two types differ; all where the ranks do.
AssumedFlags Differences(const TensorType& a, const TensorType& b);

}  // namespace sbp
