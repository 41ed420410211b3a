// Problems from signatures as written: a graph whose ops offer exactly the listed one-axis signatures, in that order.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "graph/builder.h"
#include "problem/problem.h"

namespace sbp {

// An op of a listed problem. `signatures`: "S(0) B -> S(0)", one layout an operand and result; on several mesh axes the
// candidates are the product, last axis fastest, without those that cut an input dimension into more pieces than it has
// elements.
struct ListedOp {
  std::string name;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> signatures;
};

struct ListedGraph {
  std::map<std::string, Shape> shapes;  // of every tensor, f32
  std::vector<std::string> inputs, parameters;
  std::vector<ListedOp> ops;
  std::map<std::string, NdSbp> pins;  // of tensors, as they are written or start
  std::map<std::string, NdSbp> lies;  // of computed tensors, as they lie for their readers
  std::vector<std::string> outputs = {};
  OutputPolicy policy = OutputPolicy::kAny;
  std::map<std::string, int> batch;  // batch axis of tensors; absent ones have none
};

// Owns the graph that the problem points to.
struct ListedProblem {
  std::unique_ptr<Graph> graph;
  Problem problem;
  OpId op(const std::string& name) const { return NameIndex(*graph).op(name); }
  TensorId tensor(const std::string& name) const { return NameIndex(*graph).tensor(name); }
};
ListedProblem MakeListedProblem(const ListedGraph& listed, const Mesh& mesh);

// Two or three of them, drawn.
std::vector<std::string> SomeOf(std::vector<std::string> all, std::mt19937& random);

// One-axis layouts: "S(0)", "B", "P".
std::vector<Sbp> ParseSbps(const std::string& text);

}  // namespace sbp
