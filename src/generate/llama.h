// Two of the families of generate.h: Llama, and Mixtral, whose MLPs are experts.
#pragma once

#include "base/status.h"
#include "generate/options.h"
#include "graph/graph.h"

namespace sbp {

// Errors (kUsage), of both: sizes that do not divide.
Result<Graph> GenerateLlama(const GenerateOptions& options);
// Mixtral 8x7B's sizes where none are given (Jiang et al. 2024, arXiv 2401.04088). No token is dropped: experts are
// grouped products. Error besides: more experts a token than there are.
Result<Graph> GenerateMoe(const GenerateOptions& options);

}  // namespace sbp
