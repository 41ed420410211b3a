// Reads what torch.export.save wrote (.pt2) into a graph, without torch and without its weights.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"

namespace sbp {

// The graph as the file states it: ATen's own ops ("aten::linear", of an overload "aten::add.Tensor"), which aten/
// lowers once sizes are bound. Tensors are attributes' neighbours by name: `_operands` lists the schema's names of an
// op's inputs. Sizes are symbolic where the file's are; attributes in which symbols stand are texts, and named in
// `_symbolic`. Parameters and buffers have the module's names ("layers.0.mlp.weight"), tied ones are one parameter, and
// refer into the file; outputs have the nodes' names, gradients of a joint graph `grad/PARAMETER`, updated buffers
// `next/BUFFER`, tied to BUFFER. Scopes come from the module stack; an op's metadata `source` is its line of Python.
// Ops in place become ops with a result. Errors (kBadInput): see archive.h and program.h; control flow; an op in place
// on a view, or whose operand's views are read later.
Result<Graph> ReadTorch(std::string_view bytes, std::string_view where);

// A node of the exported graph, as torch.fx has it.
struct TorchNode {
  enum class Kind {
    kInput,  // a parameter, a buffer or an input of the user: "placeholder"
    kCall,
    kItem,  // one result of a call that has several: "getitem"; `inputs` are all of these
  };
  Kind kind = Kind::kCall;
  std::string name;    // as torch.fx calls it: "p_mlp_weight", "addmm_2"
  std::string target;  // kCall: "torch.ops.aten.addmm.default"
  // Tensors by the names that ReadTorch gives them: those that a call reads in the order of its arguments, one that is
  // read twice twice; and what the node makes. "": nothing reads it, or an op in place made it.
  std::vector<std::string> inputs, outputs;
};
// The nodes in their order, those of subgraphs left out. Errors as ReadTorch.
Result<std::vector<TorchNode>> ReadTorchNodes(std::string_view bytes, std::string_view where);

}  // namespace sbp
