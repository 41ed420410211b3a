// Reads ONNX models into graphs. Weights are not needed; external data is referred to, and only small values are read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_data.h"
#include "graph/tensor_type.h"

namespace sbp {

// Does `bytes` look like a serialised ONNX ModelProto (rather than one of our own binary documents)?
bool LooksLikeOnnx(std::string_view bytes);

// So many bytes of external data; nothing when they are not at hand.
using ExternalReader = std::function<std::optional<std::string>(const DataReference& place, int64_t bytes)>;

// The graph as the file states it: symbolic dimensions kept, shape arithmetic kept, local functions inlined, old
// operator forms upgraded to the newest one (upgrade.h), scopes from metadata (or node names), Constant nodes as
// parameters with data or literal. `where` names the file in errors. Errors (kBadInput): not a ModelProto, no graph, a
// malformed tensor, dangling or duplicate names, cycles. `external` is asked for small integers, bools and floats.
Result<Graph> ReadOnnx(std::string_view bytes, std::string_view where, const ExternalReader& external = {});

// The values of a TensorProto file's bytes (ONNX test data, .pb): small ones as a literal.
Result<Literal> ReadOnnxTensor(std::string_view bytes, std::string_view where);
// The same with all values. `kind`: what the file holds, which its bytes do not say: a TensorProto, SequenceProto (of
// tensors) or OptionalProto (of a tensor or a sequence of them). Error: strings, external data, another message.
Result<TensorData> ReadOnnxData(std::string_view bytes, std::string_view where, ValueKind kind = ValueKind::kTensor);

}  // namespace sbp
