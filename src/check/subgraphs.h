// Do the subgraphs of ops fit them, so that running may trust the number of their inputs and outputs?
#pragma once

#include "check/findings.h"

namespace sbp {

void CheckSubgraphs(const Graph& graph, Findings& findings);

}  // namespace sbp
