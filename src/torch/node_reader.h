// Nodes of an exported graph as ops of a GraphBuilder: names, inlined subgraphs, ops in place.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/status.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "torch/program.h"
#include "torch/write_views.h"

namespace sbp::torch {

// The names of one graph, of the program or within it -> tensors of the graph that is built.
struct Frame {
  std::unordered_map<std::string, std::string> names;
};

class NodeReader {
 public:
  // A joint graph's gradients are made: what torch.detach stopped of them has done so.
  NodeReader(GraphBuilder& builder, bool is_joint) : builder_(builder), is_joint_(is_joint) {}

  // False: another tensor has this name.
  bool Claim(const std::string& name) { return taken_.insert(name).second; }
  // That name, or with a number.
  std::string NewName(std::string_view hint);
  // The tensor that a name means now: what the last op in place made of it. A name that nothing defines stays itself,
  // and Build reports it.
  std::string Lookup(const std::string& name, const Frame& frame);

  // Error: the tensor, `name` in the file, shows memory that an op in place has changed since.
  Status CheckFresh(const std::string& tensor, std::string_view reader, std::string_view name) const;

  // The nodes in their order. `frame` has the graph's inputs, and tensors that are to have other names than the file
  // gives them.
  Status Read(const Subgraph& graph, Frame& frame);

 private:
  Status ReadNode(const Node& node, const Subgraph& graph, Frame& frame);
  Status AddOp(const Node& node, const Subgraph& graph, Frame& frame);
  Status Inline(const Node& node, size_t subgraph, Frame& frame);
  // `result` of a region, `name` in the file, as torch.detach gives it.
  std::string Detached(const Node& node, const std::string& result, const std::string& name);
  // An op in place has made `after` of `before`, and something new of all that `before` is a view of.
  Status Update(const Node& node, const std::string& before, const std::string& after);
  // An op in place has made `after` of `before`, by way of a view of which the whole cannot be made anew: what shows
  // the same memory is not to be read any more. Error: that is an input, whose new value the program gives back.
  Status Abandon(const Node& node, const std::string& view, const std::string& before, const std::string& after);
  void NoteView(const std::string& view, ViewMade made);
  std::vector<std::string> Results(const Node& node, const Subgraph& graph, Frame& frame);

  GraphBuilder& builder_;
  bool is_joint_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> numbers_;                     // of names that were asked for again
  std::unordered_set<std::string> read_;                             // names that some node or output reads
  std::unordered_map<std::string, std::string> updated_;             // a tensor -> what an op in place made of it
  std::unordered_map<std::string, std::string> base_;                // a view -> the tensor whose memory it shows
  std::unordered_map<std::string, std::vector<std::string>> views_;  // the other way round
  std::unordered_map<std::string, ViewMade> made_;                   // a view -> how
  std::unordered_map<std::string, std::string> stale_;               // shows memory that has changed -> the op's name
  int depth_ = 0;
};

}  // namespace sbp::torch
