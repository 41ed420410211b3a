#include "io/graph_proto.h"

#include <google/protobuf/arena.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/builder.h"
#include "graph/literal.h"
#include "graph/strided_ints.h"
#include "graph/tensor_type.h"
#include "io/attribute_proto.h"
#include "io/layout_text.h"
#include "io/type_text.h"
#include "io/utf8.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

namespace v1 = sbp_plan::v1;
using Properties = std::vector<std::pair<std::string, std::string>>;

void PropertiesToMessages(const Properties& properties, google::protobuf::RepeatedPtrField<v1::Property>& messages) {
  for (const auto& [name, value] : properties) {
    v1::Property& message = *messages.Add();
    message.set_name(ToUtf8(name));
    message.set_value(ToUtf8(value));
  }
}

Properties PropertiesFromMessages(const google::protobuf::RepeatedPtrField<v1::Property>& messages) {
  Properties properties;
  properties.reserve(static_cast<size_t>(messages.size()));
  for (const v1::Property& message : messages) properties.emplace_back(message.name(), message.value());
  return properties;
}

// Is anything known: "undefined[...]" says nothing.
bool IsKnown(const TensorType& type) {
  return type.dtype != DType::kUndefined || type.has_rank || type.kind != ValueKind::kTensor;
}

// `text` into a field that may hold text already: messages are used again.
void Set(std::string* field, std::string_view text) {
  if (IsUtf8(text)) {
    field->assign(text);
  } else {
    *field = ToUtf8(text);
  }
}

class GraphWriter {
 public:
  explicit GraphWriter(const Graph& graph) : graph_(graph) {}

  void Write(v1::Graph& message) {
    WriteFirst(message);
    EachParameter([&](const Tensor& tensor) { WriteTensor(tensor, *message.add_parameters()); });
    message.mutable_ops()->Reserve(static_cast<int>(graph_.ops.size()));
    for (const Op& op : graph_.ops) {
      WriteOp(op, *message.add_ops());
      EachResult(op, [&](const Tensor& tensor) { WriteTensor(tensor, *message.add_tensors()); });
    }
    WriteLast(message);
  }

  void Write(std::string_view kind, const GraphParts& parts) {
    google::protobuf::Arena arena;
    auto& first = *google::protobuf::Arena::CreateMessage<v1::Graph>(&arena);
    first.set_kind(std::string(kind));
    WriteFirst(first);
    parts.first(first);
    v1::Tensor tensor_message;
    const auto hand = [&](const Tensor& tensor, const auto& to) {
      tensor_message.Clear();
      WriteTensor(tensor, tensor_message);
      to(tensor_message);
    };
    EachParameter([&](const Tensor& tensor) { hand(tensor, parts.parameter); });
    for (const Op& op : graph_.ops) {
      EachResult(op, [&](const Tensor& tensor) { hand(tensor, parts.tensor); });
    }
    v1::Op op_message;
    for (const Op& op : graph_.ops) {
      op_message.Clear();
      WriteOp(op, op_message);
      parts.op(op_message);
    }
    auto& last = *google::protobuf::Arena::CreateMessage<v1::Graph>(&arena);
    WriteLast(last);
    parts.last(last);
  }

 private:
  // In a document these fields stand before parameters, ops and the tensors that they write.
  void WriteFirst(v1::Graph& message) {
    message.set_name(ToUtf8(graph_.name));
    WriteEntries(graph_.opsets, *message.mutable_opsets());
    WriteEntries(graph_.bindings, *message.mutable_bindings());
    PropertiesToMessages(graph_.metadata, *message.mutable_metadata());
    for (const TensorId id : graph_.inputs) WriteTensor(graph_.tensor(id), *message.add_inputs());
  }

  template <typename Visit>
  void EachParameter(const Visit& visit) const {
    for (const Tensor& tensor : graph_.tensors) {
      if (tensor.role == TensorRole::kParameter) visit(tensor);
    }
  }

  // And these behind.
  void WriteLast(v1::Graph& message) {
    for (const TensorId id : graph_.outputs) message.add_outputs(Name(id));
    for (const Tie& tie : graph_.ties) {
      v1::Tie& tied = *message.add_ties();
      tied.set_output(Name(tie.output));
      tied.set_input(Name(tie.input));
      tied.set_restarts(tie.restarts);
    }
    for (const Assumption& assumption : graph_.assumptions) WriteAssumption(assumption, *message.add_assumptions());
    if (graph_.micro_batches != 1) message.set_micro_batches(graph_.micro_batches);
  }

  template <typename Map, typename Repeated>
  static void WriteEntries(const Map& map, Repeated& messages) {
    for (const auto& [key, value] : map) {
      auto& message = *messages.Add();
      message.set_key(ToUtf8(key));
      message.set_value(value);
    }
  }

  static void WriteAssumption(const Assumption& assumption, v1::Assumption& message) {
    message.set_key(ToUtf8(assumption.input));
    LiteralToMessage(*assumption.value, nullptr, *message.mutable_literal());
    if (static_cast<int64_t>(assumption.elements.size()) == assumption.value->type.num_elements()) return;
    message.mutable_elements()->Add(assumption.elements.begin(), assumption.elements.end());
  }

  void SetName(std::string* field, TensorId id) const {
    if (id.valid()) Set(field, graph_.tensor(id).name);
  }
  std::string Name(TensorId id) const { return id.valid() ? ToUtf8(graph_.tensor(id).name) : ""; }

  void WriteTensor(const Tensor& tensor, v1::Tensor& message) {
    Set(message.mutable_name(), tensor.name);
    const bool must_have_type = tensor.role != TensorRole::kActivation;
    if (must_have_type || IsKnown(tensor.type)) message.set_type(types_.Format(tensor.type, tensor.symbols));
    if (tensor.layout_pin.size() > 0) message.set_layout(ToString(tensor.layout_pin));
    if (tensor.literal != nullptr) LiteralToMessage(*tensor.literal, &tensor.type, *message.mutable_literal());
    if (tensor.data) {
      v1::DataReference& data = *message.mutable_data();
      data.set_location(ToUtf8(tensor.data->location));
      data.set_offset(tensor.data->offset);
      if (tensor.data->length >= 0) data.set_length(tensor.data->length);
      if (tensor.data->stored != DType::kUndefined) data.set_stored(std::string(DTypeName(tensor.data->stored)));
    }
    if (tensor.part != nullptr) {
      v1::Part& part = *message.mutable_part();
      part.set_whole(ToUtf8(tensor.part->whole));
      part.set_type(types_.Format(tensor.part->type, {}));
      part.set_axis(tensor.part->axis);
      part.set_start(tensor.part->start);
    }
    if (tensor.strided != nullptr) WriteStrides(*tensor.strided, *message.mutable_strided());
  }

  static void WriteStrides(const StridedInts& strided, v1::Strides& message) {
    message.set_offset(strided.offset);
    message.mutable_strides()->Assign(strided.strides.begin(), strided.strides.end());
  }

  // Of those tensors that an op writes of which something is known.
  template <typename Visit>
  void EachResult(const Op& op, const Visit& visit) const {
    for (const TensorId id : op.outputs) {
      if (!id.valid()) continue;
      const Tensor& tensor = graph_.tensor(id);
      const bool is_known = IsKnown(tensor.type) || !tensor.symbols.empty() || tensor.literal != nullptr ||
                            tensor.data || tensor.layout_pin.size() > 0;
      if (is_known) visit(tensor);
    }
  }

  void WriteOp(const Op& op, v1::Op& message) {
    Set(message.mutable_name(), op.name);
    Set(message.mutable_type(), graph_.type_of(op));
    for (const TensorId id : op.inputs) SetName(message.add_inputs(), id);
    for (const TensorId id : op.outputs) SetName(message.add_outputs(), id);
    AttributesToMessages(*op.attributes, *message.mutable_attributes());
    Set(message.mutable_scope(), graph_.scope_of(op));
    for (const TensorId id : op.captures) SetName(message.add_captures(), id);
    PropertiesToMessages(op.metadata, *message.mutable_metadata());
    if (op.signature_pin.empty()) return;
    const auto results = op.signature_pin.end() - static_cast<std::ptrdiff_t>(op.outputs.size());
    message.set_signature(ToString(Signature{{op.signature_pin.begin(), results}, {results, op.signature_pin.end()}}));
  }

  const Graph& graph_;
  TypeWriter types_;
};

class GraphReader {
 public:
  GraphReader(const v1::Graph& message, const GraphEntries& entries, std::string_view where)
      : message_(message), entries_(entries), where_(where), builder_(message.name()) {}

  Result<Graph> Read() {
    const Status status = ReadParts();
    if (!status.ok()) return Located(status);
    SBP_ASSIGN_OR_RETURN(Graph graph, builder_.Build(where_));
    SBP_RETURN_IF_ERROR(Verify(graph, where_));
    return graph;
  }

 private:
  Status Located(const Status& status) const { return where_.empty() ? status : status.WithContext(where_); }

  Status ReadParts() {
    Graph& graph = builder_.graph();
    const auto given = static_cast<size_t>(message_.parameters_size() + message_.inputs_size());
    builder_.Reserve(entries_.num_ops + given, entries_.num_ops);
    graph.metadata = PropertiesFromMessages(message_.metadata());
    SBP_RETURN_IF_ERROR(ReadEntries(message_.opsets(), "opset", graph.opsets));
    SBP_RETURN_IF_ERROR(ReadEntries(message_.bindings(), "binding", graph.bindings));
    for (const v1::Tensor& tensor : message_.inputs()) {
      SBP_RETURN_IF_ERROR(ReadTensor(tensor, "input", TensorRole::kInput));
    }
    for (const v1::Tensor& tensor : message_.parameters()) {
      SBP_RETURN_IF_ERROR(ReadTensor(tensor, "parameter", TensorRole::kParameter));
    }
    SBP_RETURN_IF_ERROR(ReadAssumptions());
    SBP_RETURN_IF_ERROR(ReadOps());
    for (size_t i = 0; i < entries_.num_tensors; ++i) {
      SBP_ASSIGN_OR_RETURN(const v1::Tensor* tensor, entries_.tensor(i));
      SBP_RETURN_IF_ERROR(ReadTensor(*tensor, "tensor", TensorRole::kActivation));
    }
    for (const std::string& name : message_.outputs()) {
      if (name.empty()) return BadInput("an output without a name");
      builder_.AddOutput(name);
    }
    for (const v1::Tie& tie : message_.ties()) {
      if (tie.output().empty() || tie.input().empty()) return BadInput("a tie needs \"output\" and \"input\"");
      builder_.AddTie(tie.output(), tie.input(), tie.restarts());
    }
    if (message_.has_micro_batches()) graph.micro_batches = message_.micro_batches();
    return OkStatus();
  }

  template <typename Messages>
  static Status ReadEntries(const Messages& messages, std::string_view what, std::map<std::string, int64_t>& map) {
    for (const auto& entry : messages) {
      if (entry.value() < 0)
        return BadInput(StrCat(what, " ", Quote(entry.key()), ": ", entry.value(), " is negative"));
      if (!map.emplace(entry.key(), entry.value()).second) {
        return BadInput(StrCat(what, " ", Quote(entry.key()), " is given twice"));
      }
    }
    return OkStatus();
  }

  Status ReadAssumptions() {
    for (const v1::Assumption& message : message_.assumptions()) {
      const Result<Assumption> assumption = ReadAssumption(message);
      if (!assumption.ok()) return assumption.status().WithContext(StrCat("assumption ", Quote(message.key())));
      builder_.graph().assumptions.push_back(*assumption);
    }
    return OkStatus();
  }

  static Result<Assumption> ReadAssumption(const v1::Assumption& message) {
    Assumption assumption{message.key(), nullptr, {}};
    if (!message.has_literal()) return BadInput("no \"literal\" (the value that the input has)");
    SBP_ASSIGN_OR_RETURN(assumption.value, LiteralFromMessage(message.literal(), nullptr));
    assumption.elements.assign(message.elements().begin(), message.elements().end());
    if (assumption.elements.empty()) {  // all of them count
      for (int64_t i = 0; i < assumption.value->type.num_elements(); ++i) assumption.elements.push_back(i);
    }
    return assumption;
  }

  Status ReadTensor(const v1::Tensor& message, std::string_view what, TensorRole role) {
    if (message.name().empty()) return BadInput(StrCat("a tensor without \"name\" among the ", what, "s"));
    const Status status = DefineTensor(message, role);
    return status.ok() ? status : status.WithContext(StrCat(what, " ", Quote(message.name())));
  }

  Status DefineTensor(const v1::Tensor& message, TensorRole role) {
    SymbolicType described;
    if (!message.type().empty()) {
      Status error;
      const SymbolicType* type = types_.Parse(message.type(), error);
      if (type == nullptr) return error;
      described = *type;
    } else if (role != TensorRole::kActivation) {
      return BadInput("no \"type\" (as in \"f32[batch,16]\")");
    }
    LiteralRef literal;
    if (message.has_literal()) {
      SBP_ASSIGN_OR_RETURN(literal, LiteralFromMessage(message.literal(), &described.type));
    }
    TensorId id;
    if (role == TensorRole::kInput) {
      id = builder_.AddInput(message.name(), described.type, described.symbols);
    } else if (role == TensorRole::kParameter) {
      id = builder_.AddParameter(message.name(), described.type);
    } else {
      id = builder_.Tensor(message.name());
      if (id.index() >= described_.size()) described_.resize(builder_.graph().tensors.size(), false);
      if (described_[id.index()]) return BadInput("is described twice");
      described_[id.index()] = true;
      const Tensor& tensor = builder_.graph().tensor(id);
      if (tensor.role != TensorRole::kActivation) return BadInput("is an input or parameter and described again");
      if (!tensor.producer.valid()) return BadInput("is written by no op");
      if (!message.type().empty()) builder_.DescribeTensor(message.name(), described.type, described.symbols);
    }
    Tensor& tensor = builder_.graph().tensor(id);
    tensor.symbols = std::move(described.symbols);
    tensor.literal = std::move(literal);
    if (!message.layout().empty()) {
      SBP_ASSIGN_OR_RETURN(tensor.layout_pin, ParseNdSbp(message.layout()));
    }
    SBP_RETURN_IF_ERROR(ReadPart(message, tensor));
    SBP_RETURN_IF_ERROR(ReadStrides(message, tensor));
    return ReadData(message, tensor);
  }

  Status ReadPart(const v1::Tensor& message, Tensor& tensor) {
    if (!message.has_part()) return OkStatus();
    const v1::Part& part = message.part();
    Status error;
    const SymbolicType* type = types_.Parse(part.type(), error);
    if (type == nullptr) return error.WithContext("part.type");
    const Shape &whole = type->type.shape, &own = tensor.type.shape;
    const auto axis = static_cast<size_t>(part.axis());
    const bool is_parameter = tensor.role == TensorRole::kParameter && !part.whole().empty();
    bool fits = is_parameter && type->type.is_static() && tensor.type.is_static() && whole.size() == own.size() &&
                type->type.dtype == tensor.type.dtype && DTypeBits(tensor.type.dtype) % 8 == 0 && part.axis() >= 0 &&
                axis < whole.size();
    for (size_t d = 0; fits && d < whole.size(); ++d) {
      fits = d == axis ? part.start() >= 0 && part.start() <= whole[d] && own[d] <= whole[d] - part.start()
                       : whole[d] == own[d];
    }
    if (!fits) {
      return BadInput(StrCat("is ", ToString(tensor.type), ", which is no part of ", part.type(), " from ",
                             part.start(), " on along dimension ", part.axis()));
    }
    tensor.part = std::make_shared<const WeightPart>(
        WeightPart{part.whole(), type->type, static_cast<int>(part.axis()), part.start()});
    return OkStatus();
  }

  static Status ReadStrides(const v1::Tensor& message, Tensor& tensor) {
    if (!message.has_strided()) return OkStatus();
    const v1::Strides& strided = message.strided();
    const TensorType& type = tensor.type;
    if (tensor.role != TensorRole::kParameter || !IsInteger(type.dtype) || strided.strides_size() != type.rank()) {
      return BadInput(StrCat("\"strided\" with ", strided.strides_size(), " strides, but it is ",
                             tensor.role == TensorRole::kParameter ? "a parameter" : "no parameter", " of type ",
                             ToString(type)));
    }
    tensor.strided = std::make_shared<const StridedInts>(
        StridedInts{strided.offset(), {strided.strides().begin(), strided.strides().end()}});
    return OkStatus();
  }

  static Status ReadData(const v1::Tensor& message, Tensor& tensor) {
    if (!message.has_data()) return OkStatus();
    const v1::DataReference& data = message.data();
    if (data.offset() < 0) return BadInput(StrCat("data.offset ", data.offset(), " is negative"));
    if (data.has_length() && data.length() < 0) return BadInput(StrCat("data.length ", data.length(), " is negative"));
    const std::optional<DType> stored = data.stored().empty() ? DType::kUndefined : ParseDType(data.stored());
    if (!stored || (!data.stored().empty() && (!IsFloat(*stored) || !IsFloat(tensor.type.dtype)))) {
      return BadInput(StrCat("data.stored is ", Quote(data.stored()), " of a tensor of type ", ToString(tensor.type),
                             ": expected two types of floats"));
    }
    tensor.data = DataReference{data.location(), data.offset(), data.has_length() ? data.length() : -1, *stored};
    return OkStatus();
  }

  Status ReadOps() {
    for (size_t i = 0; i < entries_.num_ops; ++i) {
      SBP_ASSIGN_OR_RETURN(const v1::Op* next, entries_.op(i));
      const v1::Op& op = *next;
      if (!op.name().empty() && builder_.HasOp(op.name())) {
        return BadInput(StrCat("two ops are called ", Quote(op.name())));
      }
      const Status status = ReadOp(op);
      if (!status.ok()) {
        return status.WithContext(op.name().empty() ? StrCat("op number ", i + 1) : StrCat("op ", Quote(op.name())));
      }
    }
    return OkStatus();
  }

  Status ReadOp(const v1::Op& message) {
    if (message.type().empty()) return BadInput("no \"type\" (as in \"MatMul\")");
    SBP_ASSIGN_OR_RETURN(Attributes attributes, AttributesFromMessages(message.attributes()));
    operands_.assign(message.inputs().begin(), message.inputs().end());
    results_.assign(message.outputs().begin(), message.outputs().end());
    const OpId id =
        builder_.AddOp(message.type(), message.name(), operands_, results_, std::move(attributes), message.scope());
    std::vector<TensorId> captures;
    for (const std::string& name : message.captures()) {
      if (name.empty()) return BadInput("a captured tensor without a name");
      captures.push_back(builder_.Tensor(name));
    }
    Op& op = builder_.graph().op(id);
    op.captures = std::move(captures);
    op.metadata = PropertiesFromMessages(message.metadata());
    return ReadSignature(message, op);
  }

  static Status ReadSignature(const v1::Op& message, Op& op) {
    if (message.signature().empty()) return OkStatus();
    SBP_ASSIGN_OR_RETURN(const Signature signature,
                         ParseSignature(message.signature(), CountMeshAxes(message.signature())));
    const size_t operands = op.inputs.size() + op.captures.size();
    if (signature.inputs.size() != operands || signature.outputs.size() != op.outputs.size()) {
      return BadInput(StrCat("signature ", Quote(message.signature()), ": expected ", operands,
                             " layouts of operands, ", op.outputs.size(), " of results; found ",
                             signature.inputs.size(), " and ", signature.outputs.size()));
    }
    op.signature_pin = signature.inputs;
    op.signature_pin.insert(op.signature_pin.end(), signature.outputs.begin(), signature.outputs.end());
    return OkStatus();
  }

  const v1::Graph& message_;
  const GraphEntries& entries_;
  std::string_view where_;
  GraphBuilder builder_;
  TypeReader types_;
  std::vector<bool> described_;                  // per tensor
  std::vector<std::string> operands_, results_;  // reused
};

}  // namespace

void GraphToMessage(const Graph& graph, v1::Graph& message) { GraphWriter(graph).Write(message); }

void GraphToMessages(const Graph& graph, std::string_view kind, const GraphParts& parts) {
  GraphWriter(graph).Write(kind, parts);
}

Result<Graph> GraphFromMessages(const v1::Graph& message, const GraphEntries& entries, std::string_view where) {
  return GraphReader(message, entries, where).Read();
}

Result<Graph> GraphFromMessage(const v1::Graph& message, std::string_view where) {
  const GraphEntries entries = {
      static_cast<size_t>(message.ops_size()), static_cast<size_t>(message.tensors_size()),
      [&](size_t i) -> Result<const v1::Op*> { return &message.ops(static_cast<int>(i)); },
      [&](size_t i) -> Result<const v1::Tensor*> { return &message.tensors(static_cast<int>(i)); }};
  return GraphFromMessages(message, entries, where);
}

}  // namespace sbp
