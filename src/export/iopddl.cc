// iopddl: the layout problem as that of the IOPDDL contest (search/iopddl.h), which solvers of others and `solve` read.
// A node per op and tensor, a candidate per signature or layout; costs in seconds.
#include "search/iopddl.h"

#include <string>

#include "base/status.h"
#include "export/exporter.h"
#include "problem/problem.h"
#include "strategy/optimal/candidate_lists.h"
#include "strategy/optimal/layout_network.h"
#include "strategy/optimal/network_size.h"

namespace sbp {
namespace {

Result<std::string> WriteIopddl(const Problem& problem, const ExportOptions& options) {
  SBP_ASSIGN_OR_RETURN(const CandidateLists lists, CandidateLists::All(problem));
  if (!FitsNetwork(problem, lists, false)) {
    return BadInput("the problem has too many pairs of layouts to be written out; a mesh of fewer axes has less");
  }
  SBP_ASSIGN_OR_RETURN(const LayoutNetwork network,
                       LayoutNetwork::Build(problem, {.memory_limit = options.memory_limit}));
  return FormatIopddl(network.network());
}

}  // namespace

ExporterRow IopddlExporter() {
  return {.name = "iopddl", .doc = "a cost network, as of the contest", .extension = "json", .write = WriteIopddl};
}

}  // namespace sbp
