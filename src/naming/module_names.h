// Names of parameters by where they come from: a scope (module path) and a role in it, "m/layers.0/mlp/gate_proj" and
// "weight". Exporters fold and transpose weights and call the results val_76; their readers still know the module.
//
// A function of the graph alone, so a plan's graph gives the names that its model gave. From the parameter's own name
// when that is a path (own_name.h), else from the scope of the op that reads it, seen through Transpose, Cast,
// DequantizeLinear and the like; an op without a scope stands where its result is read, else where its operand comes
// from, else its own name is the scope. Deterministic; linear in operands, apart from the depth of scopes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"

namespace sbp {

struct ModuleName {
  TensorId parameter;
  std::string scope;  // '/' separates levels, spelled as in Graph::scopes where the graph has the module
  // "MatMul.1": the op's type and its number among the scope's, where several parameters share scope and role; "" where
  // that is not needed.
  std::string place;
  // Of a part that was cut out of a fused parameter, "val_76[:,0:768]": the scope of the whole; else "".
  std::string whole;
  std::string role;        // canonical: "weight", "bias", "scale", "zero_point", ... (roles.h), or the name's last word
  bool anonymous = false;  // the parameter's own name is made up
  OpId reader;             // the op that gave the name, or would have

  // "m/layers.0/mlp/gate_proj:weight"; names a parameter alone wherever the graph allows it.
  std::string Text() const;
};

class ModuleNames {
 public:
  ModuleNames() = default;
  explicit ModuleNames(const Graph& graph);

  // By parameter. Small constants and tables of integers that no module owns have no entry.
  const std::vector<ModuleName>& all() const { return names_; }
  const ModuleName* Find(TensorId id) const;  // nullptr where there is none

  // For people: `val_76 (m/layers.0/mlp/gate_proj:weight)`; any other tensor by its name alone.
  std::string Label(const Graph& graph, TensorId id) const;
  // The same with the tensor's name in quotes: `"val_76" (m/layers.0/mlp/gate_proj:weight)`.
  std::string QuotedLabel(const Graph& graph, TensorId id) const;

 private:
  std::vector<ModuleName> names_;
  std::vector<uint32_t> of_tensor_;  // index into names_, or kNone
};

// " (m/layers.0/mlp)" for an op whose name is no path and whose scope is known, else "".
std::string ScopeBeside(const Graph& graph, OpId op);

}  // namespace sbp
