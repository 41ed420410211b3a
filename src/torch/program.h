// An exported program of torch.export, as typed plain data: what models/model.json says, checked, nothing interpreted.
// The format is that of torch/_export/serde/schema.py, major version 8.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "torch/json_view.h"

namespace sbp::torch {

inline constexpr int kSchemaMajor = 8;
inline constexpr int kMaxSubgraphDepth = 16;

// The type of a tensor; where a size is an expression over symbols, its text ("" where it is a number).
struct TensorMeta {
  TensorType type;
  std::vector<std::string> symbols;  // per dimension, or empty
  bool contiguous = true;
  int64_t storage_offset = 0;  // elements
};

struct Subgraph;

// One argument or result of a node.
struct Argument {
  enum class Kind {
    kNone,        // absent, or of no meaning to a computation: a device, a layout
    kTensors,     // one, or a list of them
    kValue,       // a number, a text, a list of such
    kExpression,  // a size, or a list of sizes, over symbols
    kSubgraph,
  };
  std::string name;  // the schema's; "" of results
  Kind kind = Kind::kNone;
  bool is_list = false;
  std::vector<std::string> tensors;  // "": absent
  AttributeValue value;              // kValue; kExpression: a list of texts
  std::shared_ptr<const Subgraph> subgraph;
};

struct Node {
  std::string target;  // "torch.ops.aten.add.Tensor"
  std::string name;
  std::vector<Argument> inputs, outputs;
  std::string module;  // the innermost module that it stands in, levels by '/': "layers.0/mlp"
  std::string source;  // "model.py:12", the line of the module's own code; "" unknown
};

struct Subgraph {
  std::vector<Argument> inputs, outputs;
  std::vector<Node> nodes;
  std::unordered_map<std::string, TensorMeta> tensors;
};

struct InputSpec {
  enum class Kind { kUser, kParameter, kBuffer, kConstant, kOther };
  Kind kind = Kind::kUser;
  std::string argument;  // the name in the graph; "": no tensor
  std::string target;    // the module's name of it
};
struct OutputSpec {
  enum class Kind { kUser, kLoss, kGradient, kMutation, kOther };
  Kind kind = Kind::kUser;
  std::string argument;  // "": no tensor
  std::string target;    // of what: a parameter, buffer or input
};

struct Program {
  Subgraph graph;
  std::vector<InputSpec> inputs;                              // as graph.inputs
  std::vector<OutputSpec> outputs;                            // as graph.outputs
  std::map<std::string, std::pair<int64_t, int64_t>> ranges;  // symbol -> least and greatest size
  std::string torch_version;
};

// Errors (kBadInput): no JSON, another major version, a member that is missing or of another kind (with the node).
Result<Program> ReadProgram(std::string_view text);

// One graph of a program; `depth`: of graphs around it.
Status ReadGraph(const Json& json, int depth, Subgraph& graph);
// "torch.ops.aten.add.Tensor "add_3" (model.py:12)", for messages.
std::string PlaceOf(const Node& node);

// {"dtype": 7, "sizes": [...], "strides": [...], ...}. Error: a type that has no counterpart, negative sizes.
Result<TensorMeta> ReadTensorMeta(const Json& meta, std::string_view place);
// kUndefined: there is none.
DType DTypeOf(int64_t scalar_type);

// "Add(Symbol('s0', integer=True), Integer(1))", as sympy writes its expressions, as "(s0 + 1)".
std::string PlainExpression(std::string_view text);

}  // namespace sbp::torch
