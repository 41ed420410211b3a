// Walks the opened outline for nodes and groups, then every op's operands for edges, collectives, inputs and outputs.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "cost/collective.h"
#include "graph/graph.h"
#include "graph/kept.h"
#include "graph/phases.h"
#include "graph/tensor_type.h"
#include "plan/ends.h"
#include "plan/plan.h"
#include "render/facts.h"
#include "render/node_text.h"
#include "render/opening.h"
#include "render/outline.h"
#include "render/outline_tree.h"
#include "render/render.h"
#include "render/side_tables.h"
#include "render/training.h"
#include "render/view.h"
#include "render/view_edges.h"
#include "render/view_notes.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

constexpr size_t kManyInputs = 5;

class ViewBuilder {
 public:
  // `most`: as of MakeView().
  ViewBuilder(const Plan& plan, const Outline& outline, const Opening& opening, const RenderOptions& options,
              size_t most)
      : plan_(plan),
        outline_(outline),
        opening_(opening),
        options_(options),
        most_(most),
        transitions_(plan),
        costs_(plan),
        limit_(2 * (options.expand.empty() ? options.max_nodes : most)),
        side_(FindSideTables(plan.graph)),
        side_inputs_(FindSideInputs(plan.graph)),
        edges_(plan, HasBackward(plan.graph), options.notation) {}

  View Build() {
    view_.training = HasBackward(plan_.graph);
    WalkOutline();
    FindInnerTransitions();
    MakeSummaries();
    folded_inputs_ = FoldedInputs(plan_.graph, opening_.stand_in);
    many_inputs_ = InputsOfOneReader(plan_.graph, [&](uint32_t o) { return NodeOfOp(o); });
    std::erase_if(many_inputs_, [&](const auto& inputs) {
      return inputs.second.size() < kManyInputs || !closed_of_node_.contains(inputs.first);
    });
    for (uint32_t o = 0; o < plan_.graph.ops.size(); ++o) ConnectOp(o);
    ConnectOutputs();
    DescribeGroups(
        plan_, costs_, [&](OpId op) { return NodeOfOp(op.value); }, view_);
    Finish();
    return std::move(view_);
  }

 private:
  struct Closed {
    uint32_t node = 0;  // of the view
    uint32_t outline = 0;
    int64_t copies = 1;
    std::string label;
    std::vector<uint32_t> ops, inner;
  };
  // A node of the outline still to be walked.
  struct Step {
    OutlineItem item;
    int32_t group = 0;
    int64_t copies = 1;
    std::string label;  // of the repeat around it
  };

  int32_t AddGroup(std::string label, int32_t parent, int64_t copies, Phase phase = Phase::kForward) {
    view_.groups.push_back({std::move(label), "", parent, copies, phase});
    return static_cast<int32_t>(view_.groups.size()) - 1;
  }
  uint32_t AddNode(ViewNode node, int32_t group, Phase phase = Phase::kForward) {
    node.group = group;
    node.phase = phase;
    view_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(view_.nodes.size()) - 1;
  }

  void WalkOutline() {
    node_of_op_.assign(plan_.graph.ops.size(), -1);
    closed_of_node_.clear();
    AddGroup("", -1, 1);
    std::vector<Step> stack = {{{false, 0}, 0, 1, ""}};
    while (!stack.empty()) {
      const Step step = std::move(stack.back());
      stack.pop_back();
      if (step.item.is_op) {
        node_of_op_[step.item.index] =
            static_cast<int32_t>(AddNode(OpNode(plan_, costs_, step.item.index, options_.notation), step.group,
                                         PhaseOf(plan_.graph, plan_.graph.ops[step.item.index])));
        continue;
      }
      const OutlineNode& node = outline_.nodes[step.item.index];
      const bool open = opening_.open[step.item.index];
      if (node.kind == OutlineNode::Kind::kRepeat && !open) {
        stack.push_back({node.items.front(), step.group, static_cast<int64_t>(node.items.size()), node.label});
        continue;
      }
      if (!open) {
        AddClosed(step);
        continue;
      }
      int32_t group = step.group;
      if (step.item.index != 0 && node.kind != OutlineNode::Kind::kRepeat) {
        group = AddGroup(step.copies > 1 ? step.label : node.label, step.group, step.copies, PhaseOfScope(node.path));
      }
      for (auto it = node.items.rbegin(); it != node.items.rend(); ++it) stack.push_back({*it, group, 1, ""});
    }
  }

  void AddClosed(const Step& step) {
    Closed closed;
    closed.outline = step.item.index;
    closed.copies = step.copies;
    closed.label = step.copies > 1 ? step.label : outline_.nodes[closed.outline].label;
    closed.ops = outline_.OpsOf(step.item.index);
    const bool is_empty = closed.ops.empty();
    const Phase phase = is_empty ? Phase::kForward : PhaseOf(plan_.graph, plan_.graph.ops[closed.ops.front()]);
    const bool is_pass = view_.training && step.group == 0;
    closed.node =
        AddNode(ViewNode{}, is_pass ? AddGroup(std::string(PhaseName(phase)), 0, 1, phase) : step.group, phase);
    for (uint32_t o : closed.ops) node_of_op_[o] = static_cast<int32_t>(closed.node);
    closed_of_node_[closed.node] = closed_.size();
    closed_.push_back(std::move(closed));
  }

  // An op that stands for itself, not folded into another copy.
  bool Shown(uint32_t o) const { return opening_.stand_in[o] == o && node_of_op_[o] >= 0; }
  int32_t NodeOfOp(uint32_t o) const { return node_of_op_[opening_.stand_in[o]]; }
  int32_t ProducerNode(TensorId t) const {
    const OpId producer = plan_.graph.tensor(t).producer;
    return producer.valid() ? NodeOfOp(producer.value) : -1;
  }

  // The nearest group around and including `group` that is not one of several copies: a graph's input or output exists
  // once.
  int32_t GroupOfOne(int32_t group) const {
    int32_t outermost = group;
    for (int32_t g = group; g >= 0; g = view_.groups[g].parent) {
      if (view_.groups[g].copies > 1) outermost = view_.groups[g].parent;
    }
    return outermost;
  }

  // A transition whose producer and first consumer lie in the same closed node is part of its summary; so is one of a
  // parameter.
  void FindInnerTransitions() {
    for (uint32_t t = 0; t < plan_.transitions.size(); ++t) {
      const Transition& transition = plan_.transitions[t];
      if (transition.consumers.empty() || !ValidTransition(transition)) continue;
      const uint32_t consumer = transition.consumers[0].op.value;
      if (!Shown(consumer)) continue;
      const int32_t node = node_of_op_[consumer];
      const auto closed = closed_of_node_.find(static_cast<uint32_t>(node));
      if (closed == closed_of_node_.end()) continue;
      const int32_t producer = ProducerNode(transition.tensor);
      const bool parameter = plan_.graph.tensor(transition.tensor).role == TensorRole::kParameter;
      if (producer == node || parameter) closed_[closed->second].inner.push_back(t);
    }
  }

  bool ValidTransition(const Transition& transition) const {
    if (!transition.tensor.valid() || transition.tensor.index() >= plan_.graph.tensors.size()) return false;
    return std::all_of(transition.consumers.begin(), transition.consumers.end(),
                       [&](const Use& use) { return use.op.valid() && use.op.index() < plan_.graph.ops.size(); });
  }

  void MakeSummaries() {
    for (const Closed& closed : closed_) {
      ViewNode& node = view_.nodes[closed.node];
      const int32_t group = node.group;
      const Phase phase = node.phase;
      node = SummaryNode(plan_, costs_, outline_.nodes[closed.outline], closed.label, closed.copies, closed.ops,
                         closed.inner);
      node.group = group;
      node.phase = phase;
      if (phase == Phase::kOptimizer) node.lines.push_back(StatesLine(plan_, closed.ops));
    }
  }

  bool InBackward(OpId op) const { return op.valid() && PhaseOf(plan_.graph, plan_.graph.op(op)) == Phase::kBackward; }
  int32_t RepeatAround(uint32_t node) const {
    int32_t group = view_.nodes[node].group;
    while (group >= 0 && view_.groups[group].copies <= 1) group = view_.groups[group].parent;
    return group;
  }

  // Is the operand's edge drawn? Those of shown ops are. Where the first layer stands for all in the backward pass, it
  // is entered by way of the last one, which is folded; and what comes from the layer behind is no edge within the
  // layer.
  // So is what a layer keeps that is folded into an open one, where its backward pass stands apart.
  bool IsDrawn(uint32_t o, TensorId operand) {
    const OpId producer = plan_.graph.tensor(operand).producer;
    if (view_.training && Shown(o) && InBackward(OpId(o)) && producer.valid() && !Shown(producer.value) &&
        !InBackward(producer) && NodeOfOp(producer.value) >= 0) {
      const bool drawn = RepeatAround(static_cast<uint32_t>(NodeOfOp(producer.value))) < 0 ||
                         RepeatAround(static_cast<uint32_t>(NodeOfOp(o))) >= 0;
      folded_kept_ = folded_kept_ || !drawn;
      return drawn;
    }
    const bool within = view_.training && InBackward(OpId(o)) && InBackward(producer);
    if (!Shown(o)) return within && Shown(producer.value);
    if (!within || Shown(producer.value) || NodeOfOp(producer.value) < 0) return true;
    const int32_t repeat = RepeatAround(static_cast<uint32_t>(NodeOfOp(o)));
    return repeat < 0 || repeat != RepeatAround(static_cast<uint32_t>(NodeOfOp(producer.value)));
  }

  void ConnectOp(uint32_t o) {
    if ((!view_.training && !Shown(o)) || NodeOfOp(o) < 0) return;
    const uint32_t to = static_cast<uint32_t>(NodeOfOp(o));
    const std::vector<TensorId> operands = plan_.graph.OperandsOf(plan_.graph.ops[o]);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].valid() || !IsDrawn(o, operands[i])) continue;
      const int32_t feeding = transitions_.Feeding(o, i);
      const bool boxed = feeding >= 0 && ValidTransition(plan_.transitions[feeding]);
      if (plan_.graph.tensor(operands[i]).role == TensorRole::kParameter && (!boxed || closed_of_node_.contains(to))) {
        continue;
      }
      const int32_t from =
          IsSideTableFor(operands[i], to) ? TableNodeBeside(operands[i], to) : SourceOf(operands[i], to);
      if (from < 0 || static_cast<uint32_t>(from) == to) continue;
      const NdSbp* layout = boxed ? &plan_.transitions[feeding].to : SourceLayout(plan_, operands[i]);
      if (layout == nullptr) layout = LayoutIn(plan_, o, i, false);
      const int32_t last = boxed ? Boxed(static_cast<uint32_t>(feeding), static_cast<uint32_t>(from), to) : from;
      edges_.Add(static_cast<uint32_t>(last), to, operands[i], layout);
    }
  }

  // Side tables and side inputs are named beside those who read them: no edge leads to where they are made, or stand.
  bool IsSideTableFor(TensorId t, uint32_t reader) const {
    if (side_inputs_[t.index()]) return view_.nodes[reader].phase == Phase::kForward && !IsSideTableNode(reader);
    const OpId producer = plan_.graph.tensor(t).producer;
    return producer.valid() && side_[producer.index()] && NodeOfOp(producer.value) != static_cast<int32_t>(reader) &&
           !IsSideTableNode(reader);
  }
  bool IsSideTableNode(uint32_t node) const {
    for (int32_t g = view_.nodes[node].group; g > 0; g = view_.groups[g].parent) {
      if (view_.groups[g].label == kSideTablesScope) return true;
    }
    return false;
  }
  int32_t TableNodeBeside(TensorId t, uint32_t reader) {
    const Tensor& tensor = plan_.graph.tensor(t);
    const bool input = side_inputs_[t.index()];
    const uint32_t source = input ? t.value : opening_.stand_in[tensor.producer.value];
    const int64_t place = input ? -1 : tensor.producer_index;
    const auto [found, fresh] = table_nodes_.try_emplace(std::tuple(source, place, view_.nodes[reader].group), 0);
    if (!fresh) return static_cast<int32_t>(found->second);
    if (view_.nodes.size() >= limit_) {
      table_nodes_.erase(found);
      return -1;
    }
    ViewNode node = SourceNode(plan_, t, options_.notation);
    if (!input) node.title = Shorten(NameTail(tensor.name), 24);
    if (!input) node.lines.emplace_back("side table");
    node.order = view_.nodes[reader].order;
    found->second = AddNode(std::move(node), view_.nodes[reader].group, view_.nodes[reader].phase);
    return static_cast<int32_t>(found->second);
  }

  // Many inputs of one folded node are one node.
  int32_t InputsOf(uint32_t reader, TensorId t) {
    const auto [found, fresh] = input_nodes_.try_emplace(reader, 0);
    if (fresh) {
      found->second =
          AddNode(RestNode(ViewNode::Kind::kInput), GroupOfOne(view_.nodes[reader].group), view_.nodes[reader].phase);
      view_.nodes[found->second].order = view_.nodes[reader].order;
      view_.nodes[found->second].title = StrCat(many_inputs_.at(reader).size(), " inputs");
      const TensorId last = *many_inputs_.at(reader).rbegin();
      view_.nodes[found->second].lines = {
          StrCat(Shorten(plan_.graph.tensor(t).name, 20), " .. ", Shorten(plan_.graph.tensor(last).name, 20))};
    }
    return static_cast<int32_t>(found->second);
  }
  // The node that gives a tensor: its producer, or an input or parameter node made on demand beside its first reader.
  int32_t SourceOf(TensorId t, uint32_t reader) {
    const Tensor& tensor = plan_.graph.tensor(t);
    if (tensor.role == TensorRole::kActivation) return ProducerNode(t);
    const auto found = source_nodes_.find(t);
    const Phase phase = view_.nodes[reader].phase;
    if (view_.training && tensor.role == TensorRole::kInput) {
      // States and rates are many and say little; an input is drawn for the pass that reads it first.
      if (phase == Phase::kOptimizer || tensor.name.starts_with("acc/")) return -1;
      if (found != source_nodes_.end() && view_.nodes[found->second].phase != phase) return -1;
    }
    if (found != source_nodes_.end()) return static_cast<int32_t>(found->second);
    const auto many = many_inputs_.find(reader);
    if (many != many_inputs_.end() && many->second.contains(t)) return InputsOf(reader, t);
    constexpr size_t kMaxSources = 60;
    if (source_nodes_.size() >= std::max<size_t>(kMaxSources, limit_ / 8)) {
      if (rest_of_sources_ < 0) rest_of_sources_ = static_cast<int32_t>(AddNode(RestNode(ViewNode::Kind::kInput), 0));
      unseen_sources_.insert(t);
      return rest_of_sources_;
    }
    ViewNode node = SourceNode(plan_, t, options_.notation);
    if (const auto folded = folded_inputs_.find(t); folded != folded_inputs_.end()) {
      node.title += StrCat("  × ", folded->second.size() + 1);
    }
    node.order = view_.nodes[reader].order;
    const int32_t group = view_.nodes[reader].group;
    const bool input = tensor.role == TensorRole::kInput;
    const uint32_t index = AddNode(std::move(node), input ? GroupOfOne(group) : group, phase);
    source_nodes_[t] = index;
    return static_cast<int32_t>(index);
  }

  // The last node of a transition's chain, made on first need. Between two nodes, equal steps on several tensors are
  // drawn once.
  int32_t Boxed(uint32_t t, uint32_t from, uint32_t to) {
    const auto done = last_step_.find(t);
    if (done != last_step_.end()) return static_cast<int32_t>(done->second);
    const Transition& transition = plan_.transitions[t];
    uint32_t at = from;
    for (uint32_t earlier : transitions_.Of(transition.tensor)) {  // a path that starts where an earlier one ended
      if (earlier >= t) break;
      const auto drawn = last_step_.find(earlier);
      if (drawn != last_step_.end() && plan_.transitions[earlier].to == transition.from) at = drawn->second;
    }
    const NdSbp* layout = &transition.from;
    for (size_t s = 0; s < transition.steps.size(); ++s) {
      const BoxingStep& step = transition.steps[s];
      const int64_t runs = costs_.runs_of_transition(t);
      if (view_.nodes.size() >= limit_) {
        ++undrawn_steps_;
        continue;
      }
      // Gradients are many, and all alike: what brings them to a folded optimizer is drawn once.
      const bool of_gradients =
          view_.training && ((view_.nodes[to].phase == Phase::kOptimizer && closed_of_node_.contains(to)) ||
                             static_cast<int32_t>(to) == rest_of_outputs_);
      const std::string layouts = of_gradients ? "" : StrCat(ToString(step.from), ToString(step.to));
      auto key = std::make_tuple(of_gradients && s == 0 ? to : at, to,
                                 StrCat(CollectiveKindName(step.kind), step.axis, layouts));
      const auto [drawn, fresh] = steps_.try_emplace(std::move(key), static_cast<uint32_t>(view_.nodes.size()));
      if (fresh) {
        ViewNode node = StepNode(plan_, transition, runs, s, options_.notation);
        if (of_gradients) node.lines.erase(node.lines.begin());  // layouts
        node.order = view_.nodes[to].order;
        AddNode(std::move(node), view_.nodes[to].group, view_.nodes[to].phase);
      }
      Merged& merged = merged_[drawn->second];
      merged.steps += runs;
      merged.bytes += static_cast<double>(runs) * step.wire_bytes;
      merged.seconds += static_cast<double>(runs) * step.seconds;
      edges_.Add(at, drawn->second, transition.tensor, layout);
      at = drawn->second;
      layout = &step.to;
    }
    last_step_[t] = at;
    return static_cast<int32_t>(at);
  }

  void ConnectOutputs() {
    const std::set<TensorId> tied = MergedOutputs(plan_, view_.training);
    const std::vector<TensorEnd> ends = IsBareGraph(plan_) ? std::vector<TensorEnd>() : EndsOf(plan_);
    size_t drawn = 0, rest = 0;
    std::map<std::pair<uint32_t, int64_t>, std::pair<uint32_t, int64_t>> output_nodes;  // by op and result; how many
    int32_t& rest_node = rest_of_outputs_;
    for (size_t i = 0; i < plan_.graph.outputs.size(); ++i) {
      const TensorId t = plan_.graph.outputs[i];
      // The last of several folded copies writes it; the copy that is drawn stands for it.
      const int32_t producer = ProducerNode(t);
      if (producer < 0) continue;
      const auto from = static_cast<uint32_t>(producer);
      const int32_t boxed = ends.empty() ? -1 : ends[i].transition;
      const NdSbp* layout = boxed >= 0 ? &plan_.transitions[boxed].to : SourceLayout(plan_, t);
      // What the copies of a folded layer give is one node, like their ops.
      const OpId op = plan_.graph.tensor(t).producer;
      const auto place = std::pair(opening_.stand_in[op.value], plan_.graph.tensor(t).producer_index);
      if (const auto alike = output_nodes.find(place); alike != output_nodes.end()) {
        ++alike->second.second;
        continue;
      }
      constexpr size_t kMaxOutputs = 40;
      if (drawn++ >= kMaxOutputs || tied.contains(t)) {
        ++rest;
        if (rest_node < 0) {
          const int32_t group = view_.training ? GroupOfOne(view_.nodes[from].group) : 0;
          rest_node = static_cast<int32_t>(AddNode(RestNode(ViewNode::Kind::kOutput), group, view_.nodes[from].phase));
        }
        ConnectEnd(from, static_cast<uint32_t>(rest_node), t, boxed, layout);
        continue;
      }
      ViewNode node = OutputNode(plan_, t, layout, options_.notation);
      node.order = view_.nodes[from].order;
      const Phase phase = view_.nodes[from].phase;
      const uint32_t output = AddNode(std::move(node), GroupOfOne(view_.nodes[from].group), phase);
      output_nodes.emplace(place, std::pair(output, 1));
      ConnectEnd(from, output, t, boxed, layout);
    }
    for (const auto& [place, output] : output_nodes) {
      if (output.second > 1) view_.nodes[output.first].title += StrCat("  × ", output.second);
    }
    if (rest_node < 0) return;
    view_.nodes[rest_node].order = plan_.graph.ops.size();
    view_.nodes[rest_node].title = StrCat(rest, tied.empty() ? " more outputs" : MergedTitle(plan_, view_.training));
  }

  // Through the boxing that the output's end asks for, if any.
  void ConnectEnd(uint32_t from, uint32_t output, TensorId t, int32_t boxed, const NdSbp* layout) {
    const bool drawable = boxed >= 0 && ValidTransition(plan_.transitions[boxed]);
    const uint32_t last = drawable ? static_cast<uint32_t>(Boxed(static_cast<uint32_t>(boxed), from, output)) : from;
    edges_.Add(last, output, t, layout);
  }

  void Finish() {
    for (const auto& [node, merged] : merged_) {
      if (merged.steps < 2) continue;
      view_.nodes[node].title += StrCat("  × ", merged.steps);
      if (!RowOf(view_.nodes[node].collective).local) {
        view_.nodes[node].lines.back() = StrCat(FormatBytes(merged.bytes), " · ", FormatSeconds(merged.seconds));
      }
    }
    if (rest_of_sources_ >= 0) {
      view_.nodes[rest_of_sources_].title = StrCat(unseen_sources_.size(), " more inputs and parameters");
    }
    edges_.WriteTo(view_, rest_of_outputs_);
    MakeTitle();
    view_.legend = LegendOf(view_, IsBareGraph(plan_));
  }

  void MakeTitle() {
    view_.title = TitleOf(plan_, options_.step_seconds);
    if (const std::string peak = PeakParts(plan_); !peak.empty()) view_.title.push_back(peak);
    view_.notes = WarningNotes(plan_);
    if (opening_.closed_for_size > 0) view_.notes.push_back(FoldedNote(opening_, options_.max_nodes, most_));
    if (folded_kept_) view_.notes.push_back("what folded layers keep for the backward pass has no edges of its own");
    if (undrawn_steps_ > 0) view_.notes.push_back(StrCat(undrawn_steps_, " collectives are not drawn"));
  }

  struct Merged {
    int64_t steps = 0;  // runs of all of them
    double bytes = 0, seconds = 0;
  };

  const Plan& plan_;
  const Outline& outline_;
  const Opening& opening_;
  const RenderOptions& options_;
  const size_t most_;  // ops and folded scopes, whatever is asked for
  const TransitionIndex transitions_;
  const StepCosts costs_;
  const size_t limit_;
  View view_;
  std::vector<int32_t> node_of_op_;  // -1: in a folded copy
  std::vector<Closed> closed_;
  std::map<uint32_t, size_t> closed_of_node_;
  std::map<TensorId, uint32_t> source_nodes_;
  std::vector<bool> side_;                                                  // per op: makes a side table
  std::vector<bool> side_inputs_;                                           // per tensor
  std::map<std::tuple<uint32_t, int64_t, int32_t>, uint32_t> table_nodes_;  // producer, result, group of the reader
  std::map<uint32_t, std::set<TensorId>> many_inputs_;                      // by folded node
  std::map<uint32_t, uint32_t> input_nodes_;                                // which stand for them
  std::map<TensorId, std::set<TensorId>> folded_inputs_;                    // by the input that is drawn for them
  std::set<TensorId> unseen_sources_;
  int32_t rest_of_sources_ = -1, rest_of_outputs_ = -1;
  std::map<uint32_t, uint32_t> last_step_;                                 // transition -> node
  std::map<std::tuple<uint32_t, uint32_t, std::string>, uint32_t> steps_;  // from, to, what
  std::map<uint32_t, Merged> merged_;
  EdgesOfView edges_;
  bool folded_kept_ = false;  // some edges of kept tensors are not drawn
  size_t undrawn_steps_ = 0;
};

}  // namespace

Result<View> MakeView(const Plan& plan, const RenderOptions& given, size_t most) {
  RenderOptions options = given;
  options.max_nodes = std::clamp<size_t>(options.max_nodes, 10, most);
  const Outline outline = BuildOutline(plan, {.max_items = options.max_nodes / 2});
  SBP_ASSIGN_OR_RETURN(const Opening opening,
                       ChooseOpening(outline, OpWeights(plan), {options.expand, options.max_nodes, most}));
  return ViewBuilder(plan, outline, opening, options, most).Build();
}

}  // namespace sbp
