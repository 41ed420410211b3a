#include "fold/control_loop.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "fold/assumed.h"
#include "fold/cause.h"
#include "fold/pass_state.h"
#include "fold/trips.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

constexpr int64_t kMostTrips = int64_t{1} << 31;  // more mean "until the condition says stop"

// The trip count, where it is known.
std::optional<int64_t> TripCount(PassState& pass, const Op& op) {
  if (op.inputs.empty() || !op.inputs[0].valid()) return std::nullopt;
  const LiteralRef& value = pass.value(op.inputs[0]);
  pass.UseValue(op.inputs[0]);
  if (value == nullptr || value->ints.size() != 1 || value->ints[0] > kMostTrips) return std::nullopt;
  return std::max<int64_t>(value->ints[0], 0);
}

// Of a loop whose body never stops it: is it known to begin, and its number of trips one that nobody waits for?
bool RunsForever(PassState& pass, const Op& op) {
  const auto known = [&](size_t operand) {
    return op.inputs[operand].valid() ? pass.value(op.inputs[operand]) : LiteralRef();
  };
  const LiteralRef most = known(0), begins = known(1);
  const bool begins_at_all = !op.inputs[1].valid() || (begins && begins->ints.size() == 1 && begins->ints[0] != 0);
  return begins_at_all && most && most->ints.size() == 1 && most->ints[0] > kMostTrips;
}

std::vector<TensorType> TypesOf(const PassState& pass, const std::vector<TensorId>& ids, size_t first, size_t count) {
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
Result<Body> ResolveRound(PassState& pass, const Op& op, const Subgraphs& subgraphs,
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

std::vector<AssumedFlags> AssumedOf(const PassState& pass, const std::vector<TensorId>& ids) {
  std::vector<AssumedFlags> flags;
  for (const TensorId id : ids) flags.push_back(id.valid() ? pass.assumptions().dims(id) : AssumedFlags());
  return flags;
}

// The number of trips that the stated size of a result with an element a trip gives.
std::optional<int64_t> StatedTrips(const PassState& pass, const Op& op, size_t num_carried) {
  for (size_t r = num_carried; r < op.outputs.size(); ++r) {
    if (!op.outputs[r].valid()) continue;
    const TensorType stated = pass.Stated(op.outputs[r]);
    if (stated.has_rank && !stated.shape.empty() && stated.shape[0] != kUnknownDim) return stated.shape[0];
  }
  return std::nullopt;
}

// The number of trips is an operand, or follows from the condition: an input may decide it.
std::string HowToGiveTrips(const PassState& pass, const Op& op) {
  for (const TensorId id : {op.inputs[0], op.inputs[1]}) {
    if (!id.valid() || pass.value(id) != nullptr) continue;
    const Cause cause = WhyUnknown(pass, id);
    if (!cause.input.empty()) return StrCat(" (give input ", Quote(cause.input), " with --inputs)");
  }
  return "";
}

// Sizes of carried results that grow with a number of trips that is not known: what the model states, up to the bound
// where there is one.
void TakeStatedGrowth(const PassState& pass, const Op& op, const std::vector<TensorType>& start, bool bounded,
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

std::string WhatOfTrips(const PassState& pass, const Op& op, std::optional<int64_t> trips, bool grows, bool stated,
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

// The results of a loop that have an element a trip, after those that are carried; `assumed`: the number of trips is.
void AddScanned(Body& body, size_t num_carried, std::optional<int64_t> trips, bool assumed,
                std::vector<TensorType>& types, std::vector<AssumedFlags>& flags) {
  for (size_t i = num_carried; i < body.results.size(); ++i) {
    types.push_back(body.results[i]);
    types.back().shape.insert(types.back().shape.begin(), trips.value_or(1));
    flags.push_back(std::move(body.assumed[i]));
    flags.back().resize(body.results[i].shape.size());
    flags.back().insert(flags.back().begin(), assumed);
  }
}

// A condition that the body writes: true, or the one that it was given.
bool NeverStops(const Tensor& condition) {
  if (condition.role != TensorRole::kParameter) return condition.role == TensorRole::kInput;
  return condition.literal != nullptr && condition.literal->ints == std::vector<int64_t>{1};
}

}  // namespace

Result<ControlResults> ResolveLoop(PassState& pass, Op& op) {
  SBP_ASSIGN_OR_RETURN(const Subgraphs subgraphs, SubgraphsOf(pass, op));
  // Operands: trip count, condition, carried. The body takes the iteration, the condition and the carried values, and
  // gives the condition, the carried values and one element of each scan result.
  const Graph& graph = *subgraphs.graphs[0];
  if (subgraphs.graphs.size() != 1 || op.inputs.size() < 2 || subgraphs.formal != op.inputs.size() ||
      graph.outputs.size() + 1 < subgraphs.formal || op.outputs.size() + 1 > graph.outputs.size()) {
    return BadInput(StrCat(PlaceOf(pass, op), ": its body does not fit its operands and results"));
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
    exact = !most_is_assumed && NeverStops(body.graph.tensor(body.graph.outputs[0]));
    body.results.erase(body.results.begin());
    body.assumed.erase(body.assumed.begin());
    return body;
  };
  bool assumed = false;
  std::vector<TensorType> types = start;
  SBP_ASSIGN_OR_RETURN(Body body, ResolveCarried(types, most, resolve, assumed));
  if (exact && !most && RunsForever(pass, op)) {
    return BadInput(StrCat(PlaceOf(pass, op), ": it would run ", pass.value(op.inputs[0])->ints[0],
                           " times: its condition never stops it; expected at most ", kMostTrips));
  }
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
  AddScanned(body, num_carried, trips, !exact || !trips, types, flags);
  assumed = assumed || (!trips && body.results.size() > num_carried);
  WarnKeptWhole(pass, op, WhatOfTrips(pass, op, trips, assumed, stated.has_value(), exact));
  types.resize(op.outputs.size());
  flags.resize(op.outputs.size());
  std::vector<Body> bodies;
  bodies.push_back(std::move(body));
  ReplaceBodies(pass, op, subgraphs, std::move(bodies), trips.value_or(1));
  return ControlResults{std::move(types), std::move(flags)};
}

namespace {

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
Result<ScanLength> TakeElements(const PassState& pass, const Op& op, size_t num_states,
                                std::vector<TensorType>& elements, std::vector<AssumedFlags>& assumed) {
  ScanLength scan;
  for (size_t i = 0; i < elements.size(); ++i) {
    Shape& shape = elements[i].shape;
    int64_t axis = ListedAxis(*op.attributes, "scan_input_axes", i);
    if (axis < 0) axis += static_cast<int64_t>(shape.size());
    if (axis < 0 || axis >= static_cast<int64_t>(shape.size()))
      return BadInput(StrCat(PlaceOf(pass, op), ": scan axis out of range"));
    const int64_t size = shape[static_cast<size_t>(axis)];
    if (scan.length && *scan.length != size) {
      return BadInput(StrCat(PlaceOf(pass, op), ": scanned operands have ", *scan.length, " and ", size,
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

}  // namespace

Result<ControlResults> ResolveScan(PassState& pass, Op& op) {
  SBP_ASSIGN_OR_RETURN(const Subgraphs subgraphs, SubgraphsOf(pass, op));
  const int64_t scanned = op.attributes->Int("num_scan_inputs", 0);
  const auto operands = static_cast<int64_t>(op.inputs.size());
  const Graph& graph = *subgraphs.graphs[0];
  const int64_t states = operands - scanned;
  if (subgraphs.graphs.size() != 1 || scanned < 1 || states < 0 || static_cast<int64_t>(subgraphs.formal) != operands ||
      static_cast<int64_t>(graph.outputs.size()) < states || op.outputs.size() > graph.outputs.size()) {
    return BadInput(StrCat(PlaceOf(pass, op), ": its body does not fit its operands and results"));
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
      return BadInput(StrCat(PlaceOf(pass, op), ": scan axis out of range"));
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
  ReplaceBodies(pass, op, subgraphs, std::move(bodies), length.value_or(0));
  return ControlResults{std::move(types), std::move(flags)};
}

}  // namespace sbp
