#include "fold/control.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/checked_math.h"
#include "base/text.h"
#include "fold/body_work.h"
#include "fold/prune.h"
#include "fold/trips.h"

namespace sbp {
namespace {

// The subgraphs of an op in the order of its attributes, and where the captures of each begin.
struct Subgraphs {
  std::vector<std::string> names;
  std::vector<std::shared_ptr<const Graph>> graphs;
  std::vector<size_t> first_capture;
  size_t formal = 0;  // inputs of each subgraph that are no captures
};

std::string Place(const ForwardPass& pass, const Op& op) {
  return StrCat("op ", Quote(op.name), " (", pass.graph().type_of(op), ")");
}

// Errors: graphs that do not agree with the op (documents of other tools may say anything).
Result<Subgraphs> SubgraphsOf(const ForwardPass& pass, const Op& op) {
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
    return BadInput(StrCat(Place(pass, op), ": its subgraphs have ", inputs, " inputs, which do not fit ",
                           op.captures.size(), " captures"));
  }
  subgraphs.formal = (inputs - op.captures.size()) / count;
  size_t next = 0;
  for (const auto& graph : subgraphs.graphs) {
    if (graph->inputs.size() < subgraphs.formal) return BadInput(StrCat(Place(pass, op), ": a subgraph lacks inputs"));
    subgraphs.first_capture.push_back(next);
    next += graph->inputs.size() - subgraphs.formal;
  }
  return subgraphs;
}

// A resolved body, with the captures that it still reads.
struct Body {
  Graph graph;
  std::vector<TensorId> captures;  // of the outer graph
  std::vector<TensorType> results;
  std::vector<AssumedFlags> assumed;  // dimensions of the results
};

// Resolves subgraph `index` whose formal inputs have these types, dimensions of which may be assumed.
Result<Body> ResolveBody(ForwardPass& pass, const Op& op, const Subgraphs& subgraphs, size_t index,
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
      if (!sources[i].valid()) return BadInput(StrCat(Place(pass, op), ": a capture is absent"));
      tensor.type = pass.graph().tensor(sources[i]).type;
      values[i] = pass.value(sources[i]);
    }
    tensor.symbols.clear();
  }
  std::vector<bool> droppable(graph.inputs.size(), true);
  std::fill_n(droppable.begin(), subgraphs.formal, false);
  const std::vector<TensorId> inputs = graph.inputs;
  ForwardPass inner(context, std::move(graph));
  inner.SetOuter(pass, sources);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (values[i] != nullptr) inner.SetValue(inputs[i], values[i]);
    if (i < subgraphs.formal) {
      inner.SetAssumed(inputs[i], i < assumed.size() ? assumed[i] : AssumedFlags(), {}, nullptr);
    } else {
      const Assumptions& outer = pass.assumptions();
      inner.SetAssumed(inputs[i], outer.dims(sources[i]), outer.elements(sources[i]), values[i]);
    }
  }
  ++context.depth;
  Result<Graph> resolved = inner.Run();
  --context.depth;
  if (!resolved.ok()) return resolved.status().WithContext(StrCat(Place(pass, op), ", ", subgraphs.names[index]));
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

// Puts the resolved bodies into the op, and what they cost: of several the dearest one, run `trips` times.
void Replace(ForwardPass& pass, Op& op, const Subgraphs& subgraphs, std::vector<Body> bodies, int64_t trips) {
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

void WarnKeptWhole(ForwardPass& pass, const Op& op, std::string_view why) {
  pass.context().warnings.Add("subgraph kept whole and replicated", StrCat(Place(pass, op), ": ", why));
}

// If: both branches. ---------------------------------------------------------------------------------------------

// Sizes that hold either result. Results of different rank: the one that the model states, else the larger one.
TensorType Join(const TensorType& a, const TensorType& b, const TensorType& stated) {
  if (a == b) return a;
  if (a.rank() != b.rank()) {
    if (stated.has_rank && stated.rank() == a.rank()) return a;
    if (stated.has_rank && stated.rank() == b.rank()) return b;
    return a.num_elements() >= b.num_elements() ? a : b;
  }
  TensorType joined = a;
  const bool says = stated.has_rank && stated.rank() == a.rank();
  for (size_t d = 0; d < joined.shape.size(); ++d) {
    const int64_t bound = std::max(a.shape[d], b.shape[d]);
    const bool within = says && a.shape[d] != b.shape[d] && stated.shape[d] != kUnknownDim && stated.shape[d] < bound;
    joined.shape[d] = within ? stated.shape[d] : bound;
  }
  return joined;
}

void Merge(AssumedFlags& flags, const AssumedFlags& more) {
  flags.resize(std::max(flags.size(), more.size()));
  for (size_t d = 0; d < more.size(); ++d) flags[d] = flags[d] || more[d];
}

// The dimensions in which two types differ; all where the ranks do.
AssumedFlags Differences(const TensorType& a, const TensorType& b) {
  AssumedFlags flags(std::max(a.shape.size(), b.shape.size()), a.rank() != b.rank());
  for (size_t d = 0; a.rank() == b.rank() && d < flags.size(); ++d) flags[d] = a.shape[d] != b.shape[d];
  return flags;
}

Result<ControlResults> ResolveIf(ForwardPass& pass, Op& op) {
  SBP_ASSIGN_OR_RETURN(const Subgraphs subgraphs, SubgraphsOf(pass, op));
  if (subgraphs.graphs.size() != 2 || subgraphs.formal != 0)
    return BadInput(StrCat(Place(pass, op), ": needs two branches without inputs"));
  std::vector<Body> bodies;
  std::vector<bool> good;
  Status failure;
  for (size_t i = 0; i < 2; ++i) {
    if (subgraphs.graphs[i]->outputs.size() < op.outputs.size())
      return BadInput(StrCat(Place(pass, op), ": a branch lacks results"));
    Result<Body> body = ResolveBody(pass, op, subgraphs, i, {}, {});
    good.push_back(body.ok());
    if (!body.ok()) failure = body.status();
    bodies.push_back(body.ok() ? std::move(*body) : Body());
  }
  if (!good[0] && !good[1]) return failure;
  if (!good[0] || !good[1]) {
    // A branch whose shapes cannot be is never taken: exporters guard by conditions that only running decides.
    const size_t taken = good[0] ? 0 : 1;
    WarnKeptWhole(pass, op,
                  StrCat("its condition is not known, and only ", subgraphs.names[taken], " has shapes that fit (",
                         failure.message(), ")"));
    bodies[1 - taken].results = bodies[taken].results;
    bodies[1 - taken].assumed = bodies[taken].assumed;
    bodies[1 - taken].graph = bodies[taken].graph;
    bodies[1 - taken].captures = bodies[taken].captures;
  } else {
    WarnKeptWhole(pass, op, "its condition is not known before it runs");
  }
  ControlResults results{std::vector<TensorType>(op.outputs.size()), std::vector<AssumedFlags>(op.outputs.size())};
  for (size_t r = 0; r < op.outputs.size(); ++r) {
    if (!op.outputs[r].valid()) continue;
    const TensorType &a = bodies[0].results[r], &b = bodies[1].results[r];
    results.types[r] = Join(a, b, pass.Stated(op.outputs[r]));
    results.assumed[r] = Differences(a, b);
    for (const Body& body : bodies) Merge(results.assumed[r], body.assumed[r]);
    results.assumed[r].resize(results.types[r].shape.size());
  }
  Replace(pass, op, subgraphs, std::move(bodies), 1);
  return results;
}

// Loop and Scan. ---------------------------------------------------------------------------------------------------

constexpr int64_t kMostTrips = int64_t{1} << 31;  // more mean "until the condition says stop"

// The trip count, where it is known.
std::optional<int64_t> TripCount(const ForwardPass& pass, const Op& op) {
  if (op.inputs.empty() || !op.inputs[0].valid()) return std::nullopt;
  const LiteralRef& value = pass.value(op.inputs[0]);
  if (value == nullptr || value->ints.size() != 1 || value->ints[0] > kMostTrips) return std::nullopt;
  return std::max<int64_t>(value->ints[0], 0);
}

std::vector<TensorType> TypesOf(const ForwardPass& pass, const std::vector<TensorId>& ids, size_t first, size_t count) {
  std::vector<TensorType> types;
  for (size_t i = first; i < first + count; ++i) {
    types.push_back(ids[i].valid() ? pass.graph().tensor(ids[i]).type : TensorType{});
  }
  return types;
}

// What carried values become: `growth` per dimension and trip.
struct Growth {
  bool regular = true;
  bool any = false;
  std::vector<TensorType> At(const std::vector<TensorType>& start, const std::vector<TensorType>& next,
                             int64_t steps) const {
    std::vector<TensorType> types = start;
    for (size_t i = 0; i < types.size(); ++i) {
      for (size_t d = 0; d < types[i].shape.size(); ++d) {
        const int64_t grown = next[i].shape[d] - start[i].shape[d];
        if (grown > 0) types[i].shape[d] = SaturatingAdd(types[i].shape[d], SaturatingMul(grown, steps));
      }
    }
    return types;
  }
};

Growth Compare(const std::vector<TensorType>& a, const std::vector<TensorType>& b) {
  Growth growth;
  for (size_t i = 0; i < a.size(); ++i) {
    growth.any = growth.any || a[i] != b[i];
    growth.regular = growth.regular && a[i].rank() == b[i].rank();
  }
  return growth;
}

// Runs `resolve(carried types)` until the types that come out are those that went in, or grow alike with each trip;
// then for the last trip. Returns its body; `carried` becomes the types after the last trip.
template <typename Resolve>
Result<Body> ResolveCarried(std::vector<TensorType>& carried, std::optional<int64_t> trips, const Resolve& resolve,
                            bool& assumed) {
  const size_t count = carried.size();
  const auto results = [&](const Body& body) {
    return std::vector<TensorType>(body.results.begin(), body.results.begin() + static_cast<int64_t>(count));
  };
  SBP_ASSIGN_OR_RETURN(Body first, resolve(carried));
  const std::vector<TensorType> after_first = results(first);
  if (after_first == carried || (trips && *trips <= 1)) {
    if (!trips || *trips > 0) carried = after_first;
    return first;
  }
  SBP_ASSIGN_OR_RETURN(Body second, resolve(after_first));
  const std::vector<TensorType> after_second = results(second);
  const Growth growth = Compare(after_first, after_second);
  if (!growth.any || !growth.regular || !trips) {
    assumed = growth.any;
    carried = after_second;
    return second;
  }
  SBP_ASSIGN_OR_RETURN(Body last, resolve(growth.At(after_first, after_second, *trips - 2)));
  carried = results(last);
  return last;
}

// What the body's inputs are in one round, and which of their dimensions are assumed.
struct Round {
  std::vector<TensorType> types;
  std::vector<AssumedFlags> assumed;
};

// Resolves the body in a round. `start` are the first values carried, which stand among its inputs from `first` on and
// among its results from `result` on. Sizes that change from round to round are assumed in all of them, and what the
// body makes of them.
Result<Body> ResolveRound(ForwardPass& pass, const Op& op, const Subgraphs& subgraphs,
                          const std::vector<TensorType>& start, size_t first, size_t result, Round& round) {
  for (size_t i = 0; i < start.size(); ++i)
    Merge(round.assumed[first + i], Differences(start[i], round.types[first + i]));
  for (;;) {
    SBP_ASSIGN_OR_RETURN(Body body, ResolveBody(pass, op, subgraphs, 0, round.types, round.assumed));
    bool grows = false;
    for (size_t i = 0; i < start.size(); ++i) {
      const AssumedFlags before = round.assumed[first + i];
      Merge(round.assumed[first + i], body.assumed[result + i]);
      grows = grows || std::ranges::count(before, true) < std::ranges::count(round.assumed[first + i], true);
    }
    if (!grows) return body;
  }
}

std::vector<AssumedFlags> AssumedOf(const ForwardPass& pass, const std::vector<TensorId>& ids) {
  std::vector<AssumedFlags> flags;
  for (const TensorId id : ids) flags.push_back(id.valid() ? pass.assumptions().dims(id) : AssumedFlags());
  return flags;
}

// The number of trips that the stated size of a result with an element a trip gives.
std::optional<int64_t> StatedTrips(const ForwardPass& pass, const Op& op, size_t num_carried) {
  for (size_t r = num_carried; r < op.outputs.size(); ++r) {
    if (!op.outputs[r].valid()) continue;
    const TensorType stated = pass.Stated(op.outputs[r]);
    if (stated.has_rank && !stated.shape.empty() && stated.shape[0] != kUnknownDim) return stated.shape[0];
  }
  return std::nullopt;
}

// The number of trips is an operand, or follows from the condition: an input may decide it.
std::string HowToGiveTrips(const ForwardPass& pass, const Op& op) {
  for (const TensorId id : {op.inputs[0], op.inputs[1]}) {
    if (!id.valid() || pass.value(id) != nullptr) continue;
    const Cause cause = pass.WhyUnknown(id);
    if (!cause.input.empty()) return StrCat(" (give input ", Quote(cause.input), " with --inputs)");
  }
  return "";
}

// Sizes of carried results that grow with a number of trips that is not known: what the model states, up to the bound
// where there is one.
void TakeStatedGrowth(const ForwardPass& pass, const Op& op, const std::vector<TensorType>& start, bool bounded,
                      std::vector<TensorType>& types) {
  for (size_t i = 0; i < start.size() && i < op.outputs.size(); ++i) {
    if (!op.outputs[i].valid() || start[i].rank() != types[i].rank()) continue;
    const TensorType stated = pass.Stated(op.outputs[i]);
    if (!stated.has_rank || stated.rank() != types[i].rank()) continue;
    for (size_t d = 0; d < types[i].shape.size(); ++d) {
      const int64_t size = stated.shape[d];
      if (size == kUnknownDim || types[i].shape[d] == start[i].shape[d]) continue;
      if (!bounded || size < types[i].shape[d]) types[i].shape[d] = size;
    }
  }
}

TensorType Scalar(DType dtype) {
  TensorType type;
  type.dtype = dtype;
  return type;
}

std::string WhatOfTrips(const ForwardPass& pass, const Op& op, std::optional<int64_t> trips, bool grows, bool stated,
                        bool exact) {
  if (grows) {
    return StrCat(
        "its number of trips is not known: results that grow with it are sized for one, and it is priced as one",
        HowToGiveTrips(pass, op));
  }
  if (!trips) return "its number of trips is not known: it is priced as one";
  if (stated) return StrCat("its number of trips is not known: ", *trips, ", as its results are stated");
  return exact ? StrCat(*trips, " trips") : StrCat("at most ", *trips, " trips; sizes are those after the last one");
}

Result<ControlResults> ResolveLoop(ForwardPass& pass, Op& op) {
  SBP_ASSIGN_OR_RETURN(const Subgraphs subgraphs, SubgraphsOf(pass, op));
  // Operands: trip count, condition, carried. The body takes the iteration, the condition and the carried values, and
  // gives the condition, the carried values and one element of each scan result.
  const Graph& graph = *subgraphs.graphs[0];
  if (subgraphs.graphs.size() != 1 || op.inputs.size() < 2 || subgraphs.formal != op.inputs.size() ||
      graph.outputs.size() + 1 < subgraphs.formal || op.outputs.size() + 1 > graph.outputs.size()) {
    return BadInput(StrCat(Place(pass, op), ": its body does not fit its operands and results"));
  }
  const size_t num_carried = op.inputs.size() - 2;
  const std::vector<TensorType> start = TypesOf(pass, op.inputs, 2, num_carried);
  const std::optional<int64_t> most = TripCount(pass, op);
  const bool most_is_assumed = op.inputs[0].valid() && pass.assumptions().Touches(op.inputs[0]);
  bool exact = false;
  Round round{{}, AssumedOf(pass, op.inputs)};
  const auto resolve = [&](const std::vector<TensorType>& types) -> Result<Body> {
    round.types = {Scalar(DType::kI64), Scalar(DType::kBool)};
    round.types.insert(round.types.end(), types.begin(), types.end());
    SBP_ASSIGN_OR_RETURN(Body body, ResolveRound(pass, op, subgraphs, start, 2, 1, round));
    const Tensor& condition = body.graph.tensor(body.graph.outputs[0]);
    exact = !most_is_assumed && ((condition.role != TensorRole::kActivation && condition.literal != nullptr &&
                                  condition.literal->ints == std::vector<int64_t>{1}) ||
                                 condition.role == TensorRole::kInput);
    body.results.erase(body.results.begin());
    body.assumed.erase(body.assumed.begin());
    return body;
  };
  bool assumed = false;
  std::vector<TensorType> types = start;
  SBP_ASSIGN_OR_RETURN(Body body, ResolveCarried(types, most, resolve, assumed));
  std::optional<int64_t> trips = most;
  const bool touches = pass.assumptions().TouchesAny(op.inputs) || pass.assumptions().TouchesAny(op.captures);
  const std::optional<int64_t> counted =
      exact || touches ? std::nullopt : CountTrips(pass, op, graph, subgraphs.first_capture[0], most);
  const std::optional<int64_t> stated = counted || (exact && most) ? std::nullopt : StatedTrips(pass, op, num_carried);
  const std::optional<int64_t> better = counted ? counted : stated;
  if (better && (!most || *better < *most)) {
    trips = better;
    types = start;
    assumed = false;
    SBP_ASSIGN_OR_RETURN(body, ResolveCarried(types, trips, resolve, assumed));
  }
  exact = exact || counted;
  if (!exact || !trips) TakeStatedGrowth(pass, op, start, trips.has_value(), types);
  std::vector<AssumedFlags> flags(round.assumed.begin() + 2, round.assumed.end());
  for (size_t i = num_carried; i < body.results.size(); ++i) {
    types.push_back(body.results[i]);
    types.back().shape.insert(types.back().shape.begin(), trips.value_or(1));
    flags.push_back(std::move(body.assumed[i]));
    flags.back().resize(body.results[i].shape.size());
    flags.back().insert(flags.back().begin(), !exact || !trips);
  }
  assumed = assumed || (!trips && body.results.size() > num_carried);
  WarnKeptWhole(pass, op, WhatOfTrips(pass, op, trips, assumed, stated.has_value(), exact));
  types.resize(op.outputs.size());
  flags.resize(op.outputs.size());
  std::vector<Body> bodies;
  bodies.push_back(std::move(body));
  Replace(pass, op, subgraphs, std::move(bodies), trips.value_or(1));
  return ControlResults{std::move(types), std::move(flags)};
}

int64_t ListedAxis(const Attributes& attributes, std::string_view name, size_t index) {
  const std::vector<int64_t>* axes = attributes.Ints(name);
  return axes != nullptr && index < axes->size() ? (*axes)[index] : 0;
}

struct ScanLength {
  std::optional<int64_t> length;
  bool is_assumed = false;
};

// `elements`: the types of the scanned operands, which follow `num_states` others; they and the assumed dimensions lose
// their scan axes.
Result<ScanLength> TakeElements(const ForwardPass& pass, const Op& op, size_t num_states,
                                std::vector<TensorType>& elements, std::vector<AssumedFlags>& assumed) {
  ScanLength scan;
  for (size_t i = 0; i < elements.size(); ++i) {
    Shape& shape = elements[i].shape;
    int64_t axis = ListedAxis(*op.attributes, "scan_input_axes", i);
    if (axis < 0) axis += static_cast<int64_t>(shape.size());
    if (axis < 0 || axis >= static_cast<int64_t>(shape.size()))
      return BadInput(StrCat(Place(pass, op), ": scan axis out of range"));
    const int64_t size = shape[static_cast<size_t>(axis)];
    if (scan.length && *scan.length != size) {
      return BadInput(StrCat(Place(pass, op), ": scanned operands have ", *scan.length, " and ", size,
                             " elements along their scan axes"));
    }
    scan.length = size;
    shape.erase(shape.begin() + axis);
    AssumedFlags& flags = assumed[num_states + i];
    if (flags.empty()) continue;
    scan.is_assumed = scan.is_assumed || flags[static_cast<size_t>(axis)];
    flags.erase(flags.begin() + axis);
  }
  return scan;
}

Result<ControlResults> ResolveScan(ForwardPass& pass, Op& op) {
  SBP_ASSIGN_OR_RETURN(const Subgraphs subgraphs, SubgraphsOf(pass, op));
  const int64_t scanned = op.attributes->Int("num_scan_inputs", 0);
  const auto operands = static_cast<int64_t>(op.inputs.size());
  const Graph& graph = *subgraphs.graphs[0];
  const int64_t states = operands - scanned;
  if (subgraphs.graphs.size() != 1 || scanned < 1 || states < 0 || static_cast<int64_t>(subgraphs.formal) != operands ||
      static_cast<int64_t>(graph.outputs.size()) < states || op.outputs.size() > graph.outputs.size()) {
    return BadInput(StrCat(Place(pass, op), ": its body does not fit its operands and results"));
  }
  const auto num_states = static_cast<size_t>(states);
  std::vector<TensorType> elements = TypesOf(pass, op.inputs, num_states, static_cast<size_t>(scanned));
  Round round{{}, AssumedOf(pass, op.inputs)};
  SBP_ASSIGN_OR_RETURN(const ScanLength scan, TakeElements(pass, op, num_states, elements, round.assumed));
  const std::optional<int64_t> length = scan.length;
  const std::vector<TensorType> start = TypesOf(pass, op.inputs, 0, num_states);
  const auto resolve = [&](const std::vector<TensorType>& types) {
    round.types = types;
    round.types.insert(round.types.end(), elements.begin(), elements.end());
    return ResolveRound(pass, op, subgraphs, start, 0, 0, round);
  };
  std::vector<TensorType> types = start;
  bool assumed = false;
  SBP_ASSIGN_OR_RETURN(Body body, ResolveCarried(types, length, resolve, assumed));
  std::vector<AssumedFlags> flags(round.assumed.begin(), round.assumed.begin() + states);
  for (size_t i = num_states; i < body.results.size(); ++i) {
    types.push_back(body.results[i]);
    Shape& shape = types.back().shape;
    int64_t axis = ListedAxis(*op.attributes, "scan_output_axes", i - num_states);
    if (axis < 0) axis += static_cast<int64_t>(shape.size()) + 1;
    if (axis < 0 || axis > static_cast<int64_t>(shape.size()))
      return BadInput(StrCat(Place(pass, op), ": scan axis out of range"));
    shape.insert(shape.begin() + axis, length.value_or(0));
    flags.push_back(std::move(body.assumed[i]));
    flags.back().resize(shape.size() - 1);
    flags.back().insert(flags.back().begin() + axis, scan.is_assumed);
  }
  WarnKeptWhole(pass, op, StrCat(length.value_or(0), " steps"));
  types.resize(op.outputs.size());
  flags.resize(op.outputs.size());
  std::vector<Body> bodies;
  bodies.push_back(std::move(body));
  Replace(pass, op, subgraphs, std::move(bodies), length.value_or(0));
  return ControlResults{std::move(types), std::move(flags)};
}

// Any other op with subgraphs: only the file can say what it gives.
Result<ControlResults> TakeStated(ForwardPass& pass, Op& op) {
  std::vector<TensorType> types(op.outputs.size());
  for (size_t r = 0; r < types.size(); ++r) {
    if (!op.outputs[r].valid()) continue;
    types[r] = pass.Stated(op.outputs[r]);
    if (!types[r].is_static()) {
      return BadInput(StrCat(Place(pass, op), ": the model does not state the shape of its result ",
                             Quote(pass.graph().tensor(op.outputs[r]).name)));
    }
  }
  WarnKeptWhole(pass, op, "its results are taken as the model states them");
  return ControlResults{std::move(types), std::vector<AssumedFlags>(op.outputs.size())};
}

struct Row {
  std::string_view op;
  Result<ControlResults> (*resolve)(ForwardPass& pass, Op& op);
};
constexpr Row kControlOps[] = {{"If", ResolveIf}, {"Loop", ResolveLoop}, {"Scan", ResolveScan}};

}  // namespace

Result<std::optional<KnownBranch>> FindKnownBranch(const ForwardPass& pass, const Op& op) {
  if (op.inputs.empty() || !op.inputs[0].valid()) return BadInput(StrCat(Place(pass, op), ": needs a condition"));
  const LiteralRef condition = pass.known_value(op.inputs[0]);
  if (condition == nullptr || condition->ints.size() != 1) return std::optional<KnownBranch>();
  SBP_ASSIGN_OR_RETURN(const Subgraphs subgraphs, SubgraphsOf(pass, op));
  const std::string_view name = condition->ints[0] != 0 ? "then_branch" : "else_branch";
  const auto found = std::ranges::find(subgraphs.names, name);
  if (found == subgraphs.names.end() || subgraphs.formal != 0)
    return BadInput(StrCat(Place(pass, op), ": needs ", name));
  const auto index = static_cast<size_t>(found - subgraphs.names.begin());
  if (subgraphs.graphs[index]->outputs.size() < op.outputs.size())
    return BadInput(StrCat(Place(pass, op), ": ", name, " lacks results"));
  return std::optional(KnownBranch{subgraphs.graphs[index], subgraphs.first_capture[index]});
}

Result<ControlResults> ResolveControl(ForwardPass& pass, Op& op) {
  for (const Row& row : kControlOps) {
    if (row.op == pass.graph().type_of(op)) return row.resolve(pass, op);
  }
  return TakeStated(pass, op);
}

}  // namespace sbp
