#include "io/pins.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/ids.h"
#include "base/text.h"
#include "base/utf8.h"
#include "graph/simplified.h"
#include "graph/tensor_type.h"
#include "io/pin_targets.h"
#include "naming/module_index.h"
#include "rule/syntax.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

constexpr std::string_view kForms =
    "expected TENSOR=(S(0), B), TENSOR<-(S(0), B), TENSOR==(S(0), B), OP.OPERAND=(S(0), B), or OP: (S(0), B), (B, B) "
    "-> "
    "(S(0), B)";

constexpr int kMaxDivisions = 256;  // places tried, so that a hostile line takes linear time

// A pin taken apart: a signature for `name`, or a layout for it (a tensor, or an op and its operand).
struct PinParts {
  std::string_view name;
  PinOperator op = PinOperator::kLies;
  std::string_view layout;  // as written, when there is no signature
  NdSbp sbp;
  std::optional<Signature> signature;
};

// Names may hold ':' and '=', and so may layouts ("[0] partial=[1:sum]"). So the text is divided where the right part
// reads as a layout or signature, looking from the right; when nothing does, the error is the likeliest place's.
Result<PinParts> TakeApart(std::string_view text, int mesh_axes) {
  Status error;
  int tries = text.find("->") != std::string_view::npos ? kMaxDivisions : 0;
  for (size_t at = text.rfind(':'); --tries >= 0 && at != std::string_view::npos && at > 0;
       at = text.rfind(':', at - 1)) {
    Result<Signature> signature = ParseSignature(Trim(text.substr(at + 1)), mesh_axes);
    if (signature.ok()) return PinParts{Trim(text.substr(0, at)), {}, "", {}, *std::move(signature)};
    // "a::b" is no place where a pin divides.
    const bool within_name = text[at - 1] == ':' || (at + 1 < text.size() && text[at + 1] == ':');
    if (error.ok() && !within_name) error = signature.status();
  }
  tries = kMaxDivisions;
  for (size_t end = text.size(); --tries >= 0 && end > 0;) {
    const PinDivision division = FindPinOperator(text.substr(0, end));
    if (division.name_size == 0) break;
    const std::string_view layout = Trim(text.substr(division.layout_begin));
    const std::string_view name = Trim(text.substr(0, division.name_size));
    const Result<NdSbp> sbp = ParseLayout(layout, mesh_axes);
    if (sbp.ok()) return PinParts{name, division.op, layout, *sbp, std::nullopt};
    if (error.ok() && !name.ends_with("partial")) error = sbp.status();
    end = division.name_size;
  }
  return error.ok() ? BadInput(std::string(kForms)) : error;
}

// What no mesh could make a pin of is wrong usage where it stands in a flag, not in a file; a layout that is written
// for another number of axes is bad input in both.
Status SyntaxError(const PinText& pin, const Status& error) {
  if (pin.where != "--pin") return error;
  for (int axes = 1; axes <= kMaxMeshAxes; ++axes) {
    if (TakeApart(Trim(pin.text), axes).ok()) return error;
  }
  return UsageError(error.message());
}

bool IsPattern(std::string_view name) { return name.find('*') != std::string_view::npos; }

template <typename IdType, typename Items>
std::vector<IdType> Matching(std::string_view pattern, const Items& items) {
  std::vector<IdType> ids;
  for (size_t i = 0; i < items.size(); ++i) {
    if (GlobMatch(pattern, items[i].name)) ids.push_back(IdType(i));
  }
  return ids;
}

// Names of the operands by position, of an op as its schema has them; "" where it has none.
class OperandNames {
 public:
  explicit OperandNames(const RuleSet& rules) : rules_(rules) {}

  // The position of operand `name` of an op of `type` with `count` operands: a schema's name in any case, "inputs[1]"
  // for a variadic one, or a number.
  std::optional<size_t> Position(std::string_view name, std::string_view type, size_t count) const {
    const std::optional<size_t> position = ByName(name, type);
    if (position) return *position < count ? position : std::nullopt;
    const std::optional<int64_t> number = ParseInt(name);
    if (number && *number >= 0 && static_cast<size_t>(*number) < count) return static_cast<size_t>(*number);
    return std::nullopt;
  }

  std::vector<std::string> Of(std::string_view type) const {
    std::vector<std::string> names;
    const OpDefinition* definition = rules_.Find(type);
    if (definition == nullptr) return names;
    for (const OpOverload& overload : definition->overloads) {
      for (const Parameter& parameter : overload.parameters) {
        const bool is_new = std::find(names.begin(), names.end(), parameter.name) == names.end();
        if (!parameter.keyword && is_new) names.push_back(parameter.name);
      }
    }
    return names;
  }

 private:
  std::optional<size_t> ByName(std::string_view name, std::string_view type) const {
    const OpDefinition* definition = rules_.Find(type);
    if (definition == nullptr) return std::nullopt;
    size_t element = 0;  // of a variadic operand
    std::string_view base = name;
    if (const size_t bracket = name.find('['); bracket != std::string_view::npos && name.ends_with(']')) {
      const auto index = ParseInt(name.substr(bracket + 1, name.size() - bracket - 2));
      if (!index || *index < 0) return std::nullopt;
      element = static_cast<size_t>(*index);
      base = name.substr(0, bracket);
    }
    for (const OpOverload& overload : definition->overloads) {
      size_t position = 0;
      for (const Parameter& parameter : overload.parameters) {
        if (parameter.keyword) break;
        if (EqualIgnoringCase(parameter.name, base) && (parameter.variadic || base == name)) return position + element;
        ++position;
      }
    }
    return std::nullopt;
  }

  const RuleSet& rules_;
};

// Adds pins to `pins`, refusing what contradicts an earlier one.
class PinAdder {
 public:
  PinAdder(const Graph& graph, const Mesh& mesh, Pins& pins) : graph_(graph), mesh_(mesh), pins_(pins) {}

  // The whole meaning of the three operators.
  Status PinTensor(TensorId id, PinOperator op, const NdSbp& layout, const std::string& text) {
    const Tensor& tensor = graph_.tensor(id);
    SBP_RETURN_IF_ERROR(CheckLayout(layout, tensor));
    // What has one layout at most lies as it is written.
    const bool is_written = tensor.producer.valid();
    const bool one_layout = mesh_.num_devices() == 1 || tensor.type.kind != ValueKind::kTensor;
    if (op == PinOperator::kWritten && !is_written) {
      return BadInput(StrCat("no op writes ", Quote(tensor.name), ", ",
                             tensor.role == TensorRole::kParameter ? "a parameter" : "an input", "; ", tensor.name, "=",
                             ToString(layout), " says how it starts"));
    }
    if (op != PinOperator::kLies || !is_written || one_layout)
      SBP_RETURN_IF_ERROR(Add(pins_.tensors, id, layout, text));
    if (op != PinOperator::kWritten && is_written && !one_layout)
      SBP_RETURN_IF_ERROR(Add(pins_.lies, id, layout, text));
    return op == PinOperator::kEverywhere ? PinReaders(id, layout, text) : OkStatus();
  }

  Status PinUse(OpId id, size_t operand, const NdSbp& layout, const std::string& text) {
    const Op& op = graph_.op(id);
    const TensorId tensor = OperandOf(op, operand);
    if (!tensor.valid()) return BadInput(StrCat("op ", Quote(op.name), " has no operand ", operand, " (it is absent)"));
    SBP_RETURN_IF_ERROR(CheckLayout(layout, graph_.tensor(tensor)));
    const auto [it, is_new] = pins_.uses.try_emplace(UseKey(id, operand), TensorPin{layout, text});
    if (is_new || it->second.layout == layout) return OkStatus();
    return Contradiction(StrCat("operand ", operand, " of op ", Quote(op.name)), it->second.text);
  }

  Status PinSignature(OpId id, Signature signature, const std::string& text) {
    const Op& op = graph_.op(id);
    const size_t given_inputs = signature.inputs.size();
    const size_t given_outputs = signature.outputs.size();
    const std::vector<TensorId> operands = graph_.OperandsOf(op);
    if (!Spread(operands, signature.inputs) || !Spread(op.outputs, signature.outputs)) {
      return BadInput(StrCat("op ", Quote(op.name), " (", graph_.type_of(op), ") has ", operands.size(),
                             " operands and ", op.outputs.size(), " results; the pin gives ", given_inputs,
                             " layouts and ", given_outputs));
    }
    SBP_RETURN_IF_ERROR(CheckLayouts(signature.inputs, operands));
    SBP_RETURN_IF_ERROR(CheckLayouts(signature.outputs, op.outputs));
    const auto [it, is_new] = pins_.signatures.try_emplace(id, SignaturePin{signature, text});
    if (is_new || it->second.signature == signature) return OkStatus();
    return Contradiction(StrCat("op ", Quote(op.name)), it->second.text);
  }

  size_t NumOperands(const Op& op) const { return op.inputs.size() + op.captures.size(); }

 private:
  static TensorId OperandOf(const Op& op, size_t operand) {
    return operand < op.inputs.size() ? op.inputs[operand] : op.captures[operand - op.inputs.size()];
  }

  Status Add(std::unordered_map<TensorId, TensorPin>& pins, TensorId id, const NdSbp& layout, const std::string& text) {
    const auto [it, is_new] = pins.try_emplace(id, TensorPin{layout, text});
    if (is_new || it->second.layout == layout) return OkStatus();
    return Contradiction(StrCat("tensor ", Quote(graph_.tensor(id).name)), it->second.text);
  }

  Status PinReaders(TensorId id, const NdSbp& layout, const std::string& text) {
    if (!uses_) uses_ = BuildUses(graph_);
    const auto [begin, end] = uses_->of(id);
    for (const Use* use = begin; use != end; ++use) {
      SBP_RETURN_IF_ERROR(PinUse(use->op, use->operand, layout, text));
    }
    return OkStatus();
  }

  // Absent operands (and results that nobody asked for) may be left out of a signature; they are B.
  bool Spread(const std::vector<TensorId>& ids, std::vector<NdSbp>& layouts) const {
    if (layouts.size() == ids.size()) return true;
    const auto is_present = [](TensorId id) { return id.valid(); };
    if (static_cast<size_t>(std::count_if(ids.begin(), ids.end(), is_present)) != layouts.size()) return false;
    std::vector<NdSbp> spread;
    size_t next = 0;
    for (const TensorId id : ids) spread.push_back(id.valid() ? layouts[next++] : NdSbp(mesh_.num_axes()));
    layouts = std::move(spread);
    return true;
  }

  Status CheckLayouts(const std::vector<NdSbp>& layouts, const std::vector<TensorId>& ids) const {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i].valid()) SBP_RETURN_IF_ERROR(CheckLayout(layouts[i], graph_.tensor(ids[i])));
    }
    return OkStatus();
  }

  Status CheckLayout(const NdSbp& layout, const Tensor& tensor) const {
    if (layout.size() != mesh_.num_axes()) {
      return BadInput(StrCat("layout ", ToString(layout), " is for ", layout.size(), " mesh axes; the mesh ",
                             ToString(mesh_), " has ", mesh_.num_axes()));
    }
    for (const Sbp sbp : layout) {
      if (!sbp.is_split() || sbp.dim() < tensor.type.rank()) continue;
      return BadInput(StrCat("layout ", ToString(layout), " splits dimension ", sbp.dim(), " of tensor ",
                             Quote(tensor.name), ", which is ", ToString(tensor.type)));
    }
    return OkStatus();
  }

  static Status Contradiction(std::string_view what, std::string_view earlier) {
    return NoPlan(StrCat(what, " is pinned already, differently, by ", earlier));
  }

  const Graph& graph_;
  const Mesh& mesh_;
  Pins& pins_;
  std::optional<UseTable> uses_;  // made when asked for
};

class TextPins {
 public:
  TextPins(const Graph& graph, const Mesh& mesh, const RuleSet& rules, Pins& pins)
      : graph_(graph), mesh_(mesh), names_(rules), adder_(graph, mesh, pins), targets_(graph, mesh), pins_(pins) {}

  Status Apply(const PinText& pin) {
    const std::string_view text = Trim(pin.text);
    const Result<PinParts> taken = TakeApart(text, mesh_.num_axes());
    if (!taken.ok()) return SyntaxError(pin, taken.status());
    const PinParts& parts = *taken;
    where_ = pin.where;
    if (parts.signature) return ApplySignature(parts, std::string(text));
    std::vector<TensorId> tensors = Tensors(parts.name);
    if (tensors.empty()) {
      SBP_ASSIGN_OR_RETURN(tensors, targets_.Find(parts.name, parts.sbp));
    }
    if (tensors.empty()) {
      if (parts.op == PinOperator::kLies) return ApplyUse(parts, std::string(text));
      return NoTensor(parts.name, NamesOf(graph_.tensors), "");
    }
    targets_.Record(parts.name, std::string(text), where_, tensors, pins_);
    for (const TensorId id : tensors) {
      SBP_RETURN_IF_ERROR(CheckDims(parts, graph_.tensor(id)));
      SBP_RETURN_IF_ERROR(adder_.PinTensor(id, parts.op, parts.sbp, std::string(text)));
    }
    return OkStatus();
  }

 private:
  // A pattern is matched; any other name is looked up, so that thousands of pins on a large graph stay cheap.
  std::vector<TensorId> Tensors(std::string_view name) {
    if (!IsPattern(name)) {
      const TensorId id = Index().tensor(name);
      return id.valid() ? std::vector<TensorId>{id} : PartsOf(name);
    }
    std::vector<TensorId> ids = Matching<TensorId>(name, graph_.tensors);
    for (const TensorId id : Parts()) {
      const Tensor& part = graph_.tensor(id);
      if (!GlobMatch(name, part.name) && GlobMatch(name, part.part->whole)) ids.push_back(id);
    }
    return ids;
  }
  // Parameters that hold a part of one of the model file: its name means all of them.
  const std::vector<TensorId>& Parts() {
    if (!parts_) {
      parts_.emplace();
      for (size_t t = 0; t < graph_.tensors.size(); ++t) {
        if (graph_.tensors[t].part != nullptr) parts_->push_back(TensorId(t));
      }
    }
    return *parts_;
  }
  std::vector<TensorId> PartsOf(std::string_view whole) {
    std::vector<TensorId> ids;
    for (const TensorId id : Parts()) {
      if (graph_.tensor(id).part->whole == whole) ids.push_back(id);
    }
    return ids;
  }
  std::vector<OpId> Ops(std::string_view name) {
    if (IsPattern(name)) return Matching<OpId>(name, graph_.ops);
    const OpId id = Index().op(name);
    if (id.valid()) return {id};
    if (!simplified_) {  // ops that each do a part of an op of the model file
      simplified_.emplace();
      for (size_t o = 0; o < graph_.ops.size(); ++o) {
        for (const auto& [key, value] : graph_.ops[o].metadata) {
          if (key == kSimplifiedFrom) (*simplified_)[value].push_back(OpId(o));
        }
      }
    }
    const auto parts = simplified_->find(name);
    return parts == simplified_->end() ? std::vector<OpId>{} : parts->second;
  }
  const NameIndex& Index() {
    if (!index_) index_.emplace(graph_);
    return *index_;
  }

  Status ApplySignature(const PinParts& parts, const std::string& text) {
    const std::vector<OpId> ops = Ops(parts.name);
    if (ops.empty()) {
      return BadInput(StrCat("no op is called ", Quote(parts.name), DidYouMean(parts.name, NamesOf(graph_.ops))));
    }
    targets_.RecordOps(text, where_, ops, pins_);
    for (const OpId id : ops) SBP_RETURN_IF_ERROR(adder_.PinSignature(id, *parts.signature, text));
    return OkStatus();
  }

  // OP.OPERAND, divided at the last '.' whose left part names ops.
  Status ApplyUse(const PinParts& parts, const std::string& text) {
    const std::string_view name = parts.name;
    for (size_t dot = name.rfind('.'); dot != std::string_view::npos && dot > 0; dot = name.rfind('.', dot - 1)) {
      const std::vector<OpId> ops = Ops(name.substr(0, dot));
      if (!ops.empty()) return PinUses(ops, name.substr(dot + 1), parts, text);
    }
    std::vector<std::string> known = NamesOf(graph_.tensors);
    const std::vector<std::string> ops = NamesOf(graph_.ops);
    known.insert(known.end(), ops.begin(), ops.end());
    return NoTensor(name, known, ", and no op's operand either");
  }

  Status NoTensor(std::string_view name, const std::vector<std::string>& known, std::string_view besides) {
    std::string near = ReadScopedName(name) ? "" : DidYouMean(name, known);
    if (near.empty()) near = targets_.DidYouMeanScopes(name);
    return BadInput(
        StrCat("no tensor ", IsPattern(name) ? "matches " : "is called ", Quote(name), besides, near,
               near.empty() && IsSimplified()
                   ? "; the graph was simplified while it was read: --no-simplify keeps all names of the file"
                   : ""));
  }

  bool IsSimplified() const {
    return std::ranges::any_of(graph_.ops, [](const Op& op) {
      return std::ranges::any_of(op.metadata, [](const auto& entry) { return entry.first == kSimplifiedFrom; });
    });
  }

  Status PinUses(const std::vector<OpId>& ops, std::string_view operand, const PinParts& parts,
                 const std::string& text) {
    std::vector<OpId> with_operand;
    for (const OpId id : ops) {
      const Op& op = graph_.op(id);
      const auto position = names_.Position(operand, graph_.type_of(op), adder_.NumOperands(op));
      if (!position) continue;
      with_operand.push_back(id);
      if (*position < op.inputs.size() && op.inputs[*position].valid()) {
        SBP_RETURN_IF_ERROR(CheckDims(parts, graph_.tensor(op.inputs[*position])));
      }
      SBP_RETURN_IF_ERROR(adder_.PinUse(id, *position, parts.sbp, text));
    }
    if (!with_operand.empty()) {
      targets_.RecordOps(text, where_, with_operand, pins_);
      return OkStatus();
    }
    const Op& first = graph_.op(ops.front());
    const std::vector<std::string> known = names_.Of(graph_.type_of(first));
    return BadInput(StrCat("op ", Quote(first.name), " (", graph_.type_of(first), ") has no operand ", Quote(operand),
                           "; expected ", known.empty() ? "" : Join(known, ", ") + " or ", "a position below ",
                           adder_.NumOperands(first)));
  }

  // The other spelling has one entry per dimension of the tensor.
  static Status CheckDims(const PinParts& parts, const Tensor& tensor) {
    if (!parts.layout.starts_with('[')) return OkStatus();
    SBP_ASSIGN_OR_RETURN(const DimsMapping mapping, ParseDimsMapping(parts.layout));
    if (mapping.dims.size() == tensor.type.shape.size()) return OkStatus();
    return BadInput(StrCat("layout ", Quote(parts.layout), " has ", mapping.dims.size(), " dimensions; tensor ",
                           Quote(tensor.name), " is ", ToString(tensor.type)));
  }

  template <typename Items>
  static std::vector<std::string> NamesOf(const Items& items) {
    std::vector<std::string> names;
    for (const auto& item : items) names.push_back(item.name);
    return names;
  }

  const Graph& graph_;
  const Mesh& mesh_;
  OperandNames names_;
  PinAdder adder_;
  std::optional<NameIndex> index_;
  std::optional<std::vector<TensorId>> parts_;
  std::optional<std::map<std::string, std::vector<OpId>, std::less<>>> simplified_;
  PinTargets targets_;
  Pins& pins_;
  std::string where_;  // of the pin at hand
};

}  // namespace

Result<std::vector<PinText>> ReadPinsFile(std::string_view content, std::string_view file) {
  std::vector<PinText> pins;
  size_t number = 0;
  for (const std::string_view line : Split(content, '\n')) {
    ++number;
    const std::string_view text = Trim(line);
    if (text.empty() || text.starts_with('#')) continue;
    // A comment may follow a pin; names with '#' stay whole because a blank must stand before it.
    const size_t comment = std::min(text.find(" #"), text.find("\t#"));
    const std::string_view pin = Trim(text.substr(0, comment));
    const bool divided = pin.find_first_of("=:") != std::string_view::npos;
    if (!divided) {
      const auto column = static_cast<size_t>(text.data() - line.data()) + 1;
      return BadInput(
          StrCat(file, ":", number, ":", column, ": ", Quote(CutAtCharacter(pin, 80)), " is no pin; ", kForms));
    }
    pins.push_back({std::string(pin), StrCat(file, ":", number)});
  }
  return pins;
}

Status ApplyPins(const std::vector<PinText>& texts, const Graph& graph, const Mesh& mesh, const RuleSet& rules,
                 Pins& pins) {
  TextPins reader(graph, mesh, rules, pins);
  for (const PinText& pin : texts) {
    const Status status = reader.Apply(pin);
    if (!status.ok()) return status.WithContext(StrCat(pin.where, " ", Quote(CutAtCharacter(pin.text, 200))));
  }
  return OkStatus();
}

Status ApplyGraphPins(const Graph& graph, const Mesh& mesh, Pins& pins) {
  PinAdder adder(graph, mesh, pins);
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[i];
    if (tensor.layout_pin.size() == 0) continue;
    const Status status = adder.PinTensor(TensorId(i), PinOperator::kLies, tensor.layout_pin,
                                          StrCat(tensor.name, "=", ToString(tensor.layout_pin)));
    if (!status.ok()) return status.WithContext(StrCat("pin of tensor ", Quote(tensor.name), " in the graph"));
  }
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (op.signature_pin.empty()) continue;
    const auto results = op.signature_pin.end() - static_cast<std::ptrdiff_t>(op.outputs.size());
    const Signature signature{{op.signature_pin.begin(), results}, {results, op.signature_pin.end()}};
    const Status status = adder.PinSignature(OpId(i), signature, StrCat(op.name, ": ", ToString(signature)));
    if (!status.ok()) return status.WithContext(StrCat("pin of op ", Quote(op.name), " in the graph"));
  }
  return OkStatus();
}

}  // namespace sbp
