#include "strategy/optimal/layout_network_builder.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "boxing/op_seconds.h"
#include "graph/families.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "plan/pins.h"
#include "problem/demands.h"
#include "problem/problem.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "search/cost_network.h"
#include "strategy/optimal/candidate_lists.h"
#include "strategy/transitions.h"

namespace sbp {
namespace {

constexpr size_t kMaxSourceLayouts = 128;  // more are cut down to those that somebody wants
constexpr size_t kMaxHubs = 48;            // that a network of chosen candidates looks at, per tensor

// Everything valid without partial sums: what an input or a parameter can start as. An accumulator starts as zeros,
// which are also parts of a sum.
void EnumerateLayouts(const TensorType& type, const Problem& problem, bool accumulates, NdSbp& layout, int axis,
                      std::vector<NdSbp>& out) {
  if (out.size() > kMaxSourceLayouts) return;
  if (axis == layout.size()) {
    if (ValidateLayout(type.shape, layout, problem.mesh, problem.even_only).ok()) out.push_back(layout);
    return;
  }
  const auto go_on = [&](Sbp sbp) {
    layout[axis] = sbp;
    EnumerateLayouts(type, problem, accumulates, layout, axis + 1, out);
  };
  go_on(Sbp::Broadcast());
  if (problem.mesh.size(axis) == 1) return;
  for (int d = 0; d < type.rank(); ++d) go_on(Sbp::Split(d));
  if (accumulates) go_on(Sbp::Partial(ReduceKind::kSum));
  layout[axis] = Sbp::Broadcast();
}

}  // namespace

Result<LayoutNetwork> LayoutNetworkBuilder::Build() && {
  result_.problem_ = &problem_;
  const Graph& graph = *problem_.graph;
  type_of_tensor_.assign(graph.tensors.size(), kNoRow);
  for (const Tie& tie : graph.ties) {
    tied_input_.emplace(tie.output, tie.input);
    tied_sources_.insert(tie.input);
    if (tie.restarts) accumulators_.insert(tie.input);
  }
  FindUnlisted();
  SBP_RETURN_IF_ERROR(AddOps());
  for (size_t t = 0; t < graph.tensors.size(); ++t) PrepareTensor(TensorId(t));
  for (const Prepared& prepared : prepared_) AddTensorNode(prepared);
  for (size_t t = 0; t < graph.tensors.size(); ++t) Connect(TensorId(t));
  const bool cuts = problem_.fusion && weights_.local > 0;
  for (size_t t = 0; cuts && t < graph.tensors.size(); ++t) AddCuts(TensorId(t));
  if (memory_limit_) AddMemory();
  network_.SetName(graph.name);
  network_.SetPlaces(std::move(places_));
  SBP_ASSIGN_OR_RETURN(result_.network_, std::move(network_).Build());
  if (!always_held_.empty()) result_.Reserve(always_held_);
  return std::move(result_);
}

// A bound is to hold for plans of candidates that were cut off a list, too, which pins reach: the relaxed network takes
// the least that any may take for such ops, and leaves out the tensors beside them.
void LayoutNetworkBuilder::FindUnlisted() {
  unlisted_.assign(problem_.graph->tensors.size(), false);
  for (size_t o = 0; o < problem_.num_ops(); ++o) {
    if (!IsUnlisted(OpId(o))) continue;
    const std::span<const TensorId> read = problem_.operands(OpId(o));
    const std::span<const TensorId> written = problem_.graph->ops[o].outputs;
    for (const std::span<const TensorId> tensors : {read, written}) {
      for (const TensorId tensor : tensors) {
        if (tensor.valid()) unlisted_[tensor.index()] = true;
      }
    }
  }
}

Status LayoutNetworkBuilder::AddOps() {
  if (lists_ != nullptr) {
    result_.lists_ = *lists_;
  } else {
    SBP_ASSIGN_OR_RETURN(result_.lists_, CandidateLists::All(problem_));
  }
  // By number of the list, weight, and how often it runs.
  std::map<std::tuple<uint32_t, double, int64_t>, int32_t> row_of_list;
  std::vector<double> costs;
  for (size_t o = 0; o < problem_.num_ops(); ++o) {
    const OpId op(o);
    const bool is_unlisted = IsUnlisted(op);
    const bool ends = !is_unlisted && HasUnreadEnd(op);  // what that takes is not shared
    const double weight = weights_.OfOp(op);
    const std::tuple key(static_cast<uint32_t>(result_.lists_.number(op)), weight, int64_t{problem_.runs.of(op)});
    const auto row = row_of_list.find(key);
    if (row != row_of_list.end() && !ends) {
      AddNode(row->second, o);
      continue;
    }
    costs.clear();
    for (const uint32_t c : result_.lists_.of(op))
      costs.push_back(weight == 0 ? 0 : weight * (is_unlisted ? LeastSeconds(op) : problem_.ComputeSeconds(op, c)));
    if (ends) AddEndsOfUnread(op, costs);
    for (double& cost : costs) cost = Finite(cost);
    const int32_t added = network_.AddCosts(costs);
    if (!ends) row_of_list.emplace(key, added);
    AddNode(added, o);
  }
  return OkStatus();
}

double LayoutNetworkBuilder::LeastSeconds(OpId op) const {
  const OpClass& op_class = problem_.class_at(op);
  const double once =
      LeastOpSeconds(*op_class.list->instance, problem_.mesh, problem_.boxing->cluster(), problem_.FusionOf(op_class));
  return once * static_cast<double>(problem_.runs.of(op));
}

std::vector<NdSbp> LayoutNetworkBuilder::LayoutsOfSource(TensorId tensor) const {
  const TensorType& type = problem_.type(tensor);
  const auto pin = problem_.pins.tensors.find(tensor);
  if (pin != problem_.pins.tensors.end()) return {pin->second.layout};
  NdSbp layout(problem_.mesh.num_axes());
  if (type.kind != ValueKind::kTensor) return {layout};
  std::vector<NdSbp> all;
  if (lists_ == nullptr) EnumerateLayouts(type, problem_, accumulators_.contains(tensor), layout, 0, all);
  if (!all.empty() && all.size() <= kMaxSourceLayouts) return all;
  // B, what its readers want, and one dimension over all axes.
  std::set<NdSbp> some = {NdSbp(problem_.mesh.num_axes())};
  if (start_ != nullptr) some.insert(start_->sources[tensor.index()]);
  const auto [begin, end] = problem_.uses.of(tensor);
  for (const Use* use = begin; use != end; ++use) {
    const SlotLayouts& slot = problem_.class_at(use->op).operands[use->operand];
    for (const uint32_t c : result_.lists_.of(use->op)) {
      const NdSbp& wanted = slot.layouts[slot.of_candidate[c]];
      if (!wanted.has_partial() || accumulators_.contains(tensor)) some.insert(wanted);
    }
  }
  for (int d = 0; d < type.rank(); ++d) {
    NdSbp split(problem_.mesh.num_axes());
    for (int axis = 0; axis < split.size(); ++axis) {
      if (problem_.mesh.size(axis) > 1) split[axis] = Sbp::Split(d);
    }
    if (ValidateLayout(type.shape, split, problem_.mesh, problem_.even_only).ok()) some.insert(split);
  }
  return {some.begin(), some.end()};
}

uint32_t LayoutNetworkBuilder::TypeOf(TensorId tensor) {
  uint32_t& known = type_of_tensor_[tensor.index()];
  if (known != kNoRow) return known;
  const TensorType& type = problem_.type(tensor);
  const BoxingWeights weights = {weights_.SentOf(tensor), weights_.SentEarlyOf(tensor), weights_.local};
  std::vector<std::pair<BoxingWeights, uint32_t>>& numbers = type_numbers_[type];
  const auto found = std::ranges::find(numbers, weights, [](const auto& entry) { return entry.first; });
  if (found != numbers.end()) return known = found->second;
  numbers.emplace_back(weights, static_cast<uint32_t>(types_.size()));
  types_.emplace_back(type, *problem_.boxing, weights);
  return known = numbers.back().second;
}

LayoutNetworkBuilder::Row LayoutNetworkBuilder::RowOf(uint32_t type, std::vector<uint32_t> layouts) {
  std::vector<uint32_t> key = layouts;
  key.push_back(type);
  const auto [entry, is_new] = row_by_key_.try_emplace(std::move(key), static_cast<Row>(rows_.size()));
  if (is_new) rows_.push_back({type, std::move(layouts)});
  return entry->second;
}

LayoutNetworkBuilder::Row LayoutNetworkBuilder::SlotRow(OpId op, Slot side, size_t slot, TensorId tensor) {
  const uint32_t type = TypeOf(tensor);
  const auto [known, is_new] =
      row_of_slot_.try_emplace({problem_.class_of[op.index()], result_.lists_.number(op), static_cast<uint32_t>(side),
                                static_cast<uint32_t>(slot), type});
  if (!is_new) return known->second;
  const OpClass& op_class = problem_.class_at(op);
  const SlotLayouts& all = side == Slot::kOperand ? op_class.operands[slot] : op_class.results[slot];
  std::vector<uint32_t> layouts;
  for (const uint32_t c : result_.lists_.of(op)) layouts.push_back(types_[type].Id(all.layouts[all.of_candidate[c]]));
  return known->second = RowOf(type, std::move(layouts));
}

const std::vector<uint32_t>& LayoutNetworkBuilder::Distinct(Row row) {
  distinct_.resize(rows_.size());
  std::vector<uint32_t>& distinct = distinct_[row];
  if (distinct.empty()) {
    for (const uint32_t layout : rows_[row].layouts) AddOnce(distinct, layout);
  }
  return distinct;
}

std::vector<LayoutNetworkBuilder::Reader> LayoutNetworkBuilder::ReadersOf(TensorId tensor) {
  std::vector<Reader> readers;
  const auto [begin, end] = problem_.uses.of(tensor);
  const uint32_t first_late = FirstLate(tensor);
  for (const Use* use = begin; use != end; ++use) {
    const int32_t node = LayoutNetwork::node_of(use->op);
    if (readers.empty() || readers.back().node != node) {
      readers.push_back({node, {}, static_cast<uint32_t>(problem_.runs.of(use->op))});
      readers.back().keeps =
          memory_limit_ && !relaxed_ && problem_.graph->type_of(problem_.graph->op(use->op)) == kRefetchOp;
      readers.back().late = use->op.value >= first_late;
      readers.back().early = weights_.IsEarly(use->op, tensor) && types_[TypeOf(tensor)].has_early() ? 1 : 0;
    }
    readers.back().rows.push_back(SlotRow(use->op, Slot::kOperand, use->operand, tensor));
  }
  const auto tie = tied_input_.find(tensor);
  if (tie != tied_input_.end() && !unlisted_[tie->second.index()]) {
    const Shared& source = shared_.at(tie->second);
    readers.push_back({source.node, {source.written}, RunsOfTie(tensor)});
  }
  const auto early = static_cast<uint32_t>(std::ranges::count(readers, 1U, &Reader::early));
  for (Reader& reader : readers) reader.early *= early;
  return readers;
}

uint32_t LayoutNetworkBuilder::RunsOfTie(TensorId output) const {
  const int64_t runs = problem_.runs.accumulates(output) ? problem_.graph->micro_batches : problem_.runs.end(output);
  return static_cast<uint32_t>(runs);
}

// How often a hub is made: as its most frequent reader runs, where it is not known which of them read it; a bound takes
// the least. The update alone boxes what an accumulator holds, which the next micro-batch adds to as it was written.
uint32_t LayoutNetworkBuilder::HubRuns(TensorId tensor) {
  if (problem_.graph->micro_batches == 1 || problem_.runs.accumulates(tensor)) return 1;
  uint32_t most = 0, least = static_cast<uint32_t>(problem_.graph->micro_batches);
  const auto count = [&](uint32_t runs) {
    most = std::max(most, runs);
    least = std::min(least, runs);
  };
  const auto [begin, end] = problem_.uses.of(tensor);
  for (const Use* use = begin; use != end; ++use) count(static_cast<uint32_t>(problem_.runs.of(use->op)));
  if (tied_input_.contains(tensor)) count(RunsOfTie(tensor));
  if (most == 0) return static_cast<uint32_t>(problem_.runs.end(tensor));
  return relaxed_ ? least : most;
}

// Sources, and whatever several read or, under a memory limit, one much later, are to have a node: which layouts play a
// part.
void LayoutNetworkBuilder::PrepareTensor(TensorId tensor) {
  if (unlisted_[tensor.index()]) return;
  const Tensor& facts = problem_.graph->tensor(tensor);
  const auto [begin, end] = problem_.uses.of(tensor);
  const auto tie = tied_input_.find(tensor);
  const bool is_tied = tie != tied_input_.end();
  const TensorPin* standing = problem_.demands.standing(tensor);
  const EndRule::Kind ends = problem_.demands.end(tensor).kind;
  const bool must_end = ends == EndRule::Kind::kWhole || ends == EndRule::Kind::kNotPartial;
  const bool is_source = !facts.producer.valid();
  const auto num_uses = static_cast<uint32_t>(end - begin);
  size_t num_readers = is_tied || must_end ? 1 : 0;
  for (const Use* use = begin; use != end; ++use) num_readers += use == begin || use->op != use[-1].op ? 1 : 0;
  const bool stands = standing != nullptr && (num_readers > 0 || problem_.is_output[tensor.index()]);
  const bool read_source = is_source && (num_readers > 0 || tied_sources_.contains(tensor));
  const bool waits = num_readers == 1 && WaitsLong(tensor);
  if (num_readers < 2 && !stands && !read_source && !waits) return;
  const uint32_t type = TypeOf(tensor);
  TypePrices& prices = types_[type];
  std::vector<uint32_t> wanted;
  if (num_readers >= 2 || waits) {
    if (is_tied) {
      for (const NdSbp& layout : LayoutsOfSource(tie->second)) AddOnce(wanted, prices.Id(layout));
    }
    if (ends == EndRule::Kind::kWhole) AddOnce(wanted, prices.Id(NdSbp(problem_.mesh.num_axes())));
    for (const Use* use = begin; use != end; ++use) {
      for (const uint32_t l : Distinct(SlotRow(use->op, Slot::kOperand, use->operand, tensor))) AddOnce(wanted, l);
      if (lists_ != nullptr && wanted.size() >= kMaxHubs) break;
    }
    // The evaluator takes hubs from all candidates of the readers, those that pins exclude too.
    if (!problem_.pins.empty() && lists_ == nullptr) {
      for (const NdSbp& layout : HubsOf(problem_, tensor)) AddOnce(wanted, prices.Id(layout));
    }
  }
  std::vector<uint32_t> written;
  if (is_source) {
    for (const NdSbp& layout : LayoutsOfSource(tensor)) written.push_back(prices.Id(layout));
  } else if (stands) {
    written = {prices.Id(standing->layout)};
  } else {
    written = Distinct(SlotRow(facts.producer, Slot::kResult, facts.producer_index, tensor));
  }
  // An op that reads the tensor twice may want two layouts.
  const uint32_t num_wants = waits ? 2 : num_readers < 2 ? 1 : num_uses + (is_tied || must_end ? 1 : 0);
  const Prepared prepared{tensor, RowOf(type, std::move(written)), RowOf(type, std::move(wanted)), num_wants};
  prepared_.push_back(prepared);
  // Prices to share are asked once all stops on the way have their numbers.
  if (!stops_known_.emplace(uint64_t{prepared.written} << 32 | prepared.wanted).second) return;
  for (const uint32_t from : rows_[prepared.written].layouts) {
    for (const uint32_t layout : rows_[prepared.wanted].layouts) {
      if (layout != from) prices.Stops(from, layout);
    }
  }
}

// One node of (how it is written, hub).
void LayoutNetworkBuilder::AddTensorNode(const Prepared& prepared) {
  const OpId producer = problem_.graph->tensor(prepared.tensor).producer;
  const auto [begin, end] = problem_.uses.of(prepared.tensor);
  const EndRule::Kind end_kind = problem_.demands.end(prepared.tensor).kind;
  const TensorStates& states =
      StatesFor(prepared.written, prepared.wanted, prepared.num_wants, end_kind, HubRuns(prepared.tensor));
  const size_t place = producer.valid() ? producer.index() : begin != end ? begin->op.index() : 0;
  const int32_t node = AddNode(states.costs, place);
  shared_.emplace(prepared.tensor, Shared{node, states.written, states.hubs, prepared.num_wants, prepared.wanted});
  result_.tensor_nodes_.push_back({prepared.tensor, node, states.layouts});
}

const LayoutNetworkBuilder::TensorStates& LayoutNetworkBuilder::StatesFor(Row written, Row wanted, uint32_t num_wants,
                                                                          EndRule::Kind end, uint32_t runs) {
  const bool shares = relaxed_ && num_wants > 2;
  const auto [known, is_new] = states_by_key_.try_emplace(
      {written, wanted, shares ? num_wants : 0, num_wants < 2 ? 1u : 0u, static_cast<uint32_t>(end), runs});
  TensorStates& states = known->second;
  if (!is_new) return states;
  const uint32_t type = rows_[written].type;
  TypePrices& prices = types_[type];
  auto layouts = std::make_shared<LayoutNetwork::States>();
  std::vector<uint32_t> state_written, state_hub;
  std::vector<double> costs;
  const auto add = [&](uint32_t from, uint32_t hub) {
    if (shares && hub != from && prices.IsLocal(from, hub)) return;
    const double seconds = prices.Seconds(from, hub);
    if (std::isinf(seconds)) return;
    state_written.push_back(from);
    state_hub.push_back(hub);
    layouts->written.push_back(prices.layout(from));
    layouts->hubs.push_back(prices.layout(hub));
    costs.push_back(runs * ((shares ? prices.SharedSeconds(from, hub, num_wants)
                                    : seconds + (hub == from ? 0 : CopySeconds(type, hub))) +
                            EndSeconds(end, type, from, hub, num_wants)));
  };
  for (const uint32_t from : rows_[written].layouts) {
    add(from, from);
    std::vector<uint32_t> hubs = rows_[wanted].layouts;
    for (const uint32_t layout : rows_[wanted].layouts) {
      if (layout == from) continue;
      for (const uint32_t stop : prices.Stops(from, layout)) AddOnce(hubs, stop);
    }
    for (const uint32_t hub : hubs) {
      if (hub != from) add(from, hub);
    }
  }
  states = {RowOf(type, std::move(state_written)), RowOf(type, std::move(state_hub)), network_.AddCosts(costs),
            std::move(layouts)};
  return states;
}

void LayoutNetworkBuilder::Connect(TensorId tensor) {
  if (unlisted_[tensor.index()]) return;
  const Tensor& facts = problem_.graph->tensor(tensor);
  const std::vector<Reader> readers = ReadersOf(tensor);
  const auto found = shared_.find(tensor);
  if (readers.empty() && found == shared_.end()) return;
  const int32_t producer = facts.producer.valid() ? LayoutNetwork::node_of(facts.producer) : -1;
  const Row produced = producer < 0 ? kNoRow : SlotRow(facts.producer, Slot::kResult, facts.producer_index, tensor);
  if (found == shared_.end()) {
    AddEdge(producer, readers[0].node, ReaderTable(produced, produced, readers[0], 1));
    return;
  }
  const Shared& shared = found->second;
  if (producer >= 0) {
    const bool stands = problem_.demands.standing(tensor) != nullptr;
    AddEdge(producer, shared.node,
            stands ? StandingTable(produced, shared.written, HubRuns(tensor)) : MatchTable(produced, shared.written));
  }
  for (const Reader& reader : readers) {
    AddEdge(shared.node, reader.node, ReaderTable(shared.written, shared.hubs, reader, shared.num_wants));
  }
}

int32_t LayoutNetworkBuilder::AddNode(int32_t costs, size_t place) {
  places_.push_back(static_cast<int32_t>(place));
  network_.nodes().push_back({.costs = costs});
  return static_cast<int32_t>(network_.nodes().size()) - 1;
}

void LayoutNetworkBuilder::AddEdge(int32_t from, int32_t to, Table table) {
  if (table.costs >= 0) network_.edges().push_back({{from, to}, table.costs, table.form});
}

}  // namespace sbp
