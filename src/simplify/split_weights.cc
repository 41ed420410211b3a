// One product whose columns are cut apart afterwards (query, key and value; gate and up) as several products, each with
// its part of the weight: split over devices, a part keeps whole heads together, where the fused weight would mix them.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/simplified.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "simplify/graph_edit.h"
#include "simplify/moves.h"
#include "simplify/simplify.h"
#include "simplify/view.h"

namespace sbp::simplify {
namespace {

constexpr size_t kMostParts = 64;
constexpr size_t kLongestRoute = 12;

// An op whose result's last dimension is that of a weight.
struct ProductRow {
  std::string_view op;
  int (*axis)(const Op& op, const Shape& weight);  // of the weight (operand 1)
  size_t bias;                                     // operand added to the columns; 0: none
};
constexpr ProductRow kProducts[] = {
    {"Gemm", [](const Op& op, const Shape&) { return op.attributes->Int("transB", 0) != 0 ? 0 : 1; }, 2},
    {"MatMul", [](const Op&, const Shape& weight) { return static_cast<int>(weight.size()) - 1; }, 0},
    {"sbp::GroupedMatMul", [](const Op& op, const Shape&) { return op.attributes->Int("transB", 0) != 0 ? 1 : 2; }, 0},
};
// Ops that treat each column by itself, with a vector of parameters or a number.
constexpr std::string_view kByColumn[] = {"Add", "Cast", "Div", "Mul", "Sub"};

// A parameter of the product or of what follows it, and its dimension that has the columns.
struct Cut {
  TensorId parameter;
  int axis = 0;
};

// The product, what follows it column by column, and how its result is cut.
struct Fused {
  std::vector<size_t> ops;                // the product first, then those by column
  std::map<uint32_t, Cut> cuts;           // operands that are cut, by tensor (a transposed weight: the transposed one)
  std::map<uint32_t, size_t> transposed;  // ... the Transpose op that writes it
  TensorId result;
  struct End {
    size_t op = 0, output = 0;
    int64_t start = 0, count = 0;
    std::vector<ElementView::Step> rest;  // after the columns are cut
    Route route;
  };
  std::vector<End> ends;
  std::vector<std::pair<int64_t, int64_t>> parts;  // start, count
};

class WeightSplitter {
 public:
  WeightSplitter(Graph& graph, const std::vector<bool>& computed)
      : edit_(graph), graph_(graph), computed_(computed), uses_(BuildUses(graph)) {}

  bool Run() {
    const size_t count = graph_.ops.size();
    for (size_t o = 0; o < count; ++o) {
      Fused fused;
      if (TakeProduct(o, fused) && FindEnds(fused) && FindParts(fused)) Write(fused);
    }
    edit_.Finish();
    return edit_.changed();
  }

 private:
  // The only reader of a tensor that need not stay; nothing otherwise.
  std::optional<size_t> OnlyReader(TensorId id) const {
    const auto [begin, end] = uses_.of(id);
    if (edit_.IsKept(id) || end - begin != 1) return std::nullopt;
    const Op& op = graph_.op(begin->op);
    return op.captures.empty() && op.signature_pin.empty() ? std::optional(begin->op.index()) : std::nullopt;
  }
  bool IsParameter(TensorId id) const { return graph_.tensor(id).role == TensorRole::kParameter; }
  bool Known(TensorId id) const { return id.index() >= computed_.size() || !computed_[id.index()]; }

  // Notes a parameter whose dimension `axis` is the columns, read by nobody else, perhaps transposed before.
  bool AddCut(TensorId operand, int axis, int64_t columns, Fused& fused) const {
    if (!operand.valid() || !OnlyReader(operand)) return false;
    TensorId parameter = operand;
    int of_parameter = axis;
    if (!IsParameter(operand)) {
      const Tensor& tensor = graph_.tensor(operand);
      if (!tensor.producer.valid() || graph_.type_of(graph_.op(tensor.producer)) != "Transpose") return false;
      const Op& transpose = graph_.op(tensor.producer);
      parameter = transpose.inputs[0];
      if (!IsParameter(parameter) || !OnlyReader(parameter)) return false;
      const std::vector<int64_t>* perm = transpose.attributes->Ints("perm");
      of_parameter =
          perm == nullptr ? tensor.type.rank() - 1 - axis : static_cast<int>((*perm)[static_cast<size_t>(axis)]);
      fused.transposed[operand.value] = tensor.producer.index();
    }
    const Tensor& whole = graph_.tensor(parameter);
    const bool fits = whole.part == nullptr && whole.type.shape[static_cast<size_t>(of_parameter)] == columns;
    if (fits) fused.cuts[operand.value] = {parameter, of_parameter};
    return fits;
  }

  // An operand that is one number, or one for each column.
  bool TakeByColumn(TensorId operand, int64_t columns, Fused& fused) const {
    if (!operand.valid()) return true;
    const Tensor& tensor = graph_.tensor(operand);
    if (tensor.type.num_elements() == 1 && tensor.type.rank() <= 1) return true;
    const int axis = tensor.type.rank() - 1;
    for (int d = 0; d < axis; ++d) {
      if (tensor.type.shape[static_cast<size_t>(d)] != 1) return false;
    }
    return IsParameter(operand) && AddCut(operand, axis, columns, fused);
  }

  bool TakeProduct(size_t o, Fused& fused) const {
    const Op& op = graph_.ops[o];
    const auto* row = std::ranges::find(kProducts, std::string_view(graph_.type_of(op)), &ProductRow::op);
    if (row == std::end(kProducts) || !op.signature_pin.empty() || op.inputs.size() < 2) return false;
    const TensorType& weight = graph_.tensor(op.inputs[1]).type;
    TensorId result = op.outputs[0];
    const TensorType& type = graph_.tensor(result).type;
    if (weight.rank() < 2 || type.rank() < 2 || type.num_elements() == 0 || !Known(result)) return false;
    if (row->op == "MatMul" && weight.rank() != 2) return false;
    const int64_t columns = type.shape.back();
    if (!AddCut(op.inputs[1], row->axis(op, weight.shape), columns, fused)) return false;
    if (row->bias > 0 && op.inputs.size() > row->bias && !TakeByColumn(op.inputs[row->bias], columns, fused))
      return false;
    fused.ops.push_back(o);
    fused.result = result;
    for (std::optional<size_t> next = OnlyReader(result); next; next = OnlyReader(result)) {
      const Op& reader = graph_.ops[*next];
      if (std::ranges::find(kByColumn, graph_.type_of(reader)) == std::end(kByColumn)) break;
      if (graph_.tensor(reader.outputs[0]).type.shape != type.shape) break;
      const auto taken = [&](TensorId id) { return id == result || TakeByColumn(id, columns, fused); };
      if (!std::ranges::all_of(reader.inputs, taken)) break;
      fused.ops.push_back(*next);
      fused.result = result = reader.outputs[0];
    }
    return true;
  }

  // All readers of the result, seen through moves, must cut it.
  bool FindEnds(Fused& fused) const {
    std::vector<std::pair<TensorId, Route>> open = {{fused.result, {}}};
    while (!open.empty()) {
      const auto [tensor, route] = std::move(open.back());
      open.pop_back();
      const auto [begin, end] = uses_.of(tensor);
      if (edit_.IsKept(tensor) || begin == end || route.size() >= kLongestRoute) return false;
      for (const Use* use = begin; use != end; ++use) {
        const Op& op = graph_.op(use->op);
        if (use->operand != 0 || !op.signature_pin.empty() || fused.ends.size() + open.size() >= kMostParts)
          return false;
        for (size_t r = 0; r < op.outputs.size(); ++r) {
          if (!IsMove(graph_, op, r) || !Known(op.outputs[r])) return false;
          Route longer = {{&op, r}};
          longer.insert(longer.end(), route.begin(), route.end());
          if (!TakesPart(graph_, op)) {
            open.emplace_back(op.outputs[r], std::move(longer));
          } else if (!AddEnd(use->op.index(), r, std::move(longer), fused)) {
            return false;
          }
        }
      }
    }
    return !fused.ends.empty();
  }

  bool AddEnd(size_t o, size_t output, Route route, Fused& fused) const {
    const Shape& shape = graph_.tensor(fused.result).type.shape;
    ElementView view(shape);
    for (size_t i = route.size(); i-- > 0;) {
      if (!ApplyMove(graph_, *route[i].first, route[i].second, view)) return false;
    }
    std::optional<std::vector<ElementView::Step>> steps = view.Steps(shape);
    if (!steps || steps->empty() || steps->front().kind != ElementView::Step::Kind::kSlice) return false;
    const ElementView::Step& slice = steps->front();
    if (!std::equal(shape.begin(), shape.end() - 1, slice.shape.begin())) return false;
    Fused::End end{o, output, slice.starts.back(), slice.shape.back(), {}, std::move(route)};
    end.rest.assign(steps->begin() + 1, steps->end());
    fused.ends.push_back(std::move(end));
    return true;
  }

  // The parts must lie side by side and leave nothing out.
  bool FindParts(Fused& fused) const {
    std::set<std::pair<int64_t, int64_t>> parts;
    for (const Fused::End& end : fused.ends) parts.insert({end.start, end.count});
    int64_t next = 0;
    for (const auto& [start, count] : parts) {
      if (start != next) return false;
      next += count;
    }
    fused.parts.assign(parts.begin(), parts.end());
    return fused.parts.size() > 1 && next == graph_.tensor(fused.result).type.shape.back();
  }

  void Write(const Fused& fused) {
    for (const auto& [start, count] : fused.parts) {  // all or none
      for (const auto& [operand, cut] : fused.cuts) {
        if (!parts_.contains({operand, start}))
          parts_[{operand, start}] = edit_.AddPart(cut.parameter, cut.axis, start, count);
        if (!parts_[{operand, start}].valid()) return;
      }
    }
    for (const size_t o : fused.ops) edit_.Remove(o);
    for (const auto& [start, count] : fused.parts) WritePart(fused, start, count);
  }

  void WritePart(const Fused& fused, int64_t start, int64_t count) {
    std::map<uint32_t, TensorId> now;  // operands of the fused ops -> of this part
    for (const auto& [operand, cut] : fused.cuts) now[operand] = PartOf(fused, operand, start, count);
    const Fused::End* whole_end = nullptr;  // one that is this part as it is: the part takes its name
    for (const Fused::End& end : fused.ends) {
      if (end.start == start && end.rest.empty() && whole_end == nullptr) whole_end = &end;
    }
    const std::string suffix = StrCat("[", start, ":", start + count, "]");
    for (const size_t o : fused.ops) {
      const Op before = graph_.ops[o];
      Op op = before;
      op.name += suffix;
      op.metadata.emplace_back(kSimplifiedFrom, before.name);
      for (TensorId& id : op.inputs) {
        if (id.valid() && now.contains(id.value)) id = now[id.value];
      }
      const TensorId old = before.outputs[0];
      TensorType type = graph_.tensor(old).type;
      type.shape.back() = count;
      const bool ends_here = old == fused.result && whole_end != nullptr;
      op.outputs = {ends_here ? graph_.ops[whole_end->op].outputs[whole_end->output]
                              : edit_.AddTensor(graph_.tensor(old).name + suffix, std::move(type))};
      now[old.value] = op.outputs[0];
      edit_.Insert(fused.ops.back(), std::move(op));
    }
    for (const Fused::End& end : fused.ends) {
      if (end.start == start && &end != whole_end) WriteEnd(end, now[fused.result.value]);
    }
    if (whole_end != nullptr) edit_.Remove(whole_end->op);
  }

  TensorId PartOf(const Fused& fused, uint32_t operand, int64_t start, int64_t count) {
    const TensorId part = parts_[{operand, start}];
    const auto transposed = fused.transposed.find(operand);
    if (transposed == fused.transposed.end()) return part;
    const Op& like = graph_.ops[transposed->second];
    const std::string suffix = StrCat("[", start, ":", start + count, "]");
    Op op = edit_.MakeOp(like, "Transpose", like.name + suffix, {part});
    op.attributes = like.attributes;
    Shape shape;
    const Shape of_part = graph_.tensor(part).type.shape;
    const std::vector<int64_t>* perm = like.attributes->Ints("perm");
    for (size_t d = 0; d < of_part.size(); ++d) {
      shape.push_back(of_part[perm == nullptr ? of_part.size() - 1 - d : static_cast<size_t>((*perm)[d])]);
    }
    const TensorId result =
        edit_.AddTensor(graph_.tensor(TensorId(operand)).name + suffix, {graph_.tensor(part).type.dtype, shape});
    op.outputs = {result};
    edit_.Insert(fused.ops.back(), std::move(op));
    return result;
  }

  void WriteEnd(const Fused::End& end, TensorId part) {
    const Op like = graph_.ops[end.op];
    const TensorId to = like.outputs[end.output];
    edit_.Remove(end.op);
    std::vector<ElementView::Step> steps = end.rest;
    if (steps.empty() && !edit_.IsKept(to)) return edit_.Replace(to, part);
    if (steps.empty()) steps.push_back({ElementView::Step::Kind::kReshape, graph_.tensor(to).type.shape, {}, {}});
    for (Op& op : edit_.MakeSteps(like, steps, part, to)) {
      op.metadata.emplace_back(kSimplifiedFrom, like.name);
      edit_.Insert(end.op, std::move(op));
    }
  }

  GraphEdit edit_;
  Graph& graph_;
  const std::vector<bool>& computed_;
  UseTable uses_;
  std::map<std::pair<uint32_t, int64_t>, TensorId> parts_;  // cut operand, start
};

}  // namespace

bool SplitWeights(Graph& graph, const std::vector<bool>& computed) { return WeightSplitter(graph, computed).Run(); }

}  // namespace sbp::simplify
