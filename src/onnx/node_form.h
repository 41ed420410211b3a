// An operator of a model file on its way into the graph, and what an upgrade of it may ask and add.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "graph/graph.h"
#include "graph/literal.h"

namespace sbp::onnx {

struct NodeForm {
  std::string type;                  // qualified: "MatMul", "com.microsoft::Attention"
  std::string name;                  // may be empty
  std::vector<std::string> inputs;   // tensor names of the graph; "": absent
  std::vector<std::string> outputs;  // "": nobody asked for it
  Attributes attributes;
  std::string scope;
  std::vector<std::pair<std::string, std::string>> metadata;
  // Per attribute that is a subgraph: the tensors of this graph behind its captured inputs (its last ones).
  std::map<std::string, std::vector<std::string>> captures;
};

inline void EraseAttribute(NodeForm& node, std::string_view name) {
  std::erase_if(node.attributes.mutable_entries(), [&](const auto& entry) { return entry.first == name; });
}

// The graph that the node goes into, as an upgrade sees it.
class UpgradeSite {
 public:
  virtual ~UpgradeSite() = default;
  // A new parameter with this value; returns its name.
  virtual std::string AddConstant(std::string_view hint, Literal value) = 0;
  // A new tensor name.
  virtual std::string NewName(std::string_view hint) = 0;
  // The value of a tensor, if it is a small constant; null otherwise.
  virtual LiteralRef ValueOf(std::string_view tensor) const = 0;
  // The type as far as the file states it (kUndefined: it does not).
  virtual DType TypeOf(std::string_view tensor) const = 0;
  // The rank of an input or a parameter; -1: the file does not state it.
  virtual int64_t RankOf(std::string_view tensor) const = 0;
};

}  // namespace sbp::onnx
