#include "fold/subgraphs.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

#include "base/ids.h"
#include "base/text.h"
#include "fold/assumed.h"
#include "fold/body_work.h"
#include "fold/context.h"
#include "fold/prune.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"

namespace sbp {

std::string PlaceOf(const PassState& pass, const Op& op) {
  return StrCat("op ", Quote(op.name), " (", pass.graph().type_of(op), ")");
}

Result<Subgraphs> SubgraphsOf(const PassState& pass, const Op& op) {
  Subgraphs subgraphs;
  size_t inputs = 0;
  for (const auto& [name, value] : op.attributes->entries()) {
    const auto* graph = std::get_if<std::shared_ptr<const Graph>>(&value);
    if (graph == nullptr) continue;
    subgraphs.names.push_back(name);
    subgraphs.graphs.push_back(*graph);
    inputs += (*graph)->inputs.size();
  }
  const size_t count = subgraphs.graphs.size();
  if (inputs < op.captures.size() || (inputs - op.captures.size()) % count != 0) {
    return BadInput(StrCat(PlaceOf(pass, op), ": its subgraphs have ", inputs, " inputs, which do not fit ",
                           op.captures.size(), " captures"));
  }
  subgraphs.formal = (inputs - op.captures.size()) / count;
  size_t next = 0;
  for (const auto& graph : subgraphs.graphs) {
    if (graph->inputs.size() < subgraphs.formal)
      return BadInput(StrCat(PlaceOf(pass, op), ": a subgraph lacks inputs"));
    subgraphs.first_capture.push_back(next);
    next += graph->inputs.size() - subgraphs.formal;
  }
  return subgraphs;
}

Result<Body> ResolveBody(PassState& pass, const Op& op, const Subgraphs& subgraphs, size_t index,
                         const std::vector<TensorType>& formal, const std::vector<AssumedFlags>& assumed) {
  FoldContext& context = pass.context();
  if (context.depth >= kMaxSubgraphDepth) return BadInput("subgraphs nest too deeply");
  Graph graph = *subgraphs.graphs[index];
  std::vector<LiteralRef> values(graph.inputs.size());
  std::vector<TensorId> sources(graph.inputs.size());
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    Tensor& tensor = graph.tensor(graph.inputs[i]);
    if (i < subgraphs.formal) {
      tensor.type = formal[i];
    } else {
      sources[i] = op.captures[subgraphs.first_capture[index] + i - subgraphs.formal];
      if (!sources[i].valid()) return BadInput(StrCat(PlaceOf(pass, op), ": a capture is absent"));
      tensor.type = pass.graph().tensor(sources[i]).type;
      values[i] = pass.value(sources[i]);
    }
    tensor.symbols.clear();
  }
  std::vector<bool> droppable(graph.inputs.size(), true);
  std::fill_n(droppable.begin(), subgraphs.formal, false);
  const std::vector<TensorId> inputs = graph.inputs;
  PassState inner(context, std::move(graph));
  inner.SetOuter(pass, sources);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (values[i] != nullptr) inner.values().SetGiven(inputs[i], values[i]);
    if (i < subgraphs.formal) {
      inner.SetAssumed(inputs[i], i < assumed.size() ? assumed[i] : AssumedFlags(), {}, nullptr);
    } else {
      const Assumptions& outer = pass.assumptions();
      inner.SetAssumed(inputs[i], outer.dims(sources[i]), outer.elements(sources[i]), values[i]);
      inner.values().SetSources(inputs[i], pass.values().sources(sources[i]));
    }
  }
  ++context.depth;
  Result<Graph> resolved = context.resolve_graph(inner);
  --context.depth;
  if (!resolved.ok()) return resolved.status().WithContext(StrCat(PlaceOf(pass, op), ", ", subgraphs.names[index]));
  inner.WarnOfBounds(*resolved);
  Body body;
  body.graph = std::move(*resolved);
  for (const TensorId id : body.graph.outputs) {
    body.results.push_back(body.graph.tensor(id).type);
    body.assumed.push_back(inner.assumptions().dims(id));
  }
  const std::vector<bool> kept = Prune(body.graph, droppable);
  for (size_t i = subgraphs.formal; i < kept.size(); ++i) {
    if (kept[i]) body.captures.push_back(sources[i]);
  }
  return body;
}

void ReplaceBodies(PassState& pass, Op& op, const Subgraphs& subgraphs, std::vector<Body> bodies, int64_t trips) {
  Attributes attributes = *op.attributes;
  BodyWork most;
  for (const Body& body : bodies) {
    const BodyWork work = WorkOfGraph(pass.context(), body.graph);
    most = {std::max(most.flops, work.flops), std::max(most.bytes, work.bytes)};
  }
  attributes.Set(std::string(kBodyFlops), most.flops * static_cast<double>(trips));
  attributes.Set(std::string(kBodyBytes), most.bytes * static_cast<double>(trips));
  op.captures.clear();
  for (size_t i = 0; i < bodies.size(); ++i) {
    op.captures.insert(op.captures.end(), bodies[i].captures.begin(), bodies[i].captures.end());
    attributes.Set(subgraphs.names[i],
                   std::shared_ptr<const Graph>(std::make_shared<Graph>(std::move(bodies[i].graph))));
  }
  op.attributes = std::make_shared<const Attributes>(std::move(attributes));
}

void WarnKeptWhole(PassState& pass, const Op& op, std::string_view why) {
  pass.context().warnings.Add("subgraph kept whole and replicated", StrCat(PlaceOf(pass, op), ": ", why));
}

void Merge(AssumedFlags& flags, const AssumedFlags& more) {
  flags.resize(std::max(flags.size(), more.size()));
  for (size_t d = 0; d < more.size(); ++d) flags[d] = flags[d] || more[d];
}

AssumedFlags Differences(const TensorType& a, const TensorType& b) {
  AssumedFlags flags(std::max(a.shape.size(), b.shape.size()), a.rank() != b.rank());
  for (size_t d = 0; a.rank() == b.rank() && d < flags.size(); ++d) flags[d] = a.shape[d] != b.shape[d];
  return flags;
}

}  // namespace sbp
