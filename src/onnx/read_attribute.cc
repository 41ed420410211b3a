// Attributes of a node: values, references to the attributes of a call, subgraphs.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "onnx/graph_reader.h"
#include "onnx/limits.h"
#include "onnx/node_form.h"
#include "onnx/tensor.h"

namespace sbp::onnx {
namespace {

enum AttributeType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparse = 11,
  kSparses = 12,
  kType = 13,
  kTypes = 14,
};

// Files of early IR versions do not state the type.
int32_t TypeOfAttribute(const sbp_onnx::Attribute& attribute) {
  if (attribute.type() != kUndefined) return attribute.type();
  if (attribute.has_t()) return kTensor;
  if (attribute.has_g()) return kGraph;
  if (attribute.has_sparse_tensor()) return kSparse;
  if (attribute.has_tp()) return kType;
  if (attribute.floats_size() > 0) return kFloats;
  if (attribute.ints_size() > 0) return kInts;
  if (attribute.strings_size() > 0) return kStrings;
  if (attribute.tensors_size() > 0) return kTensors;
  if (attribute.graphs_size() > 0) return kGraphs;
  if (!attribute.s().empty()) return kString;
  if (attribute.f() != 0) return kFloat;
  return kInt;
}

// A large tensor keeps its type only.
AttributeValue LiteralOf(const Constant& constant) {
  if (constant.literal != nullptr) return constant.literal;
  auto typed = std::make_shared<Literal>();
  typed->type = constant.type;
  return LiteralRef(std::move(typed));
}

Result<std::string> TypeText(const sbp_onnx::Type& type) {
  SBP_ASSIGN_OR_RETURN(const StatedType stated, DecodeType(type));
  return ToString(stated.type);
}

}  // namespace

Result<AttributeValue> GraphReader::ReadSubgraph(const sbp_onnx::Graph& graph, const std::string& attribute,
                                                 Frame& frame, NodeForm& form) {
  if (frame.depth >= kMaxCallDepth) return BadInput(StrCat("subgraphs nest deeper than ", kMaxCallDepth, " levels"));
  GraphReader reader(model_, graph.name());
  Frame inner;
  inner.outer = &frame;
  inner.opsets = frame.opsets;
  inner.arguments = frame.arguments;
  inner.depth = frame.depth + 1;
  SBP_ASSIGN_OR_RETURN(Graph body, reader.Read(graph, inner));
  form.captures[attribute] = reader.captures();
  return AttributeValue(std::shared_ptr<const Graph>(std::make_shared<Graph>(std::move(body))));
}

Status GraphReader::ReadAttribute(const sbp_onnx::Attribute& attribute, Frame& frame, NodeForm& form) {
  const std::string& name = attribute.name();
  if (!attribute.ref_attr_name().empty()) {
    const AttributeValue* value =
        frame.arguments == nullptr ? nullptr : frame.arguments->Find(attribute.ref_attr_name());
    if (value != nullptr) form.attributes.Set(name, *value);  // an attribute that the call leaves out has its default
    return OkStatus();
  }
  const auto set_tensors = [&](const auto& list, auto decode) -> Status {
    int index = 0;
    for (const auto& item : list) {
      SBP_ASSIGN_OR_RETURN(const Constant constant, decode(item, model_.file));
      form.attributes.Set(StrCat(name, "[", index++, "]"), LiteralOf(constant));
    }
    return OkStatus();
  };
  switch (TypeOfAttribute(attribute)) {
    case kFloat:
      form.attributes.Set(name, static_cast<double>(attribute.f()));
      break;
    case kInt:
      form.attributes.Set(name, attribute.i());
      break;
    case kString:
      form.attributes.Set(name, attribute.s());
      break;
    case kFloats:
      form.attributes.Set(name, std::vector<double>(attribute.floats().begin(), attribute.floats().end()));
      break;
    case kInts:
      form.attributes.Set(name, std::vector<int64_t>(attribute.ints().begin(), attribute.ints().end()));
      break;
    case kStrings:
      form.attributes.Set(name, std::vector<std::string>(attribute.strings().begin(), attribute.strings().end()));
      break;
    case kTensor: {
      SBP_ASSIGN_OR_RETURN(const Constant constant, DecodeTensor(attribute.t(), model_.file));
      form.attributes.Set(name, LiteralOf(constant));
      break;
    }
    case kSparse: {
      SBP_ASSIGN_OR_RETURN(const Constant constant, DecodeSparse(attribute.sparse_tensor(), model_.file));
      form.attributes.Set(name, LiteralOf(constant));
      break;
    }
    case kTensors:
      return set_tensors(attribute.tensors(), DecodeTensor);
    case kSparses:
      return set_tensors(attribute.sparse_tensors(), DecodeSparse);
    case kGraph: {
      SBP_ASSIGN_OR_RETURN(AttributeValue body, ReadSubgraph(attribute.g(), name, frame, form));
      form.attributes.Set(name, std::move(body));
      break;
    }
    case kGraphs:
      return BadInput("lists of subgraphs are not read: no operator of the standard has one");
    case kType: {
      SBP_ASSIGN_OR_RETURN(std::string text, TypeText(attribute.tp()));
      form.attributes.Set(name, std::move(text));
      break;
    }
    case kTypes: {
      std::vector<std::string> texts;
      for (const sbp_onnx::Type& type : attribute.type_protos()) {
        SBP_ASSIGN_OR_RETURN(std::string text, TypeText(type));
        texts.push_back(std::move(text));
      }
      form.attributes.Set(name, std::move(texts));
      break;
    }
    default:
      return BadInput(StrCat("attribute type ", attribute.type(), " is unknown"));
  }
  return OkStatus();
}

}  // namespace sbp::onnx
