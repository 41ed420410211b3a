#include "torch/node_reader.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"

namespace sbp::torch {
namespace {

constexpr std::string_view kOps = "torch.ops.";
constexpr int64_t kMaxOps = 4000000;  // with subgraphs that are called again
constexpr size_t kMostViews = 64;     // of views, each of which an op in place makes anew

// Ops whose result shows the memory of their first operand. Reshapes may.
constexpr std::array<std::string_view, 29> kViews = {
    "aten::alias",    "aten::as_strided",   "aten::chunk",     "aten::detach",
    "aten::diagonal", "aten::expand",       "aten::expand_as", "aten::flatten",
    "aten::narrow",   "aten::permute",      "aten::reshape",   "aten::select",
    "aten::slice",    "aten::split",        "aten::squeeze",   "aten::split_with_sizes",
    "aten::t",        "aten::transpose",    "aten::unbind",    "aten::unflatten",
    "aten::unfold",   "aten::unsqueeze",    "aten::view",      "aten::view_as",
    "aten::numpy_T",  "aten::_unsafe_view", "aten::mT",        "aten::mH",
    "aten::adjoint"};

bool IsView(std::string_view type) { return std::ranges::find(kViews, type.substr(0, type.find('.'))) != kViews.end(); }

struct Target {
  std::string type;       // "aten::add.Tensor"
  bool in_place = false;  // the first operand holds the result
};

// "torch.ops.aten.add_.Tensor" -> aten::add.Tensor, in place.
Target TargetOf(std::string_view target) {
  if (!target.starts_with(kOps)) return {StrCat("python::", target), false};
  target.remove_prefix(kOps.size());
  const size_t space = target.find('.');
  if (space == std::string_view::npos) return {std::string(target), false};
  std::string_view name = target.substr(space + 1);
  std::string_view overload;
  if (const size_t dot = name.find('.'); dot != std::string_view::npos) {
    overload = name.substr(dot);
    name = name.substr(0, dot);
  }
  if (overload == ".default") overload = "";
  const bool in_place = name.size() > 1 && name.ends_with('_') && !name.ends_with("__");
  if (in_place) name.remove_suffix(1);
  return {StrCat(target.substr(0, space), "::", name, overload), in_place};
}

bool HasTensors(const std::vector<Argument>& arguments) {
  return std::ranges::any_of(arguments, [](const Argument& argument) { return !argument.tensors.empty(); });
}

void NoteNames(const std::vector<Argument>& arguments, std::unordered_set<std::string>& names) {
  for (const Argument& argument : arguments) names.insert(argument.tensors.begin(), argument.tensors.end());
}

}  // namespace

std::string NodeReader::NewName(std::string_view hint) {
  std::string name(hint);
  if (Claim(name)) return name;
  int& number = numbers_.try_emplace(name, 1).first->second;  // no number is tried twice for a name
  do name = StrCat(hint, "_", ++number);
  while (!Claim(name));
  return name;
}

std::string NodeReader::Lookup(const std::string& name, const Frame& frame) {
  const auto known = frame.names.find(name);
  const auto first = updated_.find(known == frame.names.end() ? name : known->second);
  if (first == updated_.end()) return known == frame.names.end() ? name : known->second;
  std::string last = first->second;
  for (auto later = updated_.find(last); later != updated_.end(); later = updated_.find(last)) last = later->second;
  first->second = last;  // the next time in one step
  return last;
}

Status NodeReader::Read(const Subgraph& graph, Frame& frame) {
  std::unordered_set<std::string> read;
  for (const Node& node : graph.nodes) NoteNames(node.inputs, read);
  NoteNames(graph.outputs, read);
  std::swap(read_, read);
  for (const Node& node : graph.nodes) SBP_RETURN_IF_ERROR(ReadNode(node, graph, frame));
  std::swap(read_, read);
  return OkStatus();
}

Status NodeReader::ReadNode(const Node& node, const Subgraph& graph, Frame& frame) {
  const auto subgraph = std::ranges::find(node.inputs, Argument::Kind::kSubgraph, &Argument::kind);
  if (subgraph != node.inputs.end()) {
    return Inline(node, static_cast<size_t>(subgraph - node.inputs.begin()), frame);
  }
  // Arithmetic on sizes, which arguments have as expressions; and checks.
  if (!HasTensors(node.outputs)) return OkStatus();
  if (builder_.graph().ops.size() > kMaxOps) return BadInput("subgraphs make too many ops");
  return AddOp(node, graph, frame);
}

// Of results of a region without gradients nothing is learned.
std::string NodeReader::Detached(const Node& node, const std::string& result, const std::string& name) {
  const Tensor& inner = builder_.graph().tensor(builder_.Tensor(result));
  if (is_joint_ || (!IsFloat(inner.type.dtype) && !IsComplex(inner.type.dtype))) return result;
  std::string detached = NewName(StrCat(name, "/detached"));
  builder_.DescribeTensor(detached, inner.type, inner.symbols);
  Attributes attributes;
  attributes.Set("_operands", std::vector<std::string>{"self"});
  builder_.AddOp("aten::detach", detached, {result}, {detached}, std::move(attributes), node.module);
  NoteView(detached, {result, "aten::detach", {}});
  return detached;
}

// Regions that change how torch runs (gradients on or off, autocast off), not what is computed.
Status NodeReader::Inline(const Node& node, size_t subgraph, Frame& frame) {
  const bool is_region = node.target.find("higher_order.wrap") != std::string::npos ||
                         node.target.find("higher_order.invoke_subgraph") != std::string::npos;
  if (!is_region) return BadInput(StrCat(PlaceOf(node), ": control flow is not read; export with it unrolled"));
  const bool is_autocast = node.target.find("autocast") != std::string::npos;
  if (is_autocast && node.inputs.size() > 2 && node.inputs[2].value == AttributeValue(int64_t{1})) {
    return BadInput(StrCat(PlaceOf(node), ": autocast changes types; export after program.run_decompositions()"));
  }
  if (++depth_ > kMaxSubgraphDepth) return BadInput("graphs are nested too deeply");
  const Subgraph& inner = *node.inputs[subgraph].subgraph;
  const bool has_id = node.target.find("invoke_subgraph") != std::string::npos;
  const size_t first = subgraph + (has_id ? 2 : 1);
  if (node.inputs.size() < first || node.inputs.size() - first != inner.inputs.size()) {
    return BadInput(StrCat(PlaceOf(node), ": its subgraph takes ", inner.inputs.size(), " arguments"));
  }
  Frame called;
  for (size_t i = 0; i < inner.inputs.size(); ++i) {
    const Argument& from = node.inputs[first + i];
    const Argument& to = inner.inputs[i];
    if (from.tensors.size() != to.tensors.size()) return BadInput(StrCat(PlaceOf(node), ": arguments do not fit"));
    for (size_t k = 0; k < to.tensors.size(); ++k) called.names[to.tensors[k]] = Lookup(from.tensors[k], frame);
  }
  SBP_RETURN_IF_ERROR(Read(inner, called));
  --depth_;
  std::vector<std::string> results, names;
  for (const Argument& output : inner.outputs)
    results.insert(results.end(), output.tensors.begin(), output.tensors.end());
  for (const Argument& output : node.outputs) names.insert(names.end(), output.tensors.begin(), output.tensors.end());
  if (results.size() < names.size()) return BadInput(StrCat(PlaceOf(node), ": results do not fit"));
  const bool sets_gradients = node.target.find("set_grad_enabled") != std::string::npos;
  const bool is_detached = sets_gradients && node.inputs[0].value == AttributeValue(int64_t{0});
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string result = Lookup(results[i], called);
    frame.names[names[i]] = is_detached && read_.contains(names[i]) ? Detached(node, result, names[i]) : result;
  }
  return OkStatus();
}

std::vector<std::string> NodeReader::Results(const Node& node, const Subgraph& graph, Frame& frame) {
  std::vector<std::string> results;
  for (const Argument& output : node.outputs) {
    for (const std::string& name : output.tensors) {
      const auto meta = graph.tensors.find(name);
      const bool wanted = read_.contains(name) || (node.outputs.size() == 1 && output.tensors.size() == 1);
      if (name.empty() || !wanted || meta == graph.tensors.end()) {
        results.emplace_back();
        continue;
      }
      const auto [known, is_new] = frame.names.try_emplace(name, name);
      if (is_new) known->second = NewName(name);
      results.push_back(known->second);
      builder_.DescribeTensor(known->second, meta->second.type, meta->second.symbols);
    }
    if (output.tensors.empty()) results.emplace_back();
  }
  // Of a list each entry has its place, also where nobody reads the last.
  const bool is_list = std::ranges::any_of(node.outputs, &Argument::is_list);
  while (!is_list && !results.empty() && results.back().empty()) results.pop_back();
  return results;
}

Status NodeReader::AddOp(const Node& node, const Subgraph& graph, Frame& frame) {
  Target target = TargetOf(node.target);
  if (is_joint_ && target.type == "aten::detach") target.type = "aten::alias";
  std::vector<std::string> operands, names, symbolic;
  Attributes attributes;
  for (const Argument& argument : node.inputs) {
    for (const std::string& tensor : argument.tensors) {
      operands.push_back(tensor.empty() ? "" : Lookup(tensor, frame));
      names.push_back(argument.name);
      SBP_RETURN_IF_ERROR(CheckFresh(operands.back(), PlaceOf(node), tensor));
    }
    if (argument.kind == Argument::Kind::kExpression) {
      symbolic.push_back(StrCat(argument.name, argument.is_list ? "[]" : ""));
    }
    const bool has_value = argument.kind == Argument::Kind::kValue || argument.kind == Argument::Kind::kExpression;
    if (has_value) attributes.Set(argument.name, argument.value);
  }
  attributes.Set("_operands", std::move(names));
  if (!symbolic.empty()) attributes.Set("_symbolic", std::move(symbolic));
  const std::string first = operands.empty() ? "" : operands.front();
  std::vector<std::string> results = Results(node, graph, frame);
  const auto first_result = std::ranges::find_if(results, [](const std::string& name) { return !name.empty(); });
  if (first_result == results.end()) return OkStatus();
  const OpId id = builder_.AddOp(target.type, node.name.empty() ? *first_result : node.name, operands, results,
                                 std::move(attributes), node.module);
  if (!node.source.empty()) builder_.graph().op(id).metadata.emplace_back("source", node.source);
  if (target.in_place) return Update(node, first, results.front());
  if (!IsView(target.type) || first.empty()) return OkStatus();
  for (const std::string& result : results) {
    if (!result.empty()) NoteView(result, {first, target.type, *builder_.graph().op(id).attributes});
  }
  return OkStatus();
}

void NodeReader::NoteView(const std::string& view, ViewMade made) {
  const auto outer = base_.find(made.of);
  const std::string base = outer == base_.end() ? made.of : outer->second;
  base_[view] = base;
  views_[base].push_back(view);
  made_.insert_or_assign(view, std::move(made));
}

Status NodeReader::Update(const Node& node, const std::string& before, const std::string& after) {
  if (before.empty() || before == after || node.target.find("detach_") != std::string::npos) return OkStatus();
  for (std::string view = before; base_.contains(view); view = made_.at(view).of) {
    const TensorId whole = builder_.Tensor(made_.at(view).of);
    if (!WriteBackOf(made_.at(view), builder_.graph().tensor(whole).type)) return Abandon(node, view, before, after);
  }
  // From the view that has changed to what it is a view of, and so on: each anew.
  std::vector<std::pair<std::string, std::string>> anew = {{before, after}};
  while (base_.contains(anew.back().first)) {
    const auto [view, value] = anew.back();
    const ViewMade& made = made_.at(view);
    if (anew.size() > kMostViews) {
      return BadInput(StrCat(PlaceOf(node), ": changes ", Quote(before), ", a view of more than ", kMostViews,
                             " views, in place; export after program.run_decompositions()"));
    }
    const TensorId whole = builder_.Tensor(made.of);
    const std::optional<WriteBack> write = WriteBackOf(made, builder_.graph().tensor(whole).type);
    const std::string name = NewName(StrCat(node.name, "/", made.of));
    builder_.DescribeTensor(name, builder_.graph().tensor(whole).type, builder_.graph().tensor(whole).symbols);
    std::vector<std::string> operands = {value};
    if (write->takes_whole) operands.insert(operands.begin(), made.of);
    builder_.AddOp(write->type, name, operands, {name}, write->attributes, node.module);
    anew.emplace_back(made.of, name);
  }
  const std::string& base = anew.back().first;
  for (const std::string& view : views_[base]) stale_[view] = node.name;
  views_.erase(base);
  // The views that were written through show the new whole.
  for (size_t i = anew.size(); i-- > 0;) {
    const auto& [old_name, new_name] = anew[i];
    if (i + 1 < anew.size()) {
      ViewMade made = made_.at(old_name);
      made.of = anew[i + 1].second;
      NoteView(new_name, std::move(made));
    }
    updated_[old_name] = new_name;
  }
  return OkStatus();
}

Status NodeReader::Abandon(const Node& node, const std::string& view, const std::string& before,
                           const std::string& after) {
  const std::string base = base_.at(before);
  const TensorId whole = builder_.Tensor(base);
  if (builder_.graph().tensor(whole).role != TensorRole::kActivation) {
    return BadInput(StrCat(PlaceOf(node), ": changes ", Quote(view), ", a view of ", Quote(base), " by ",
                           made_.at(view).type, ", in place; export after program.run_decompositions()"));
  }
  stale_[base] = node.name;
  for (const std::string& other : views_[base]) stale_[other] = node.name;
  views_.erase(base);
  updated_[before] = after;
  return OkStatus();
}

Status NodeReader::CheckFresh(const std::string& tensor, std::string_view reader, std::string_view name) const {
  const auto stale = stale_.find(tensor);
  if (stale == stale_.end()) return OkStatus();
  return BadInput(StrCat(reader, ": reads ", Quote(name), ", which shows memory that ", Quote(stale->second),
                         " changed in place; export after program.run_decompositions()"));
}

}  // namespace sbp::torch
