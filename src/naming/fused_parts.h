// Parts of fused weights: one product for q, k and v, or for gate and up, whose result is then split. A part has a name
// of its own, "self_attn/q_proj:weight" of a qkv_proj, though no tensor has.
//
// Recognised after the product and its bias (and reshapes that keep the last dimension): Split, Slices, a Reshape that
// makes a dimension of 2 or 3 and Gathers, Slices or a Split of that, com.microsoft's Attention, QAttention and
// GroupQueryAttention with packed operands; and a Split of the weight itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "naming/module_names.h"

namespace sbp {

struct ModulePart {
  TensorId parameter;  // the fused one
  std::string scope, role;
  int dim = 0;                 // of the parameter: the one along which parts lie
  int64_t begin = 0, end = 0;  // along it, of the first group
  // In how many groups all parts lie, one behind the other: 1 where a part is one piece. A fused dimension that is cut
  // into as many pieces as divide this cuts every part alike.
  int64_t groups = 1;
  TensorId activation;     // the part of the product, where an op writes it
  bool is_tensor = false;  // `activation` is this part of the weight itself, not of its product
};

// Of a resolved graph; linear in its operands.
std::vector<ModulePart> FindFusedParts(const Graph& graph, const ModuleNames& names);

// What the parts of a module are called: "a/qkv_proj", 3 -> "a/q_proj", "a/k_proj", "a/v_proj"; "a/gate_up_proj", 2 ->
// "a/gate_proj", "a/up_proj"; "h.0/attn/c_attn", 3 -> "h.0/attn/c_attn/q", ...; any other: "m/part.0", ...
std::vector<std::string> PartScopes(const std::string& scope, size_t count);

}  // namespace sbp
