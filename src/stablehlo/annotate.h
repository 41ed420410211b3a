// Writes shardings into a text of StableHLO; whatever else it holds stays as it is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graph/tensor_type.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {

// Layouts without P by the names of the graph that ReadStableHlo makes of the text; nothing: it is not known.
struct TextLayouts {
  Mesh mesh;
  // How an argument starts, an op's result is written, an output ends.
  std::function<std::optional<NdSbp>(const std::string& tensor)> written;
  // How the op that writes `result` reads `operand`.
  std::function<std::optional<NdSbp>(const std::string& result, const std::string& operand)> read;
};

struct TextValue {  // an argument or result of main
  std::string name;
  TensorType type;
  std::optional<NdSbp> layout;
};
struct AnnotatedText {
  std::string text;
  std::vector<TextValue> arguments, outputs;  // in the text's order
  int64_t results = 0;                        // of ops, that have a sharding
  int64_t constraints = 0;                    // on operands
  int64_t ambiguous = 0;                      // ops of functions that are called several times, with other layouts
};
// Shardings of Shardy on arguments and results of main and on results of ops; where an op reads a value in another
// layout than it was written, a sharding constraint in front of it. Those that the text has already give way; the
// number of partitions becomes the mesh's. Errors (kBadInput): those of ReadStableHlo.
Result<AnnotatedText> AnnotateStableHlo(std::string_view text, std::string_view where, const TextLayouts& layouts);

// `[{"data"}, {"data", "model"}]`, of a tensor of this rank.
std::string ShardyDims(const NdSbp& layout, int rank, const Mesh& mesh);

}  // namespace sbp
