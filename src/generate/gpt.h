// Two of the families of generate.h: decoders with layer norms and a plain MLP.
#pragma once

#include "base/status.h"
#include "generate/options.h"
#include "graph/graph.h"

namespace sbp {

// Biases everywhere, learned positions, tied head. Errors (kUsage), of both: sizes that do not divide, --positions
// rope.
Result<Graph> GenerateGpt(const GenerateOptions& options);
// No biases, ALiBi.
Result<Graph> GenerateMpt(const GenerateOptions& options);

}  // namespace sbp
