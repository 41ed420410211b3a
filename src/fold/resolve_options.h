// What a user may say of how a graph is resolved.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/literal.h"
#include "sbp/shard_math.h"

namespace sbp {

struct ResolveOptions {
  std::map<std::string, int64_t> bindings;  // --dim NAME=N; NAME a symbol, an expression, or input[axis]
  std::vector<std::pair<std::string, Shape>> input_shapes;  // --inputs: the shapes of real inputs, by input name
  std::vector<std::pair<std::string, LiteralRef>>
      input_values;            // small inputs given with --inputs; those that shape the graph become its assumptions
  bool keep_ops = false;       // known values serve shapes alone: what can be computed is, when the graph runs
  bool keep_floats = false;    // the same of floats: what is computed of weights stays, sizes and places are folded
  bool strict = false;         // an op without a rule is an error
  bool simplify = false;       // write the graph in a form that layouts pass (simplify/simplify.h)
  bool group_experts = false;  // of that only what leaves parameters as they are, for graphs to be differentiated
  // Numbers (parameters of one element) that somebody asks the gradient of, as patterns: no pass makes attributes of
  // them.
  std::vector<std::string> asked_for;
  bool allow_empty = false;  // a model of which nothing comes out because nothing goes in is no mistake
};

}  // namespace sbp
