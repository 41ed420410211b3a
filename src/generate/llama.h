// One of the families of generate.h.
#pragma once

#include "base/status.h"
#include "generate/options.h"
#include "graph/graph.h"

namespace sbp {

// Errors (kUsage): sizes that do not divide.
Result<Graph> GenerateLlama(const GenerateOptions& options);

}  // namespace sbp
