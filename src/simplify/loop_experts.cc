// A loop over experts, written turn by turn (expert_loop.h), as products of all rows at once: rows are those of all
// choices, so that their number is known, and each row is multiplied by the matrix of its expert.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/simplified.h"
#include "sbp/shard_math.h"
#include "simplify/expert_loop.h"
#include "simplify/graph_edit.h"
#include "simplify/moves.h"
#include "simplify/simplify.h"
#include "simplify/view.h"

namespace sbp::simplify {
namespace {

using Turns = std::vector<ExpertTurn>;
constexpr size_t kLongestSlice = 6;

class LoopJoiner {
 public:
  LoopJoiner(Graph& graph, const std::vector<bool>& computed)
      : edit_(graph), graph_(graph), computed_(computed), uses_(BuildUses(graph)) {}

  bool Run() {
    Turns turns;
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      if (std::optional<ExpertTurn> turn = FindTurn(graph_, uses_, o)) turns.push_back(*std::move(turn));
    }
    std::vector<Turns> loops;
    for (Turns& chain : Chains(turns)) {
      if (IsLoop(chain)) loops.push_back(std::move(chain));
    }
    for (const Turns& loop : loops) JoinTurns(loop);
    edit_.Finish();
    return edit_.changed();
  }

 private:
  const Shape& ShapeOf(TensorId id) const { return graph_.tensor(id).type.shape; }
  bool Known(TensorId id) const { return id.index() >= computed_.size() || !computed_[id.index()]; }

  // Turns that add to each other's results, in that order.
  std::vector<Turns> Chains(const Turns& turns) const {
    std::map<TensorId, size_t> by_before, by_after;
    for (size_t i = 0; i < turns.size(); ++i) {
      by_before[turns[i].before] = i;
      by_after[turns[i].after] = i;
    }
    std::vector<Turns> chains;
    for (const ExpertTurn& first : turns) {
      if (by_after.contains(first.before)) continue;
      Turns chain = {first};
      for (;;) {
        const TensorId after = chain.back().after;
        const auto next = by_before.find(after);
        const auto [begin, end] = uses_.of(after);
        if (next == by_before.end() || end - begin != 1 || edit_.IsKept(after)) break;
        chain.push_back(turns[next->second]);
      }
      chains.push_back(std::move(chain));
    }
    return chains;
  }

  // All turns are alike, and there is one for each expert.
  bool IsLoop(const Turns& chain) const {
    const auto count = static_cast<int64_t>(chain.size());
    if (count < 2 || NumExperts(graph_, chain[0].ids) != count) return false;
    if (!Known(chain[0].ids) || !Known(chain[0].before)) return false;
    std::vector<bool> seen(chain.size());
    for (const ExpertTurn& turn : chain) {
      if (turn.expert < 0 || turn.expert >= count || seen[static_cast<size_t>(turn.expert)]) return false;
      seen[static_cast<size_t>(turn.expert)] = true;
      if (!SameTurns(graph_, chain[0], turn)) return false;
      for (const TurnStep& step : turn.steps) {
        const std::vector<TensorId>& outputs = graph_.ops[step.op].outputs;
        if (std::ranges::any_of(outputs, [&](TensorId id) { return id.valid() && edit_.IsKept(id); })) return false;
      }
    }
    const auto has_product = [](const TurnStep& s) { return s.kind == TurnStep::Kind::kProduct; };
    return std::ranges::any_of(chain[0].steps, has_product);
  }

  void JoinTurns(const Turns& loop) {
    const ExpertTurn& first = loop[0];
    place_ = loop.back().scatter;
    std::vector<const ExpertTurn*> by_expert(loop.size());
    for (const ExpertTurn& turn : loop) by_expert[static_cast<size_t>(turn.expert)] = &turn;
    int64_t rows = 1;
    for (const int64_t size : first.ids_dims) rows *= size;
    const Op scatter = graph_.ops[place_];
    edit_.Remove(place_);
    const TensorId ids = Moved(scatter, "experts", first.ids, {ElementView::Step::Kind::kReshape, {rows}, {}, {}});
    std::vector<std::vector<TensorId>> results;
    for (size_t s = 0; s < first.steps.size(); ++s) {
      const TurnStep& step = first.steps[s];
      if (step.kind == TurnStep::Kind::kGather) {
        results.push_back({Gathered(step, first.ids_dims, rows)});
        continue;
      }
      const Op like = graph_.ops[step.op];
      const bool product = step.kind == TurnStep::Kind::kProduct;
      Op op = edit_.MakeOp(like, graph_.type_of(like), StrCat(like.name, "/all"), {});
      for (const TurnOperand& operand : step.operands) {
        op.inputs.push_back(operand.step < 0 ? operand.outside
                                             : results[static_cast<size_t>(operand.step)][operand.result]);
      }
      op.attributes = like.attributes;
      if (product) SetMatrices(op, by_expert, s, ids);
      op.metadata.emplace_back(kSimplifiedFrom, NamesOf(by_expert, s));
      for (const TensorId id : like.outputs) {
        op.outputs.push_back(
            id.valid() ? edit_.AddTensor(StrCat(graph_.tensor(id).name, "/all"), graph_.tensor(id).type) : TensorId());
      }
      results.push_back(op.outputs);
      edit_.Insert(place_, std::move(op));
    }
    AddUp(first, scatter, results[static_cast<size_t>(first.updates.step)][first.updates.result]);
  }

  // The matrices of all experts: one tensor that they are slices of, or each its own.
  void SetMatrices(Op& op, const std::vector<const ExpertTurn*>& turns, size_t step, TensorId ids) {
    bool turned = turns[0]->steps[step].transposed;
    std::optional<Stack> stack = StackOf(turns, step);
    if (stack) {
      op.type = edit_.TypeIndex("sbp::GroupedMatMul");
      op.inputs = {op.inputs[0], stack->experts, ids};
      turned = turned != stack->transposed;
    } else {
      op.type = edit_.TypeIndex("sbp::ExpertsMatMul");
      op.inputs = {op.inputs[0], ids};
      for (const ExpertTurn* turn : turns) op.inputs.push_back(turn->steps[step].operands[1].outside);
    }
    Attributes attributes;
    if (turned) attributes.Set("transB", int64_t{1});
    op.attributes = std::make_shared<const Attributes>(std::move(attributes));
  }

  struct Stack {
    TensorId experts;  // [experts, rows, columns]
    bool transposed = false;
    friend bool operator==(const Stack&, const Stack&) = default;
  };

  std::optional<Stack> StackOf(const std::vector<const ExpertTurn*>& turns, size_t step) const {
    std::optional<Stack> all;
    for (size_t e = 0; e < turns.size(); ++e) {
      const std::optional<Stack> stack = SliceOf(turns[e]->steps[step].operands[1].outside, e, turns.size());
      if (!stack || (all && *all != *stack)) return std::nullopt;
      all = stack;
    }
    return all;
  }

  // Is the matrix number `expert` of a stack, maybe transposed?
  std::optional<Stack> SliceOf(TensorId matrix, size_t expert, size_t count) const {
    const Shape seen = ShapeOf(matrix);
    Route route;
    for (TensorId at = matrix; route.size() < kLongestSlice && Known(at);) {
      const Op* op = edit_.Producer(at);
      if (op == nullptr || !op->signature_pin.empty() || !IsMove(graph_, *op, graph_.tensor(at).producer_index))
        return std::nullopt;
      route.emplace_back(op, graph_.tensor(at).producer_index);
      at = op->inputs[0];
      const Shape& whole = ShapeOf(at);
      if (whole.size() != 3 || whole[0] != static_cast<int64_t>(count)) continue;
      ElementView view(whole), plain(whole);
      for (size_t i = route.size(); i-- > 0;) {
        if (!ApplyMove(graph_, *route[i].first, route[i].second, view)) return std::nullopt;
      }
      if (!view.Reshape(seen) || !plain.Slice(0, static_cast<int64_t>(expert), 1)) return std::nullopt;
      if (!plain.Reshape({whole[1], whole[2]})) return std::nullopt;
      ElementView turned = plain;
      turned.Transpose({1, 0});
      if (plain.shape() == seen && plain == view) return Stack{at, false};
      if (turned.shape() == seen && turned.Reshape(seen) && turned == view) return Stack{at, true};
    }
    return std::nullopt;
  }

  std::string NamesOf(const std::vector<const ExpertTurn*>& turns, size_t step) const {
    std::vector<std::string> names;
    for (const ExpertTurn* turn : turns) names.push_back(graph_.ops[turn->steps[step].op].name);
    return Join(names, ", ");
  }

  TensorId Moved(const Op& op, std::string_view what, TensorId from, const ElementView::Step& step) {
    if (ShapeOf(from) == step.shape) return from;
    Op like = op;
    like.name = StrCat(op.name, "/", what);
    const TensorId to = edit_.AddTensor(StrCat(graph_.tensor(op.outputs[0]).name, "/", what),
                                        {graph_.tensor(from).type.dtype, step.shape});
    for (Op& made : edit_.MakeSteps(like, {step}, from, to)) edit_.Insert(place_, std::move(made));
    return to;
  }

  // The rows of a tensor whose first dimensions are some of the indices', once for each index.
  TensorId Gathered(const TurnStep& step, const Shape& ids_dims, int64_t rows) {
    const Op op = graph_.ops[step.op];
    const TensorId from = step.operands[0].outside;
    Shape ones(ids_dims.size(), 1), all = ids_dims, flat = {rows};
    for (const int d : step.dims) ones[static_cast<size_t>(d)] = ids_dims[static_cast<size_t>(d)];
    const Shape whole = ShapeOf(from);
    for (size_t d = step.leading + step.dims.size(); d < whole.size(); ++d) {
      for (Shape* shape : {&ones, &all, &flat}) shape->push_back(whole[d]);
    }
    TensorId at = from;
    if (ones != all) {
      at = Moved(op, "ones", at, {ElementView::Step::Kind::kReshape, ones, {}, {}});
      at = Moved(op, "expand", at, {ElementView::Step::Kind::kExpand, all, {}, {}});
    }
    return Moved(op, "rows", at, {ElementView::Step::Kind::kReshape, flat, {}, {}});
  }

  void AddUp(const ExpertTurn& turn, const Op& scatter, TensorId rows) {
    Shape all = turn.ids_dims;
    const Shape flat = ShapeOf(rows), to = ShapeOf(turn.before);
    all.insert(all.end(), flat.begin() + 1, flat.end());
    TensorId at = Moved(scatter, "choices", rows, {ElementView::Step::Kind::kReshape, all, {}, {}});
    std::vector<int64_t> axes;
    for (int d = 0; d < static_cast<int>(turn.ids_dims.size()); ++d) {
      if (std::ranges::find(turn.dims, d) == turn.dims.end()) axes.push_back(d);
    }
    if (!axes.empty()) {
      Op sum = edit_.MakeOp(scatter, "ReduceSum", StrCat(scatter.name, "/sum"), {at, edit_.AddInts(axes)});
      Attributes attributes;
      attributes.Set("keepdims", int64_t{0});
      sum.attributes = std::make_shared<const Attributes>(std::move(attributes));
      at = edit_.AddTensor(StrCat(graph_.tensor(turn.after).name, "/sum"), {graph_.tensor(rows).type.dtype, to});
      sum.outputs = {at};
      edit_.Insert(place_, std::move(sum));
    }
    Op add = edit_.MakeOp(scatter, "Add", scatter.name, {turn.before, at});
    add.outputs = scatter.outputs;
    add.metadata.emplace_back(kSimplifiedFrom, scatter.name);
    edit_.Insert(place_, std::move(add));
  }

  GraphEdit edit_;
  Graph& graph_;
  const std::vector<bool>& computed_;
  UseTable uses_;
  size_t place_ = 0;
};

}  // namespace

bool LoopExperts(Graph& graph, const std::vector<bool>& computed) { return LoopJoiner(graph, computed).Run(); }

}  // namespace sbp::simplify
