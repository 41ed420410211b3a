#include "onnx/graph_reader.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/strided_ints.h"
#include "graph/tensor_type.h"
#include "onnx/adopted.h"
#include "onnx/limits.h"
#include "onnx/scope.h"
#include "onnx/upgrade.h"

namespace sbp::onnx {
namespace {

// "ai.onnx" is the long name of ONNX's own domain.
std::string Domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string QualifiedType(const sbp_onnx::Node& node) {
  const std::string domain = Domain(node.domain());
  return domain.empty() ? node.op_type() : StrCat(domain, "::", node.op_type());
}

constexpr std::string_view kNameScopesKey = "pkg.torch.onnx.name_scopes";
constexpr std::string_view kNamespaceKey = "namespace";
constexpr std::string_view kClassHierarchyKey = "pkg.torch.onnx.class_hierarchy";  // repeats the namespace

bool StatesScope(std::string_view key) {
  return key == kNameScopesKey || key == kNamespaceKey || key == kClassHierarchyKey;
}

std::string LastLevel(std::string_view name) {
  const size_t slash = name.rfind('/');
  return std::string(slash == std::string_view::npos ? name : name.substr(slash + 1));
}

std::string JoinScope(std::string_view outer, std::string_view inner) {
  if (outer.empty() || inner.empty()) return std::string(outer.empty() ? inner : outer);
  return StrCat(outer, "/", inner);
}

}  // namespace

OperatorSets ReadOperatorSets(const google::protobuf::RepeatedPtrField<sbp_onnx::OperatorSet>& imports) {
  OperatorSets sets;
  for (const sbp_onnx::OperatorSet& import : imports) sets[Domain(import.domain())] = import.version();
  return sets;
}

Result<Graph> GraphReader::Read(const sbp_onnx::Graph& graph, Frame& frame) {
  frame.reader = this;
  for (const sbp_onnx::ValueInfo& input : graph.input()) frame.names.emplace(input.name(), input.name());
  for (const sbp_onnx::Tensor& tensor : graph.initializer()) frame.names.emplace(tensor.name(), tensor.name());
  for (const auto& sparse : graph.sparse_initializer())
    frame.names.emplace(sparse.values().name(), sparse.values().name());
  for (const auto& [name, tensor] : frame.names) taken_.insert(tensor);
  DefineOutputs(graph.node(), frame);
  SBP_RETURN_IF_ERROR(ReadInitializers(graph, frame));
  SBP_RETURN_IF_ERROR(ReadInputs(graph, frame));
  SBP_RETURN_IF_ERROR(ReadNodes(graph.node(), frame));
  SBP_RETURN_IF_ERROR(ReadOutputs(graph, frame));
  SBP_RETURN_IF_ERROR(Describe(graph.value_info(), frame));
  SBP_RETURN_IF_ERROR(Describe(graph.output(), frame));
  ReadAnnotations(graph);
  if (frame.opsets != nullptr) builder_.graph().opsets = *frame.opsets;
  return builder_.Build(model_.where);
}

Status GraphReader::AddParameter(const std::string& tensor, Constant constant) {
  SBP_RETURN_IF_ERROR(ReadExternal(*model_.external, constant));
  known_[tensor] = Known{constant.type.dtype, constant.literal, true, constant.type.rank()};
  const TensorId id = builder_.AddParameter(tensor, std::move(constant.type), std::move(constant.literal));
  Tensor& parameter = builder_.graph().tensor(id);
  parameter.data = std::move(constant.data);
  SBP_ASSIGN_OR_RETURN(const std::optional<StridedInts> strided,
                       StridesOfLarge(parameter, model_.file, *model_.external));
  if (strided) parameter.strided = std::make_shared<const StridedInts>(*strided);
  return OkStatus();
}

Status GraphReader::ReadInitializers(const sbp_onnx::Graph& graph, Frame& frame) {
  for (const sbp_onnx::Tensor& tensor : graph.initializer()) {
    Result<Constant> constant = DecodeTensor(tensor, model_.file);
    if (!constant.ok()) return constant.status().WithContext(StrCat("initializer ", Quote(tensor.name())));
    SBP_RETURN_IF_ERROR(AddParameter(frame.names[tensor.name()], std::move(*constant)));
  }
  for (const sbp_onnx::SparseTensor& sparse : graph.sparse_initializer()) {
    const std::string& name = sparse.values().name();
    Result<Constant> constant = DecodeSparse(sparse, model_.file);
    if (!constant.ok()) return constant.status().WithContext(StrCat("sparse initializer ", Quote(name)));
    SBP_RETURN_IF_ERROR(AddParameter(frame.names[name], std::move(*constant)));
  }
  return OkStatus();
}

Status GraphReader::ReadInputs(const sbp_onnx::Graph& graph, Frame& frame) {
  for (const sbp_onnx::ValueInfo& input : graph.input()) {
    if (input.name().empty()) return BadInput("a graph input without a name");
    const std::string& name = frame.names[input.name()];
    if (const auto known = known_.find(name); known != known_.end() && known->second.parameter) {
      continue;  // files before IR version 4 list initializers among the inputs
    }
    Result<StatedType> stated = DecodeType(input.type());
    if (!stated.ok()) return stated.status().WithContext(StrCat("input ", Quote(input.name())));
    for (size_t axis = 0; axis < stated->symbols.size(); ++axis) {
      if (stated->symbols[axis] == "?") stated->symbols[axis] = StrCat(name, "[", axis, "]");
    }
    known_[name] = Known{stated->type.dtype, nullptr, false, stated->type.has_rank ? stated->type.rank() : -1};
    builder_.AddInput(name, std::move(stated->type), std::move(stated->symbols));
  }
  return OkStatus();
}

Status GraphReader::ReadOutputs(const sbp_onnx::Graph& graph, Frame& frame) {
  for (const sbp_onnx::ValueInfo& output : graph.output()) {
    if (output.name().empty()) return BadInput("a graph output without a name");
    builder_.AddOutput(Lookup(output.name(), frame));
  }
  return OkStatus();
}

Status GraphReader::Describe(const google::protobuf::RepeatedPtrField<sbp_onnx::ValueInfo>& infos, Frame& frame) {
  for (const sbp_onnx::ValueInfo& info : infos) {
    const auto name = frame.names.find(info.name());
    if (name == frame.names.end() || name->second.empty() || known_.contains(name->second)) continue;
    Result<StatedType> stated = DecodeType(info.type());
    if (!stated.ok()) return stated.status().WithContext(StrCat("tensor ", Quote(info.name())));
    builder_.DescribeTensor(name->second, std::move(stated->type), std::move(stated->symbols));
  }
  return OkStatus();
}

void GraphReader::ReadAnnotations(const sbp_onnx::Graph& graph) {
  auto& metadata = builder_.graph().metadata;
  for (const sbp_onnx::Entry& entry : graph.metadata_props()) metadata.emplace_back(entry.key(), entry.value());
  for (const sbp_onnx::TensorAnnotation& annotation : graph.quantization_annotation()) {
    metadata.emplace_back("onnx.quantization_annotation", annotation.ShortDebugString());
  }
}

void GraphReader::DefineOutputs(const google::protobuf::RepeatedPtrField<sbp_onnx::Node>& nodes, Frame& frame) {
  for (const sbp_onnx::Node& node : nodes) {
    for (const std::string& output : node.output()) {
      if (output.empty() || frame.names.contains(output)) continue;
      frame.names[output] = frame.prefix.empty() ? output : NewName(frame.prefix + output);
      taken_.insert(frame.names[output]);
    }
  }
}

std::string GraphReader::NewName(std::string_view hint) {
  std::string name(hint);
  for (int i = 1; !taken_.insert(name).second; ++i) name = StrCat(hint, "_", i);
  return name;
}

std::string GraphReader::AddConstant(std::string_view hint, Literal value) {
  const std::string name = NewName(hint);
  auto literal = std::make_shared<const Literal>(std::move(value));
  known_[name] = Known{literal->type.dtype, literal, true, literal->type.rank()};
  builder_.AddParameter(name, literal->type, literal);
  return name;
}

LiteralRef GraphReader::ValueOf(std::string_view tensor) const {
  const auto known = known_.find(std::string(tensor));
  return known == known_.end() ? nullptr : known->second.value;
}

DType GraphReader::TypeOf(std::string_view tensor) const {
  const auto known = known_.find(std::string(tensor));
  return known == known_.end() ? DType::kUndefined : known->second.dtype;
}

int64_t GraphReader::RankOf(std::string_view tensor) const {
  const auto known = known_.find(std::string(tensor));
  return known == known_.end() ? -1 : known->second.rank;
}

bool GraphReader::Knows(const std::string& name, const Frame& frame) {
  for (const Frame* f = &frame; f != nullptr; f = f->outer) {
    if (f->names.contains(name)) return true;
  }
  return false;
}

std::string GraphReader::Lookup(const std::string& name, Frame& frame) {
  if (name.empty()) return "";
  if (const auto found = frame.names.find(name); found != frame.names.end()) return found->second;
  if (frame.outer == nullptr || !Knows(name, *frame.outer)) return name;
  return LookupCaptured(name, frame);
}

std::string GraphReader::LookupCaptured(const std::string& name, Frame& frame) {
  const std::string outer = frame.outer->reader->Lookup(name, *frame.outer);
  if (outer.empty()) return frame.names[name] = "";
  const std::string local = NewName(name);
  TensorType unknown;
  unknown.has_rank = false;
  const GraphReader& outside = *frame.outer->reader;
  known_[local] = Known{outside.TypeOf(outer), outside.ValueOf(outer), false, outside.RankOf(outer)};
  builder_.AddInput(local, std::move(unknown));
  captures_.push_back(outer);
  return frame.names[name] = local;
}

Status GraphReader::ReadNodes(const google::protobuf::RepeatedPtrField<sbp_onnx::Node>& nodes, Frame& frame) {
  for (int i = 0; i < nodes.size(); ++i) {
    const sbp_onnx::Node& node = nodes[i];
    if (--model_.nodes_left < 0) return BadInput("local functions expand to too many operators");
    const Status read = ReadNode(node, frame);
    if (read.ok()) continue;
    if (frame.depth >= kMaxPlaces) return read;
    return read.WithContext(
        StrCat("node ", node.name().empty() ? StrCat("number ", i) : Quote(node.name()), " (", node.op_type(), ")"));
  }
  return OkStatus();
}

Status GraphReader::ReadNode(const sbp_onnx::Node& node, Frame& frame) {
  if (node.op_type().empty()) return BadInput("a node without an operator type");
  const std::string domain = Domain(node.domain());
  if (domain.empty() && node.op_type() == "Constant") return ReadConstant(node, frame);
  SBP_ASSIGN_OR_RETURN(NodeForm form, ReadForm(node, frame));
  const auto function = model_.functions.find({domain, node.op_type(), node.overload()});
  if (function != model_.functions.end()) return InlineCall(*function->second, form, frame);
  std::optional<int64_t> version = AdoptByOnnx(form);
  if (!domain.empty() && !version) return AddOp(std::move(form));
  if (!version) {
    const auto opset = frame.opsets->find("");
    if (opset == frame.opsets->end()) return BadInput("no version of ONNX's own operators is imported (opset_import)");
    version = opset->second;
  }
  SBP_ASSIGN_OR_RETURN(std::vector<NodeForm> forms, Upgrade(std::move(form), *version, *this));
  for (NodeForm& upgraded : forms) SBP_RETURN_IF_ERROR(AddOp(std::move(upgraded)));
  return OkStatus();
}

Status GraphReader::AddOp(NodeForm form) {
  const OpId id =
      builder_.AddOp(form.type, form.name, form.inputs, form.outputs, std::move(form.attributes), form.scope);
  Op& op = builder_.graph().op(id);
  op.metadata = std::move(form.metadata);
  std::vector<TensorId> captures;
  for (const auto& [attribute, names] : form.captures) {  // in the order of Attributes: by name
    for (const std::string& name : names) captures.push_back(builder_.Tensor(name));
  }
  builder_.graph().op(id).captures = std::move(captures);
  return OkStatus();
}

Result<NodeForm> GraphReader::ReadForm(const sbp_onnx::Node& node, Frame& frame) {
  NodeForm form;
  form.type = QualifiedType(node);
  form.name = frame.prefix + node.name();
  if (!frame.prefix.empty() && node.name().empty()) form.name += node.op_type();
  for (const std::string& input : node.input()) form.inputs.push_back(Lookup(input, frame));
  for (const std::string& output : node.output()) form.outputs.push_back(Lookup(output, frame));
  for (const sbp_onnx::Attribute& attribute : node.attribute()) {
    SBP_RETURN_IF_ERROR(
        ReadAttribute(attribute, frame, form).WithContext(StrCat("attribute ", Quote(attribute.name()))));
  }
  ReadMetadata(node, frame, form);
  return form;
}

void GraphReader::ReadMetadata(const sbp_onnx::Node& node, const Frame& frame, NodeForm& form) const {
  std::optional<std::string> from_scopes;
  std::string from_namespace;
  bool stated = false;
  for (const sbp_onnx::Entry& entry : node.metadata_props()) {
    if (!StatesScope(entry.key())) {
      form.metadata.emplace_back(entry.key(), entry.value());
      continue;
    }
    if (entry.key() == kNameScopesKey) from_scopes = ScopeFromNameScopes(entry.value());
    if (entry.key() == kNamespaceKey) from_namespace = ScopeFromNamespace(entry.value());
    stated = true;
  }
  for (const auto& configuration : node.device_configurations()) {
    form.metadata.emplace_back("onnx.device_configuration", configuration.ShortDebugString());
  }
  if (stated) {
    form.scope = from_scopes.value_or(from_namespace);
  } else if (!frame.scope.empty()) {
    form.scope = JoinScope(frame.scope, ScopeFromNodeName(node.name()));
  } else {
    form.scope = ScopeFromNodeName(node.name());
  }
}

Status GraphReader::ReadConstant(const sbp_onnx::Node& node, Frame& frame) {
  if (node.output_size() != 1 || node.output(0).empty()) return BadInput("a Constant must have one output");
  const std::string name = Lookup(node.output(0), frame);
  if (node.attribute_size() != 1) return BadInput("a Constant must have one attribute");
  const sbp_onnx::Attribute& attribute = node.attribute(0);
  if (attribute.has_t() && attribute.ref_attr_name().empty()) {
    SBP_ASSIGN_OR_RETURN(Constant constant, DecodeTensor(attribute.t(), model_.file));
    return AddParameter(name, std::move(constant));
  }
  if (attribute.has_sparse_tensor()) {
    SBP_ASSIGN_OR_RETURN(Constant constant, DecodeSparse(attribute.sparse_tensor(), model_.file));
    return AddParameter(name, std::move(constant));
  }
  NodeForm form;
  SBP_RETURN_IF_ERROR(ReadAttribute(attribute, frame, form));
  const AttributeValue* value = form.attributes.Find(attribute.name());
  if (value == nullptr) return BadInput(StrCat("attribute ", Quote(attribute.name()), " has no value"));
  Literal literal;
  if (const auto* whole = std::get_if<LiteralRef>(value)) {
    literal = **whole;
  } else if (const auto* i = std::get_if<int64_t>(value)) {
    literal = Literal::Scalar(*i);
  } else if (const auto* f = std::get_if<double>(value)) {
    literal = Literal::Float(*f);
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(value)) {
    literal = Literal::Ints(*ints);
  } else if (const auto* floats = std::get_if<std::vector<double>>(value)) {
    literal.type = TensorType{DType::kF32, {static_cast<int64_t>(floats->size())}};
    literal.floats = *floats;
  } else if (const auto* s = std::get_if<std::string>(value)) {
    literal.type = TensorType{DType::kString, {}};
    literal.strings = {*s};
  } else if (const auto* strings = std::get_if<std::vector<std::string>>(value)) {
    literal.type = TensorType{DType::kString, {static_cast<int64_t>(strings->size())}};
    literal.strings = *strings;
  } else {
    return BadInput(StrCat("a Constant cannot have attribute ", Quote(attribute.name())));
  }
  Constant constant;
  constant.type = literal.type;
  if (literal.type.num_elements() <= kMaxLiteralElements)
    constant.literal = std::make_shared<const Literal>(std::move(literal));
  return AddParameter(name, std::move(constant));
}

std::string GraphReader::UniquePrefix(const NodeForm& call) {
  const std::string base = call.name.empty() ? call.type : call.name;
  std::string prefix = base + "/";
  for (int i = 1; !prefixes_.insert(prefix).second; ++i) prefix = StrCat(base, "_", i, "/");
  return prefix;
}

Status GraphReader::InlineCall(const sbp_onnx::Function& function, const NodeForm& call, Frame& frame) {
  if (frame.depth >= kMaxCallDepth)
    return BadInput(StrCat("local functions call each other more than ", kMaxCallDepth, " deep"));
  for (const auto& [attribute, names] : call.captures) {
    if (!names.empty())
      return BadInput(
          StrCat("a local function cannot take subgraph ", Quote(attribute), ", which reads outer tensors"));
  }
  const OperatorSets opsets = ReadOperatorSets(function.opset_import());
  Attributes arguments = call.attributes;
  Frame body;
  body.reader = this;
  body.prefix = UniquePrefix(call);
  body.scope = JoinScope(call.scope, LastLevel(body.prefix.substr(0, body.prefix.size() - 1)));
  body.opsets = &opsets;
  body.depth = frame.depth + 1;
  NodeForm defaults;
  for (const sbp_onnx::Attribute& attribute : function.attribute_proto()) {
    SBP_RETURN_IF_ERROR(ReadAttribute(attribute, body, defaults));
  }
  for (const auto& [name, value] : defaults.attributes.entries()) {
    if (arguments.Find(name) == nullptr) arguments.Set(name, value);
  }
  body.arguments = &arguments;
  if (static_cast<int>(call.inputs.size()) > function.input_size() ||
      static_cast<int>(call.outputs.size()) > function.output_size()) {
    return BadInput(StrCat("local function ", Quote(function.name()), " takes ", function.input_size(),
                           " inputs and gives ", function.output_size(), " outputs; the call has ", call.inputs.size(),
                           " and ", call.outputs.size()));
  }
  for (int i = 0; i < function.input_size(); ++i) {
    const auto at = static_cast<size_t>(i);
    body.names.emplace(function.input(i), at < call.inputs.size() ? call.inputs[at] : "");
  }
  // A result that is an argument, or asked for twice, is copied to the name that the caller gave it.
  std::vector<std::pair<std::string, std::string>> copies;
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.outputs[i].empty()) continue;
    const std::string& formal = function.output(static_cast<int>(i));
    const bool is_new = body.names.emplace(formal, call.outputs[i]).second;
    if (!is_new) copies.emplace_back(formal, call.outputs[i]);
  }
  DefineOutputs(function.node(), body);
  SBP_RETURN_IF_ERROR(ReadNodes(function.node(), body));
  SBP_RETURN_IF_ERROR(Describe(function.value_info(), body));
  for (const auto& [formal, actual] : copies) {
    NodeForm copy;
    copy.type = "Identity";
    copy.name = actual;
    copy.inputs = {body.names[formal]};
    copy.outputs = {actual};
    copy.scope = body.scope;
    SBP_RETURN_IF_ERROR(AddOp(std::move(copy)));
  }
  return OkStatus();
}

}  // namespace sbp::onnx
