#include "grad/unroll.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "grad/between.h"
#include "grad/known_numbers.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

constexpr std::array<std::string_view, 14> kUnrolled = {"ConcatFromSequence",
                                                        "Loop",
                                                        "Optional",
                                                        "OptionalGetElement",
                                                        "Scan",
                                                        "SequenceAt",
                                                        "SequenceConstruct",
                                                        "SequenceEmpty",
                                                        "SequenceErase",
                                                        "SequenceInsert",
                                                        "SequenceLength",
                                                        "SequenceMap",
                                                        "SplitToSequence",
                                                        "OptionalHasElement"};

using Tensors = std::vector<TensorId>;

const Graph* BodyGraph(const Op& op) {
  const AttributeValue* value = op.attributes->Find("body");
  const auto* body = value == nullptr ? nullptr : std::get_if<std::shared_ptr<const Graph>>(value);
  return body == nullptr ? nullptr : body->get();
}

int64_t ListEntry(const Op& op, std::string_view name, size_t i) {
  const std::vector<int64_t>* list = op.attributes->Ints(name);
  return list != nullptr && i < list->size() ? (*list)[i] : 0;
}

class Unroller {
 public:
  explicit Unroller(Graph graph) : out_(std::move(graph)) {
    ops_ = std::move(out_.ops);
    out_.ops.clear();
    for (Tensor& tensor : out_.tensors) {
      names_.insert(tensor.name);
      tensor.producer = OpId();
    }
    for (const Op& op : ops_) op_names_.insert(op.name);
  }

  Result<Graph> Run(const std::vector<bool>& chosen) {
    for (size_t i = 0; i < ops_.size(); ++i) {
      const Status emitted = Emit(ops_[i], chosen[i]);
      if (!emitted.ok()) return emitted.WithContext(StrCat("op ", Quote(ops_[i].name)));
    }
    for (TensorId& id : out_.outputs) Name(id);
    for (Tie& tie : out_.ties) Name(tie.output);
    return std::move(out_);
  }

 private:
  TensorId Resolved(TensorId id) const {
    const auto it = alias_.find(id);
    return it == alias_.end() ? id : it->second;
  }

  // An output that is another tensor now: a copy keeps its name.
  void Name(TensorId id) {
    const TensorId from = Resolved(id);
    if (from == id || out_.tensor(id).producer.valid()) return;
    Append("Identity", StrCat(out_.tensor(id).name, "/copy"), {from}, {id}, {}, 0);
  }

  Status Emit(Op op, bool chosen) {
    for (Tensors* list : {&op.inputs, &op.captures}) {
      for (TensorId& id : *list) id = id.valid() ? Resolved(id) : id;
    }
    const std::string type = out_.type_of(op);
    if (chosen && type == "Loop") return EmitLoop(op);
    if (chosen && type == "Scan") return EmitScan(op);
    if (IsUnrolled(type)) {
      if (TakeSequence(type, op)) return OkStatus();
      if (chosen && type == "SequenceMap" && Known(op.inputs[0]) != nullptr) return EmitMap(op);
    }
    AddOp(std::move(op));
    return OkStatus();
  }

  void AddOp(Op op) {
    const OpId id(out_.ops.size());
    for (size_t r = 0; r < op.outputs.size(); ++r) {
      if (!op.outputs[r].valid()) continue;
      out_.tensor(op.outputs[r]).producer = id;
      out_.tensor(op.outputs[r]).producer_index = static_cast<uint32_t>(r);
    }
    out_.ops.push_back(std::move(op));
  }

  uint32_t TypeIndex(std::string_view type) {
    const auto it = std::ranges::find(out_.op_types, type);
    if (it != out_.op_types.end()) return static_cast<uint32_t>(it - out_.op_types.begin());
    out_.op_types.emplace_back(type);
    return static_cast<uint32_t>(out_.op_types.size() - 1);
  }

  static std::string Unique(std::unordered_set<std::string>& taken, const std::string& name) {
    std::string unique = name;
    for (int number = 2; !taken.insert(unique).second; ++number) unique = StrCat(name, "_", number);
    return unique;
  }

  TensorId AddTensor(Tensor tensor, const std::string& name) {
    const TensorId id(out_.tensors.size());
    tensor.name = Unique(names_, name);
    tensor.producer = OpId();
    out_.tensors.push_back(std::move(tensor));
    return id;
  }

  TensorId Constant(Literal literal) {
    Tensor tensor;
    tensor.type = literal.type;
    tensor.role = TensorRole::kParameter;
    tensor.literal = std::make_shared<const Literal>(std::move(literal));
    return AddTensor(std::move(tensor), "unrolled/constant");
  }
  TensorId Number(int64_t value) {
    auto [it, is_new] = numbers_.try_emplace(value);
    if (is_new) it->second = Constant(Literal::Scalar(value));
    return it->second;
  }
  TensorId List(int64_t value) {
    auto [it, is_new] = lists_.try_emplace(value);
    if (is_new) it->second = Constant(Literal::Ints({value}));
    return it->second;
  }

  void Append(std::string_view type, const std::string& name, Tensors inputs, Tensors outputs, Attributes attributes,
              uint32_t scope) {
    Op op;
    op.name = Unique(op_names_, name);
    op.type = TypeIndex(type);
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    op.attributes = std::make_shared<const Attributes>(std::move(attributes));
    op.scope = scope;
    AddOp(std::move(op));
  }

  TensorId Call(std::string_view op, const std::string& name, Tensors inputs, TensorType type, Attributes attributes,
                uint32_t scope) {
    Tensor made;
    made.type = std::move(type);
    const TensorId result = AddTensor(std::move(made), name);
    Append(op, name, std::move(inputs), {result}, std::move(attributes), scope);
    return result;
  }

  // Element `at` along an axis, which is left out.
  TensorId Element(TensorId of, int64_t axis, int64_t at, const std::string& name, uint32_t scope) {
    TensorType type = out_.tensor(of).type;
    type.shape.erase(type.shape.begin() + axis);
    Attributes attributes;
    attributes.Set("axis", axis);
    return Call("Gather", name, {of, Number(at)}, type, std::move(attributes), scope);
  }

  TensorId Joined(const Tensors& parts, int64_t axis, const std::string& name, uint32_t scope) {
    TensorType type = out_.tensor(parts[0]).type;
    type.shape[axis] = 0;
    for (const TensorId id : parts) type.shape[axis] += out_.tensor(id).type.shape[axis];
    Attributes attributes;
    attributes.Set("axis", axis);
    return Call("Concat", name, parts, type, std::move(attributes), scope);
  }

  // Tensors of equal shape along a new axis.
  TensorId Stacked(const Tensors& parts, int64_t axis, const std::string& name, uint32_t scope) {
    Tensors rows;
    for (const TensorId id : parts) {
      TensorType type = out_.tensor(id).type;
      type.shape.insert(type.shape.begin() + axis, 1);
      rows.push_back(Call("Unsqueeze", name + "/row", {id, List(axis)}, type, {}, scope));
    }
    return Joined(rows, axis, name, scope);
  }

  uint32_t InnerScope(uint32_t outer, const Graph& body, const Op& inner) {
    const std::string& own = body.scope_of(inner);
    if (own.empty()) return outer;
    const std::string scope =
        out_.scopes[outer].empty() || own.starts_with(out_.scopes[outer]) ? own : StrCat(out_.scopes[outer], "/", own);
    const auto [it, is_new] = scopes_.try_emplace(scope, static_cast<uint32_t>(out_.scopes.size()));
    if (is_new) out_.scopes.push_back(scope);
    return it->second;
  }

  // One run of a body on `given`: formal inputs, then captures. Constants are shared by all runs.
  Result<Tensors> RunBody(const Op& op, const Graph& body, Tensors given, const std::string& prefix,
                          Tensors& constants) {
    given.insert(given.end(), op.captures.begin(), op.captures.end());
    if (given.size() != body.inputs.size()) return BadInput("its body does not fit its operands");
    added_ += static_cast<int64_t>(body.ops.size()) + 1;  // a loop without ops ends, too
    if (added_ > kMostUnrolled) {
      return BadInput(StrCat("differentiating it takes more than ", kMostUnrolled, " ops, one body after the other"));
    }
    Tensors map(body.tensors.size());
    for (size_t i = 0; i < given.size(); ++i) map[body.inputs[i].index()] = Resolved(given[i]);
    constants.resize(body.tensors.size());
    for (size_t t = 0; t < body.tensors.size(); ++t) {
      const Tensor& tensor = body.tensors[t];
      if (map[t].valid()) continue;
      if (tensor.role == TensorRole::kParameter) {
        if (!constants[t].valid()) constants[t] = AddTensor(tensor, StrCat(op.name, "/", tensor.name));
        map[t] = constants[t];
      } else {
        map[t] = AddTensor(tensor, StrCat(prefix, "/", tensor.name));
      }
    }
    for (const Op& inner : body.ops) {
      Op copy = inner;
      copy.name = Unique(op_names_, StrCat(prefix, "/", inner.name));
      copy.type = TypeIndex(body.type_of(inner));
      copy.scope = InnerScope(op.scope, body, inner);
      for (Tensors* list : {&copy.inputs, &copy.outputs, &copy.captures}) {
        for (TensorId& id : *list) id = id.valid() ? map[id.index()] : id;
      }
      SBP_RETURN_IF_ERROR(Emit(std::move(copy), true));
    }
    Tensors results;
    for (const TensorId id : body.outputs) results.push_back(Resolved(map[id.index()]));
    return results;
  }

  // Result `r` of an op that is gone is this tensor.
  void SetResult(const Op& op, size_t r, TensorId id) {
    if (r < op.outputs.size() && op.outputs[r].valid()) alias_[op.outputs[r]] = id;
  }

  Status CheckCarried(const Op& op, const Graph& body, size_t first, const Tensors& state) {
    for (size_t i = 0; i < state.size(); ++i) {
      const TensorType& is = out_.tensor(state[i]).type;
      const TensorType& expected = body.tensor(body.inputs[first + i]).type;
      if (is.kind != ValueKind::kTensor || is == expected) continue;
      return BadInput(StrCat("it carries ", Quote(out_.tensor(state[i]).name), ", whose size changes from ",
                             ToString(is), " to ", ToString(expected), "; a ", out_.type_of(op),
                             " is differentiated where sizes stay"));
    }
    return OkStatus();
  }

  // What is said where a number that decides how often a Loop runs is not known.
  Status NotKnown(std::string_view what, TensorId id) const {
    return BadInput(StrCat("its number of trips is not known: ", what, " ", Quote(out_.tensor(id).name),
                           " follows from what is computed when it runs; give inputs that decide it with --inputs, or "
                           "--freeze what reaches it"));
  }

  Status EmitLoop(const Op& op) {
    const Graph* body = BodyGraph(op);
    if (body == nullptr || op.inputs.size() < 2 || body->outputs.empty()) return BadInput("it has no body");
    std::optional<double> most =
        op.inputs[0].valid() ? numbers_of_.Find(op.inputs[0]) : std::numeric_limits<double>::infinity();
    if (!most) return NotKnown("its trip count", op.inputs[0]);
    TensorId go_on = op.inputs[1];
    Tensors state(op.inputs.begin() + 2, op.inputs.end()), constants;
    const size_t carried = state.size();
    std::vector<Tensors> rows(body->outputs.size() - 1 - carried);
    const TensorId yes = Constant(Literal::Scalar(1, DType::kBool));
    for (int64_t t = 0; static_cast<double>(t) < *most; ++t) {
      const std::optional<double> goes_on = go_on.valid() ? numbers_of_.Find(go_on) : 1;
      if (!goes_on) return NotKnown("its condition", go_on);
      if (*goes_on == 0) break;
      SBP_RETURN_IF_ERROR(CheckCarried(op, *body, 2, state));
      Tensors given = {Number(t), yes};
      given.insert(given.end(), state.begin(), state.end());
      SBP_ASSIGN_OR_RETURN(const Tensors results,
                           RunBody(op, *body, std::move(given), StrCat(op.name, "/", t), constants));
      go_on = results[0];
      state.assign(results.begin() + 1, results.begin() + 1 + static_cast<ptrdiff_t>(carried));
      for (size_t s = 0; s < rows.size(); ++s) rows[s].push_back(results[1 + carried + s]);
    }
    for (size_t i = 0; i < carried; ++i) SetResult(op, i, state[i]);
    for (size_t s = 0; s < rows.size(); ++s) {
      if (carried + s >= op.outputs.size() || !op.outputs[carried + s].valid()) continue;
      if (rows[s].empty()) return BadInput("it runs not once");
      SetResult(op, carried + s, Stacked(rows[s], 0, StrCat(op.name, "/stack"), op.scope));
    }
    return OkStatus();
  }

  Status EmitScan(const Op& op) {
    const Graph* body = BodyGraph(op);
    const auto scanned = static_cast<size_t>(op.attributes->Int("num_scan_inputs", 0));
    if (body == nullptr || scanned == 0 || scanned > op.inputs.size()) return BadInput("it has no body");
    const size_t states = op.inputs.size() - scanned;
    Tensors state(op.inputs.begin(), op.inputs.begin() + static_cast<ptrdiff_t>(states)), constants;
    int64_t trips = 0;
    std::vector<int64_t> axes;
    for (size_t i = 0; i < scanned; ++i) {
      const TensorType& type = out_.tensor(op.inputs[states + i]).type;
      const int64_t axis = ListEntry(op, "scan_input_axes", i);
      axes.push_back(axis < 0 ? axis + type.rank() : axis);
      trips = type.shape.at(static_cast<size_t>(axes[i]));
    }
    if (trips == 0) return BadInput("it runs not once");
    std::vector<Tensors> rows(body->outputs.size() - states);
    for (int64_t t = 0; t < trips; ++t) {
      const std::string prefix = StrCat(op.name, "/", t);
      SBP_RETURN_IF_ERROR(CheckCarried(op, *body, 0, state));
      Tensors given = state;
      for (size_t i = 0; i < scanned; ++i) {
        const int64_t at = ListEntry(op, "scan_input_directions", i) != 0 ? trips - 1 - t : t;
        given.push_back(Element(op.inputs[states + i], axes[i], at, StrCat(prefix, "/element"), op.scope));
      }
      SBP_ASSIGN_OR_RETURN(const Tensors results, RunBody(op, *body, std::move(given), prefix, constants));
      state.assign(results.begin(), results.begin() + static_cast<ptrdiff_t>(states));
      for (size_t s = 0; s < rows.size(); ++s) rows[s].push_back(results[states + s]);
    }
    for (size_t i = 0; i < states; ++i) SetResult(op, i, state[i]);
    for (size_t s = 0; s < rows.size(); ++s) {
      if (states + s >= op.outputs.size() || !op.outputs[states + s].valid()) continue;
      if (ListEntry(op, "scan_output_directions", s) != 0) std::ranges::reverse(rows[s]);
      int64_t axis = ListEntry(op, "scan_output_axes", s);
      if (axis < 0) axis += out_.tensor(rows[s][0]).type.rank() + 1;
      SetResult(op, states + s, Stacked(rows[s], axis, StrCat(op.name, "/stack"), op.scope));
    }
    return OkStatus();
  }

  Status EmitMap(const Op& op) {
    const Graph* body = BodyGraph(op);
    if (body == nullptr) return BadInput("it has no body");
    const Tensors elements = *Known(op.inputs[0]);
    Tensors constants;
    std::vector<Tensors> made(body->outputs.size());
    for (size_t t = 0; t < elements.size(); ++t) {
      Tensors given = {elements[t]};
      for (size_t i = 1; i < op.inputs.size(); ++i) {
        const Tensors* also = Known(op.inputs[i]);
        if (also != nullptr && t >= also->size()) return BadInput("its sequences differ in length");
        given.push_back(also != nullptr ? (*also)[t] : op.inputs[i]);
      }
      SBP_ASSIGN_OR_RETURN(const Tensors results,
                           RunBody(op, *body, std::move(given), StrCat(op.name, "/", t), constants));
      for (size_t r = 0; r < results.size(); ++r) made[r].push_back(results[r]);
    }
    for (size_t r = 0; r < op.outputs.size(); ++r) {
      if (op.outputs[r].valid()) sequences_[op.outputs[r]] = made[r];
    }
    AddOp(op);  // for what reads the sequence itself; else nothing needs it
    return OkStatus();
  }

  // The tensors of a sequence, where they are known.
  const Tensors* Known(TensorId sequence) const {
    const auto it = sequences_.find(sequence);
    return it == sequences_.end() ? nullptr : &it->second;
  }

  // A position in a sequence of `size` tensors, or before one; nothing: not known, or out of range.
  std::optional<size_t> PositionOf(const Op& op, size_t operand, size_t size, int64_t absent) const {
    int64_t at = absent;
    if (operand < op.inputs.size() && op.inputs[operand].valid()) {
      const Literal* literal = out_.tensor(op.inputs[operand]).literal.get();
      if (literal == nullptr || literal->ints.size() != 1) return std::nullopt;
      at = literal->ints[0] < 0 ? literal->ints[0] + static_cast<int64_t>(size) : literal->ints[0];
    }
    if (at < 0 || at > static_cast<int64_t>(size)) return std::nullopt;
    return static_cast<size_t>(at);
  }

  // Follows an op on sequences whose tensors are known. True: nothing reads the op itself any more.
  bool TakeSequence(const std::string& type, const Op& op) {
    if (op.outputs.empty() || !op.outputs[0].valid()) return false;
    const TensorId result = op.outputs[0];
    const Tensors* given = !op.inputs.empty() && op.inputs[0].valid() ? Known(op.inputs[0]) : nullptr;
    if (type == "SequenceEmpty" || type == "SequenceConstruct") {
      sequences_[result] = op.inputs;
    } else if (type == "Optional" && !op.inputs.empty() && op.inputs[0].valid()) {
      sequences_[result] = {op.inputs[0]};
    } else if (type == "SplitToSequence") {
      TakeSplit(op);
    } else if (type == "OptionalGetElement") {
      const TensorId of = op.inputs[0];
      if (given == nullptr && out_.tensor(of).type.kind != ValueKind::kTensor) return false;
      alias_[result] = given != nullptr ? given->at(0) : of;
      return true;
    } else if (given != nullptr) {
      return TakeFrom(type, op, *given);
    }
    return false;
  }

  bool TakeFrom(const std::string& type, const Op& op, Tensors given) {
    const TensorId result = op.outputs[0];
    const auto size = static_cast<int64_t>(given.size());
    if (type == "SequenceInsert") {
      const auto at = PositionOf(op, 2, given.size(), size);
      if (!at) return false;
      given.insert(given.begin() + static_cast<ptrdiff_t>(*at), op.inputs[1]);
      sequences_[result] = std::move(given);
    } else if (type == "SequenceErase") {
      const auto at = PositionOf(op, 1, given.size(), size - 1);
      if (!at || *at >= given.size()) return false;
      given.erase(given.begin() + static_cast<ptrdiff_t>(*at));
      sequences_[result] = std::move(given);
    } else if (type == "SequenceAt") {
      const auto at = PositionOf(op, 1, given.size(), -1);
      if (!at || *at >= given.size()) return false;
      alias_[result] = given[*at];
      return true;
    } else if (type == "ConcatFromSequence" && !given.empty()) {
      int64_t axis = op.attributes->Int("axis", 0);
      const bool is_new = op.attributes->Int("new_axis", 0) != 0;
      if (axis < 0) axis += out_.tensor(given[0]).type.rank() + (is_new ? 1 : 0);
      alias_[result] = is_new ? Stacked(given, axis, op.name, op.scope) : Joined(given, axis, op.name, op.scope);
      return true;
    }
    return false;
  }

  void TakeSplit(const Op& op) {
    const TensorType whole = out_.tensor(op.inputs[0]).type;
    int64_t axis = op.attributes->Int("axis", 0);
    if (axis < 0) axis += whole.rank();
    if (axis < 0 || axis >= whole.rank()) return;
    const int64_t size = whole.shape[static_cast<size_t>(axis)];
    const bool is_given = op.inputs.size() > 1 && op.inputs[1].valid();
    const Literal* split = is_given ? out_.tensor(op.inputs[1]).literal.get() : nullptr;
    if (is_given && (split == nullptr || split->ints.empty())) return;
    std::vector<int64_t> sizes;
    if (split != nullptr && split->type.rank() > 0) {
      sizes = split->ints;
    } else {
      const int64_t part = split == nullptr ? 1 : std::max<int64_t>(split->ints[0], 1);
      for (int64_t at = 0; at < size; at += part) sizes.push_back(std::min(part, size - at));
    }
    const bool drops = !is_given && op.attributes->Int("keepdims", 1) == 0;
    Tensors parts;
    int64_t from = 0;
    for (const int64_t part : sizes) {
      const std::string name = StrCat(op.name, "/", parts.size());
      if (drops) {
        parts.push_back(Element(op.inputs[0], axis, from, name, op.scope));
      } else {
        TensorType type = whole;
        type.shape[static_cast<size_t>(axis)] = part;
        parts.push_back(
            Call("Slice", name, {op.inputs[0], List(from), List(from + part), List(axis)}, type, {}, op.scope));
      }
      from += part;
    }
    sequences_[op.outputs[0]] = std::move(parts);
  }

  Graph out_;
  std::vector<Op> ops_;
  std::unordered_set<std::string> names_, op_names_;
  std::unordered_map<TensorId, TensorId> alias_;     // a result of an op that is gone -> the tensor that it is
  std::unordered_map<TensorId, Tensors> sequences_;  // their tensors, where they are known
  std::unordered_map<int64_t, TensorId> numbers_, lists_;
  std::unordered_map<std::string, uint32_t> scopes_;
  KnownNumbers numbers_of_{out_};
  int64_t added_ = 0;
};

}  // namespace

bool IsUnrolled(std::string_view type) { return std::ranges::find(kUnrolled, type) != kUnrolled.end(); }

Result<Graph> Unroll(Graph graph, std::span<const TensorId> targets, std::span<const TensorId> seeds) {
  if (std::ranges::none_of(graph.op_types, IsUnrolled)) return graph;
  const std::vector<bool> between = OpsBetween(graph, targets, seeds);
  return Unroller(std::move(graph)).Run(between);
}

}  // namespace sbp
