// Rows that are sorted by their numbers, computed each for itself and put back, in the order in which they come: to
// sort takes all rows on all devices, and a grouped product has no need of it. This is how grouped products of experts
// are exported: sort, gather, products, gather by the inverse order.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "simplify/elementwise.h"
#include "simplify/expert_loop.h"
#include "simplify/graph_edit.h"
#include "simplify/moves.h"
#include "simplify/simplify.h"
#include "simplify/sorted_groups.h"
#include "simplify/view.h"

namespace sbp::simplify {
namespace {

constexpr size_t kMostFollowed = 256;  // ops behind one sort

// What a tensor is to the sort. The order is that in which the sort takes the rows.
enum class Kind : uint8_t {
  kOrder,    // the order, [rows] or [rows, 1]
  kRest,     // of the order, divided by `times`
  kWhole,    // the order without that
  kSource,   // the order divided by `times`, rounded down
  kInverse,  // where each row was put
  kRows,     // rows in that order, by the first dimension
};
struct Value {
  Kind kind = Kind::kRows;
  int64_t times = 0;
};

// How the rows come out of one sort and go back. What is to be done: entries, exits, numbers.
struct Sorted {
  size_t sort = 0;
  int64_t rows = 0;
  TensorId numbers, sorted;
  std::map<TensorId, Value> values;
  std::vector<std::pair<size_t, int64_t>> entries;  // Gather, and how many rows each row of its data becomes
  std::vector<size_t> exits;                        // Gather
  std::set<TensorId> groups;                        // the sorted numbers, counted again
};

class RowUnsorter {
 public:
  RowUnsorter(Graph& graph, const std::vector<bool>& computed)
      : edit_(graph), graph_(graph), computed_(computed), uses_(BuildUses(graph)) {}

  bool Run() {
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      if (std::optional<Sorted> sorted = Follow(o)) Rewrite(*sorted);
    }
    edit_.Finish();
    return edit_.changed();
  }

 private:
  const Shape& ShapeOf(TensorId id) const { return graph_.tensor(id).type.shape; }
  bool Known(TensorId id) const { return id.index() >= computed_.size() || !computed_[id.index()]; }

  // A sort of all numbers, ascending, whose order leads to rows that are put back.
  std::optional<Sorted> Follow(size_t o) const {
    const Op& op = graph_.ops[o];
    if (!SortsAscending(op) || !op.signature_pin.empty()) return std::nullopt;
    Sorted s{.sort = o, .rows = ShapeOf(op.inputs[0])[0], .numbers = op.inputs[0], .sorted = op.outputs[0]};
    if (s.rows < 2 || !IsInteger(graph_.tensor(s.numbers).type.dtype)) return std::nullopt;
    std::set<uint32_t> todo;  // ops by number, so that what they read is known
    const auto add = [&](TensorId id, Value value) {
      if (!id.valid()) return true;
      if (edit_.IsKept(id) || !Known(id)) return false;
      s.values[id] = value;
      const auto [begin, end] = uses_.of(id);
      for (const Use* use = begin; use != end; ++use) todo.insert(use->op.index());
      return true;
    };
    if (!add(op.outputs[0], {Kind::kRows}) || !add(op.outputs[1], {Kind::kOrder})) return std::nullopt;
    for (size_t count = 0; !todo.empty(); ++count) {
      const uint32_t next = *todo.begin();
      todo.erase(todo.begin());
      const Op& reader = graph_.ops[next];
      std::optional<Value> value;
      if (count == kMostFollowed || !Take(next, s, value)) return std::nullopt;
      for (size_t r = 0; value && r < reader.outputs.size(); ++r) {
        if (!add(reader.outputs[r], *value)) return std::nullopt;
      }
    }
    return s.entries.empty() || s.exits.empty() || s.groups.empty() ? std::nullopt : std::optional(std::move(s));
  }

  bool SortsAscending(const Op& op) const {
    if (graph_.type_of(op) != "TopK" || op.inputs.size() != 2 || op.outputs.size() != 2) return false;
    const Shape& shape = ShapeOf(op.inputs[0]);
    if (shape.size() != 1 || op.attributes->Int("largest", 1) != 0 || op.attributes->Int("sorted", 1) != 1)
      return false;
    return op.outputs[0].valid() && op.outputs[1].valid() &&
           NumberOf(graph_, op.inputs[1]) == static_cast<double>(shape[0]);
  }

  const Value* Of(const Sorted& s, TensorId id) const {
    const auto found = s.values.find(id);
    return found == s.values.end() ? nullptr : &found->second;
  }
  bool Is(const Sorted& s, TensorId id, Kind kind) const {
    return id.valid() && Of(s, id) != nullptr && Of(s, id)->kind == kind;
  }

  // What an op that reads any of the values makes of them; nothing: what does not depend on the order. False: it is not
  // known.
  bool Take(size_t o, Sorted& s, std::optional<Value>& value) const {
    const Op& op = graph_.ops[o];
    const std::string_view type = graph_.type_of(op);
    if (!op.signature_pin.empty() || !op.captures.empty() || op.outputs.empty()) return false;
    if (type == "Gather") return TakeGather(o, s, value);
    if (std::ranges::any_of(op.inputs, [&](TensorId id) { return Is(s, id, Kind::kRows); })) {
      return TakeRows(op, type, s, value);
    }
    return TakeOrder(op, type, s, value);
  }

  bool TakeOrder(const Op& op, std::string_view type, const Sorted& s, std::optional<Value>& value) const {
    const TensorId first = op.inputs[0];
    const std::optional<double> number = op.inputs.size() > 1 ? NumberOf(graph_, op.inputs[1]) : std::nullopt;
    const int64_t times = number && *number >= 1 && *number <= static_cast<double>(s.rows) ? std::llround(*number) : 0;
    const bool divides = times > 0 && s.rows % times == 0 && static_cast<double>(times) == *number;
    if (type == "Cast" || type == "Unsqueeze" || type == "Reshape" || (type == "Concat" && op.inputs.size() == 1)) {
      if (Of(s, first) == nullptr || !IsInteger(graph_.tensor(op.outputs[0]).type.dtype)) return false;
      const Shape& shape = ShapeOf(op.outputs[0]);
      if (shape != Shape{s.rows} && shape != Shape{s.rows, 1}) return false;
      value = *Of(s, first);
      return true;
    }
    if (type == "Mod" && Is(s, first, Kind::kOrder) && divides) {
      value = {Kind::kRest, times};
      return true;
    }
    if (type == "Sub" && Is(s, first, Kind::kOrder) && Is(s, op.inputs[1], Kind::kRest)) {
      value = {Kind::kWhole, Of(s, op.inputs[1])->times};
      return true;
    }
    if (type == "Div" && divides && IsInteger(graph_.tensor(op.outputs[0]).type.dtype)) {
      if (!Is(s, first, Kind::kOrder) && !(Is(s, first, Kind::kWhole) && Of(s, first)->times == times)) return false;
      value = {Kind::kSource, times};
      return true;
    }
    if (type == "TopK" && Is(s, first, Kind::kOrder) && SortsAscending(op)) {  // argsort of the order
      const auto [begin, end] = uses_.of(op.outputs[0]);
      value = {Kind::kInverse};
      return begin == end;
    }
    const bool scatters = type == "ScatterND" || type == "ScatterElements";
    if (scatters && op.inputs.size() == 3 && Is(s, op.inputs[1], Kind::kOrder) && Of(s, first) == nullptr) {
      if (ShapeOf(op.outputs[0]) != Shape{s.rows} || op.attributes->String("reduction", "none") != "none") return false;
      if (ShapeOf(op.inputs[1]) != (type == "ScatterND" ? Shape{s.rows, 1} : Shape{s.rows})) return false;
      value = {Kind::kInverse};
      return Of(s, op.inputs[2]) == nullptr && IsIota(graph_, op.inputs[2]);
    }
    return false;
  }

  bool TakeGather(size_t o, Sorted& s, std::optional<Value>& value) const {
    const Op& op = graph_.ops[o];
    const TensorId data = op.inputs[0], places = op.inputs[1];
    const Shape &from = ShapeOf(data), &at = ShapeOf(places);
    if (op.attributes->Int("axis", 0) != 0 || from.empty() || !Known(data)) return false;
    if (Is(s, places, Kind::kInverse)) {
      if (!Is(s, data, Kind::kRows) || at.size() != 1 || edit_.IsKept(op.outputs[0])) return false;
      s.exits.push_back(o);
      return true;
    }
    if (Of(s, data) != nullptr) return false;
    value = {Kind::kRows};
    if (Is(s, places, Kind::kRows)) return !at.empty();  // of something else, by numbers that rows have
    const bool all = Is(s, places, Kind::kOrder), some = Is(s, places, Kind::kSource);
    if (!all && !some) return false;
    const int64_t times = all ? 1 : Of(s, places)->times;
    if (at.size() != 1 || from[0] * times != s.rows) return false;
    s.entries.emplace_back(o, times);
    return true;
  }

  bool IsRowsOfAll(const Sorted& s, TensorId id) const {
    return Is(s, id, Kind::kRows) && !ShapeOf(id).empty() && ShapeOf(id)[0] == s.rows;
  }

  bool TakeRows(const Op& op, std::string_view type, Sorted& s, std::optional<Value>& value) const {
    const TensorId first = op.inputs[0];
    const auto outside = [&](size_t i) { return op.inputs[i].valid() && Of(s, op.inputs[i]) == nullptr; };
    if (type == "ReduceSum" && Is(s, first, Kind::kRows)) {
      if (SumsRows(op)) return true;
      value = {Kind::kRows};
      return KeepsFirst(op);
    }
    value = {Kind::kRows};
    if (type == "sbp::GroupedMatMul") {
      if (!IsRowsOfAll(s, first) || !outside(1)) return false;
      if (Is(s, op.inputs[2], Kind::kRows)) return true;
      if (!outside(2) || !IsGroup(s, op.inputs[2])) return false;
      s.groups.insert(op.inputs[2]);
      return true;
    }
    if (type == "MatMul") {
      return Is(s, first, Kind::kRows) && outside(1) && ShapeOf(first).size() == 2 && ShapeOf(op.inputs[1]).size() == 2;
    }
    if (IsElementwise(type)) {
      const size_t rank = ShapeOf(op.outputs[0]).size();
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const TensorId id = op.inputs[i];
        if (!id.valid()) continue;
        const Shape& shape = ShapeOf(id);
        if (Is(s, id, Kind::kRows) ? shape.size() != rank || shape[0] != s.rows
                                   : !outside(i) || (shape.size() == rank && shape[0] != 1))
          return false;
      }
      return true;
    }
    for (size_t r = 0; r < op.outputs.size(); ++r) {
      if (op.outputs[r].valid() && !MovesWithinRows(op, r)) return false;
    }
    return Is(s, first, Kind::kRows);
  }

  // The first dimension is among those summed over: no order of rows changes the sum.
  bool SumsRows(const Op& op) const {
    const std::vector<int64_t>* axes = AxesOf(op);
    const auto rank = static_cast<int64_t>(ShapeOf(op.inputs[0]).size());
    return axes != nullptr && std::ranges::any_of(*axes, [&](int64_t axis) { return axis == 0 || axis == -rank; });
  }
  bool KeepsFirst(const Op& op) const {
    const Shape &in = ShapeOf(op.inputs[0]), &out = ShapeOf(op.outputs[0]);
    return AxesOf(op) != nullptr && !in.empty() && !out.empty() && in[0] == out[0];
  }
  const std::vector<int64_t>* AxesOf(const Op& op) const {
    if (op.inputs.size() < 2 || !op.inputs[1].valid()) return nullptr;
    const Tensor& axes = graph_.tensor(op.inputs[1]);
    if (axes.role != TensorRole::kParameter || axes.literal == nullptr || axes.literal->ints.empty()) return nullptr;
    return &axes.literal->ints;
  }

  // Row r of a result is of elements of row r: for the first, the second, the middle and the last one, at both ends.
  bool MovesWithinRows(const Op& op, size_t result) const {
    const TensorId out = op.outputs[result];
    if (!Known(op.inputs[0]) || !Known(out) || !IsMove(graph_, op, result)) return false;
    const Shape &in = ShapeOf(op.inputs[0]), &shape = ShapeOf(out);
    if (in.empty() || shape.empty() || in[0] != shape[0]) return false;
    const int64_t rows = in[0], width = graph_.tensor(op.inputs[0]).type.num_elements() / rows;
    const int64_t size = graph_.tensor(out).type.num_elements() / rows;
    for (const int64_t row : {int64_t{0}, int64_t{1}, rows / 2, rows - 1}) {
      for (const int64_t element : {int64_t{0}, size - 1}) {
        if (SourceOf(graph_, op, result, row * size + element) / width != row) return false;
      }
    }
    return true;
  }

  bool IsGroup(const Sorted& s, TensorId id) const {
    const bool alike = graph_.tensor(id).type == graph_.tensor(s.numbers).type && !edit_.IsKept(id);
    return s.groups.contains(id) ||
           (alike && AreSortedGroups(graph_, id, s.sorted, s.numbers, NumExperts(graph_, s.numbers)));
  }

  void Rewrite(const Sorted& s) {
    edit_.Replace(s.sorted, s.numbers);
    for (const TensorId group : s.groups) edit_.Replace(group, s.numbers);
    for (const size_t exit : s.exits) edit_.Replace(graph_.ops[exit].outputs[0], graph_.ops[exit].inputs[0]);
    for (const auto& [entry, times] : s.entries) {
      const Op op = graph_.ops[entry];
      const Shape& from = ShapeOf(op.inputs[0]);
      if (times == 1) {
        edit_.Replace(op.outputs[0], op.inputs[0]);
        continue;
      }
      Shape ones = from, all = from;
      ones.insert(ones.begin() + 1, 1);
      all.insert(all.begin() + 1, times);
      edit_.Remove(entry);
      const std::vector<ElementView::Step> steps = {
          {ElementView::Step::Kind::kReshape, ones, {}, {}},
          {ElementView::Step::Kind::kExpand, all, {}, {}},
          {ElementView::Step::Kind::kReshape, ShapeOf(op.outputs[0]), {}, {}}};
      for (Op& step : edit_.MakeSteps(op, steps, op.inputs[0], op.outputs[0])) edit_.Insert(entry, std::move(step));
    }
  }

  GraphEdit edit_;
  Graph& graph_;
  const std::vector<bool>& computed_;
  UseTable uses_;
};

}  // namespace

bool UnsortRows(Graph& graph, const std::vector<bool>& computed) { return RowUnsorter(graph, computed).Run(); }

}  // namespace sbp::simplify
