#include "check/pins.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/simplified.h"
#include "graph/tensor_type.h"
#include "naming/fused_parts.h"
#include "naming/module_index.h"
#include "plan/ends.h"
#include "plan/plan.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

bool IsPattern(std::string_view name) { return name.find('*') != std::string_view::npos; }

// A parameter that holds a part of one of the model file answers to that one's name, too.
bool PinNames(const std::string& pattern, const Tensor& tensor) {
  return GlobMatch(pattern, tensor.name) || (tensor.part != nullptr && GlobMatch(pattern, tensor.part->whole));
}
constexpr int kMaxDivisions = 256;  // places tried, so that a hostile text takes linear time

// An op that stands for one of the model file answers to that one's name, too.
bool PinNamesOp(const std::string& pattern, const Op& op) {
  if (GlobMatch(pattern, op.name)) return true;
  return std::ranges::any_of(
      op.metadata, [&](const auto& entry) { return entry.first == kSimplifiedFrom && entry.second == pattern; });
}

}  // namespace

PinChecker::PinChecker(const Plan& plan, Findings& findings)
    : plan_(plan), tensor_done_(plan.graph.tensors.size(), false) {
  for (const std::string& text : plan.options.pins) Read(text, findings);
  FindScoped();
  IndexTexts();
  const bool in_graph =
      std::ranges::any_of(plan.graph.tensors, [](const Tensor& tensor) { return tensor.layout_pin.size() > 0; });
  if (texts_.empty() && !in_graph) return;
  uses_ = BuildUses(plan.graph);
  for (uint32_t i = 0; i < plan.transitions.size(); ++i) {
    made_[plan.transitions[i].tensor].push_back(i);
    for (const Use& use : plan.transitions[i].consumers) fed_.emplace(UseKey(use.op, use.operand), i);
  }
}

void PinChecker::FindScoped() {
  std::optional<ModuleIndex> index;
  std::unordered_set<std::string_view> names;
  for (const Tensor& tensor : plan_.graph.tensors) {
    names.insert(tensor.name);
    if (tensor.part != nullptr) names.insert(tensor.part->whole);
  }
  for (Text& pin : texts_) {
    const std::optional<ScopedName> name = pin.whole_signature ? std::nullopt : ReadScopedName(pin.name);
    if (!name) continue;
    const auto is_tensor = [&](std::string_view known) { return GlobMatch(pin.name, known); };
    if (IsPattern(pin.name) ? std::ranges::any_of(names, is_tensor) : names.contains(pin.name)) continue;
    if (!index) index.emplace(plan_.graph);
    const ScopedMatch match = index->Match(*name);
    pin.scoped.insert(match.tensors.begin(), match.tensors.end());
    for (const ModulePart& part : match.parts) pin.scoped.insert(part.is_tensor ? part.activation : part.parameter);
  }
}

void PinChecker::IndexTexts() {
  for (size_t i = 0; i < texts_.size(); ++i) {
    const Text& pin = texts_[i];
    for (const TensorId id : pin.scoped) by_scope_[id].push_back(i);
    if (IsPattern(pin.name)) {
      patterns_.push_back(i);
      continue;
    }
    by_name_[pin.name].push_back(i);
    const size_t dot = pin.name.rfind('.');
    if (!pin.whole_signature && dot != std::string::npos) by_name_[pin.name.substr(0, dot)].push_back(i);
  }
}

std::vector<size_t> PinChecker::TextsOf(const std::vector<std::string_view>& names, TensorId tensor) const {
  std::vector<size_t> found = patterns_;
  for (const std::string_view name : names) {
    if (const auto at = by_name_.find(name); at != by_name_.end())
      found.insert(found.end(), at->second.begin(), at->second.end());
  }
  if (const auto at = by_scope_.find(tensor); at != by_scope_.end())
    found.insert(found.end(), at->second.begin(), at->second.end());
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<size_t> PinChecker::TextsOf(TensorId id) const {
  const Tensor& tensor = plan_.graph.tensor(id);
  std::vector<std::string_view> names = {tensor.name};
  if (tensor.part != nullptr) names.push_back(tensor.part->whole);
  return TextsOf(names, id);
}

void PinChecker::Read(const std::string& given, Findings& findings) {
  const std::string text(Trim(given));
  const int axes = plan_.mesh.num_axes();
  Text pin;
  pin.text = text;
  if (const size_t colon = text.rfind(": ");
      colon != std::string::npos && text.find("->", colon) != std::string::npos) {
    const Result<Signature> signature = ParseSignature(Trim(std::string_view(text).substr(colon + 1)), axes);
    if (signature.ok()) {
      pin.name = Trim(std::string_view(text).substr(0, colon));
      pin.whole_signature = true;
      pin.signature = *signature;
      texts_.push_back(std::move(pin));
      return;
    }
  }
  // Names may hold '=' themselves, and so does "partial=[...]": the last operator after which a layout stands.
  int tries = kMaxDivisions;
  for (size_t end = text.size(); end > 0 && --tries >= 0;) {
    const PinDivision division = FindPinOperator(std::string_view(text).substr(0, end));
    if (division.name_size == 0) break;
    end = division.name_size;
    const Result<NdSbp> layout = ParseLayout(Trim(std::string_view(text).substr(division.layout_begin)), axes);
    if (!layout.ok()) continue;
    pin.name = Trim(std::string_view(text).substr(0, division.name_size));
    pin.op = division.op;
    pin.layout = *layout;
    texts_.push_back(std::move(pin));
    return;
  }
  findings.Add(StrCat("pin ", Quote(text)), "cannot be read",
               "TENSOR=LAYOUT, TENSOR<-LAYOUT, TENSOR==LAYOUT, OP.ARG=LAYOUT or OP: SIGNATURE", text);
}

// All readers and the end start from `layout`: nobody takes what was written, were it not for the one transition that
// brings it there.
std::string PinChecker::FaultOfReaders(TensorId id, const NdSbp& layout) {
  const NdSbp& written = plan_.source_layouts[id.index()];
  if (written == layout) return "";
  const std::vector<uint32_t>& made = made_[id];
  const auto stands = std::ranges::find_if(
      made, [&](uint32_t i) { return plan_.transitions[i].from == written && plan_.transitions[i].to == layout; });
  bool back = false;  // is the written layout made anew?
  for (const uint32_t i : made) {
    const Transition& transition = plan_.transitions[i];
    if (transition.from == written && transition.to != layout && !back) return StrCat("boxed from ", ToString(written));
    back = back || transition.to == written;
  }
  const auto [begin, end] = uses_.of(id);
  for (const Use* use = begin; use != end; ++use) {
    if (!fed_.contains(UseKey(use->op, use->operand))) {
      return StrCat(PlaceOf(plan_.graph, use->op), " reads it as ", ToString(written));
    }
  }
  for (size_t i = 0; i < plan_.graph.outputs.size(); ++i) {
    if (plan_.graph.outputs[i] == id && stands == made.end()) return StrCat("ends as ", ToString(written));
  }
  return "";
}

std::string PinChecker::Fault(TensorId id, PinOperator op, const NdSbp& layout) {
  const Tensor& tensor = plan_.graph.tensor(id);
  const NdSbp& written = plan_.source_layouts[id.index()];
  const bool one_layout = plan_.mesh.num_devices() == 1 || tensor.type.kind != ValueKind::kTensor;
  const bool is_start = !tensor.producer.valid() || one_layout;
  if ((op != PinOperator::kLies || is_start) && !(layout == written)) return ToString(written);
  if (op == PinOperator::kEverywhere) {
    const auto [begin, end] = uses_.of(id);
    for (const Use* use = begin; use != end; ++use) {
      const NdSbp& taken = plan_.decision(use->op).signature.inputs[use->operand];
      if (!(taken == layout)) return StrCat(PlaceOf(plan_.graph, use->op), " takes it as ", ToString(taken));
    }
  }
  return op == PinOperator::kWritten || is_start ? "" : FaultOfReaders(id, layout);
}

void PinChecker::CheckTensor(TensorId id, Findings& findings) {
  if (!id.valid() || tensor_done_[id.index()]) return;
  tensor_done_[id.index()] = true;
  const Tensor& tensor = plan_.graph.tensor(id);
  const auto check = [&](PinOperator op, const NdSbp& layout, const std::string& what) {
    const std::string fault = Fault(id, op, layout);
    if (!fault.empty()) findings.Add(PlaceOf(plan_.graph, id), what + " is not held", ToString(layout), fault);
  };
  if (tensor.layout_pin.size() > 0) check(PinOperator::kLies, tensor.layout_pin, "pin of the graph");
  for (const size_t text : TextsOf(id)) {
    Text& pin = texts_[text];
    if (pin.whole_signature || (!PinNames(pin.name, tensor) && !pin.scoped.contains(id))) continue;
    pin.matched = true;
    check(pin.op, pin.layout, StrCat("pin ", Quote(pin.text)));
  }
}

void PinChecker::CheckOutputs(Findings& findings) const {
  const OutputPolicy policy = plan_.options.outputs;
  if (policy == OutputPolicy::kAny || plan_.mesh.num_devices() == 1) return;
  const std::vector<NdSbp> layouts = OutputLayoutsOf(plan_);
  for (size_t i = 0; i < layouts.size(); ++i) {
    const TensorId id = plan_.graph.outputs[i];
    const Tensor& tensor = plan_.graph.tensor(id);
    if (tensor.type.kind != ValueKind::kTensor) continue;
    const bool is_tied = std::ranges::any_of(plan_.graph.ties, [&](const Tie& tie) { return tie.output == id; });
    if (is_tied) continue;
    const auto says_how = [&](size_t text) {
      const Text& pin = texts_[text];
      return !pin.whole_signature && pin.op != PinOperator::kWritten &&
             (PinNames(pin.name, tensor) || pin.scoped.contains(id));
    };
    const bool is_pinned =
        tensor.producer.valid() && (tensor.layout_pin.size() > 0 || std::ranges::any_of(TextsOf(id), says_how));
    const bool whole = policy == OutputPolicy::kWhole && !is_pinned;
    if (whole ? layouts[i].is_broadcast() : !layouts[i].has_partial()) continue;
    findings.Add(PlaceOf(plan_.graph, id), StrCat("an output that must end ", whole ? "whole" : "without P"),
                 whole ? "B" : "no P", ToString(layouts[i]));
  }
}

void PinChecker::Check(OpId id, const Signature& signature, const std::vector<std::string>& operand_names,
                       Findings& findings) {
  const Op& op = plan_.graph.op(id);
  const std::vector<TensorId> operands = plan_.graph.OperandsOf(op);
  for (TensorId t : operands) CheckTensor(t, findings);
  for (TensorId t : op.outputs) CheckTensor(t, findings);
  if (!op.signature_pin.empty()) {
    std::vector<NdSbp> all = signature.inputs;
    all.insert(all.end(), signature.outputs.begin(), signature.outputs.end());
    if (all != op.signature_pin) {
      findings.Add(PlaceOf(plan_.graph, id), "signature pin of the graph is not held",
                   Join(
                       [&] {
                         std::vector<std::string> parts;
                         for (const NdSbp& s : op.signature_pin) parts.push_back(ToString(s));
                         return parts;
                       }(),
                       ", "),
                   ToString(signature));
    }
  }
  std::vector<std::string_view> names = {op.name};
  for (const auto& [key, from] : op.metadata) {
    if (key == kSimplifiedFrom) names.push_back(from);
  }
  for (const size_t text : TextsOf(names)) {
    Text& pin = texts_[text];
    if (pin.whole_signature) {
      if (!PinNamesOp(pin.name, op)) continue;
      pin.matched = true;
      if (!(pin.signature == signature)) {
        findings.Add(PlaceOf(plan_.graph, id), StrCat("pin ", Quote(pin.text), " is not held"), ToString(pin.signature),
                     ToString(signature));
      }
      continue;
    }
    const size_t dot = pin.name.rfind('.');
    if (dot == std::string::npos || !PinNamesOp(pin.name.substr(0, dot), op)) continue;
    const std::string argument = pin.name.substr(dot + 1);
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool named =
          (i < operand_names.size() && EqualIgnoringCase(operand_names[i], argument)) || argument == StrCat(i);
      if (!named || !operands[i].valid()) continue;
      pin.matched = true;
      if (pin.layout == signature.inputs[i]) continue;
      findings.Add(PlaceOf(plan_.graph, id), StrCat("pin ", Quote(pin.text), " is not held"), ToString(pin.layout),
                   ToString(signature.inputs[i]));
    }
  }
}

void PinChecker::ReportUnmatched(Findings& findings) const {
  // An input that nothing reads has no place in a plan: whatever is asked of it holds.
  const auto names_idle = [&](const Text& pin) {
    return std::ranges::any_of(plan_.graph.tensors, [&](const Tensor& tensor) {
      const auto id = TensorId(static_cast<size_t>(&tensor - plan_.graph.tensors.data()));
      return !tensor_done_[id.index()] && PinNames(pin.name, tensor);
    });
  };
  for (const Text& pin : texts_) {
    if (!pin.matched && !names_idle(pin))
      findings.Add(StrCat("pin ", Quote(pin.text)), "matches nothing", "a tensor, an op or OP.ARG", pin.name);
  }
}

}  // namespace sbp
