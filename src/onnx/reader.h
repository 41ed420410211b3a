// Reads ONNX models into graphs. Weights are not needed; external data is referred to, never opened.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"

namespace sbp {

// Does `bytes` look like a serialised ONNX ModelProto (rather than one of our own binary documents)?
bool LooksLikeOnnx(std::string_view bytes);

// The graph as the file states it: symbolic dimensions kept, shape arithmetic kept, local functions inlined, old
// operator forms upgraded to the newest one (upgrade.h), scopes from metadata (or node names), Constant nodes as
// parameters with data or literal. `where` names the file in errors. Errors (kBadInput): not a ModelProto, no graph, a
// malformed tensor, dangling or duplicate names, cycles.
Result<Graph> ReadOnnx(std::string_view bytes, std::string_view where);

// The values of a TensorProto file's bytes (ONNX test data, .pb): small ones as a literal.
Result<Literal> ReadOnnxTensor(std::string_view bytes, std::string_view where);

}  // namespace sbp
