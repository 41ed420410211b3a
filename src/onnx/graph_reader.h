// Reads one graph of a model (the main one, or a subgraph) through a GraphBuilder: renames, inlines local functions,
// collects what subgraphs capture.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "onnx/node_form.h"
#include "onnx/onnx_ir.pb.h"
#include "onnx/reader.h"
#include "onnx/tensor.h"

namespace sbp::onnx {

// What all graphs of a model share.
struct ModelContext {
  std::string_view file;   // the model's bytes, for payloads that were left there
  std::string_view where;  // its name in errors
  const ExternalReader* external = nullptr;
  std::map<std::tuple<std::string, std::string, std::string>, const sbp_onnx::Function*>
      functions;           // domain, name, overload
  int64_t nodes_left = 0;  // budget of nodes after inlining
};

using OperatorSets = std::map<std::string, int64_t>;
OperatorSets ReadOperatorSets(const google::protobuf::RepeatedPtrField<sbp_onnx::OperatorSet>& imports);

class GraphReader;

// A name space: a graph's own, or that of one call of a local function. Names of the file map to tensors of the graph
// that is being built.
struct Frame {
  GraphReader* reader = nullptr;
  Frame* outer = nullptr;  // of a subgraph: where its captured names are looked up
  std::unordered_map<std::string, std::string> names;
  std::string prefix;  // of new tensors and ops: "call/" inside a function
  std::string scope;   // of ops that state none
  const OperatorSets* opsets = nullptr;
  const Attributes* arguments = nullptr;  // attributes of the call; null outside of functions
  int depth = 0;                          // calls and subgraphs around this one
};

class GraphReader : public UpgradeSite {
 public:
  GraphReader(ModelContext& model, std::string name) : model_(model), builder_(std::move(name)) {}

  // `frame` is the graph's own, with outer, opsets and arguments set.
  Result<Graph> Read(const sbp_onnx::Graph& graph, Frame& frame);
  // Names of the outer graph's tensors behind the last inputs of the graph.
  const std::vector<std::string>& captures() const { return captures_; }
  GraphBuilder& builder() { return builder_; }

  std::string AddConstant(std::string_view hint, Literal value) override;
  std::string NewName(std::string_view hint) override;
  LiteralRef ValueOf(std::string_view tensor) const override;
  DType TypeOf(std::string_view tensor) const override;
  int64_t RankOf(std::string_view tensor) const override;

 private:
  Status ReadInitializers(const sbp_onnx::Graph& graph, Frame& frame);
  Status ReadInputs(const sbp_onnx::Graph& graph, Frame& frame);
  Status ReadOutputs(const sbp_onnx::Graph& graph, Frame& frame);
  Status Describe(const google::protobuf::RepeatedPtrField<sbp_onnx::ValueInfo>& infos, Frame& frame);
  Status AddParameter(const std::string& tensor, Constant constant);
  void ReadAnnotations(const sbp_onnx::Graph& graph);

  // Nodes: in the file's order, calls of local functions expanded in place.
  Status ReadNodes(const google::protobuf::RepeatedPtrField<sbp_onnx::Node>& nodes, Frame& frame);
  Status ReadNode(const sbp_onnx::Node& node, Frame& frame);
  Status ReadConstant(const sbp_onnx::Node& node, Frame& frame);
  Status InlineCall(const sbp_onnx::Function& function, const NodeForm& call, Frame& frame);
  Result<NodeForm> ReadForm(const sbp_onnx::Node& node, Frame& frame);
  Status AddOp(NodeForm form);

  Status ReadAttribute(const sbp_onnx::Attribute& attribute, Frame& frame, NodeForm& form);
  Result<AttributeValue> ReadSubgraph(const sbp_onnx::Graph& graph, const std::string& attribute, Frame& frame,
                                      NodeForm& form);

  void DefineOutputs(const google::protobuf::RepeatedPtrField<sbp_onnx::Node>& nodes, Frame& frame);
  void ReadMetadata(const sbp_onnx::Node& node, const Frame& frame, NodeForm& form) const;
  // The tensor that `name` means; a name that nothing defines stays itself, and Build reports it.
  std::string Lookup(const std::string& name, Frame& frame);
  std::string LookupCaptured(const std::string& name, Frame& frame);
  static bool Knows(const std::string& name, const Frame& frame);
  std::string UniquePrefix(const NodeForm& call);

  ModelContext& model_;
  GraphBuilder builder_;
  std::unordered_set<std::string> taken_;     // names of tensors
  std::unordered_set<std::string> prefixes_;  // of calls
  struct Known {
    DType dtype = DType::kUndefined;
    LiteralRef value;
    bool parameter = false;
    int64_t rank = -1;  // not stated
  };
  std::unordered_map<std::string, Known> known_;  // inputs and parameters
  std::vector<std::string> captures_;
};

}  // namespace sbp::onnx
