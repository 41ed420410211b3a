#include "check/pins.h"

namespace sbp {

PinChecker::PinChecker(const Plan& plan, Findings& findings)
    : plan_(plan), tensor_done_(plan.graph.tensors.size(), false) {
  for (const std::string& text : plan.options.pins) Read(text, findings);
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
  // Names may hold '=' themselves, and so does "partial=[...]": the first one after which a layout stands.
  for (size_t at = text.find('='); at != std::string::npos; at = text.find('=', at + 1)) {
    const Result<NdSbp> layout = ParseLayout(Trim(std::string_view(text).substr(at + 1)), axes);
    if (!layout.ok()) continue;
    pin.name = Trim(std::string_view(text).substr(0, at));
    pin.layout = *layout;
    texts_.push_back(std::move(pin));
    return;
  }
  findings.Add(StrCat("pin ", Quote(text)), "cannot be read", "TENSOR=LAYOUT, OP.ARG=LAYOUT or OP: SIGNATURE", text);
}

void PinChecker::CheckTensor(TensorId id, Findings& findings) {
  if (!id.valid() || tensor_done_[id.index()]) return;
  tensor_done_[id.index()] = true;
  const Tensor& tensor = plan_.graph.tensor(id);
  const NdSbp& layout = plan_.source_layouts[id.index()];
  if (tensor.layout_pin.size() > 0 && !(tensor.layout_pin == layout)) {
    findings.Add(PlaceOf(plan_.graph, id), "pin of the graph is not held", ToString(tensor.layout_pin),
                 ToString(layout));
  }
  for (Text& pin : texts_) {
    const bool as_part = tensor.part != nullptr && GlobMatch(pin.name, tensor.part->whole);  // the pin means each part
    if (pin.whole_signature || (!as_part && !GlobMatch(pin.name, tensor.name))) continue;
    pin.matched = true;
    if (!(pin.layout == layout)) {
      findings.Add(PlaceOf(plan_.graph, id), StrCat("pin ", Quote(pin.text), " is not held"), ToString(pin.layout),
                   ToString(layout));
    }
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
  for (Text& pin : texts_) {
    if (pin.whole_signature) {
      if (!GlobMatch(pin.name, op.name)) continue;
      pin.matched = true;
      if (!(pin.signature == signature)) {
        findings.Add(PlaceOf(plan_.graph, id), StrCat("pin ", Quote(pin.text), " is not held"), ToString(pin.signature),
                     ToString(signature));
      }
      continue;
    }
    const size_t dot = pin.name.rfind('.');
    if (dot == std::string::npos || !GlobMatch(pin.name.substr(0, dot), op.name)) continue;
    const std::string argument = pin.name.substr(dot + 1);
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool named = (i < operand_names.size() && operand_names[i] == argument) || argument == StrCat(i);
      if (!named || !operands[i].valid()) continue;
      pin.matched = true;
      if (pin.layout == signature.inputs[i]) continue;
      findings.Add(PlaceOf(plan_.graph, id), StrCat("pin ", Quote(pin.text), " is not held"), ToString(pin.layout),
                   ToString(signature.inputs[i]));
    }
  }
}

void PinChecker::ReportUnmatched(Findings& findings) const {
  for (const Text& pin : texts_) {
    if (!pin.matched)
      findings.Add(StrCat("pin ", Quote(pin.text)), "matches nothing", "a tensor, an op or OP.ARG", pin.name);
  }
}

}  // namespace sbp
