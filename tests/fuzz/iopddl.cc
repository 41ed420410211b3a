// Problems of the contest: read, written and read again; and solutions of one.
#include "search/iopddl.h"

#include "fuzz/target.h"

namespace sbp::fuzz {

void RunIopddl(std::string_view bytes) {
  static const CostNetwork small = ParseIopddl(R"({"problem": {"nodes": {"intervals": [[0, 1], [0, 1]],
      "costs": [[1, 2], [3, 4]], "usages": [[1, 1], [1, 1]]}, "edges": {"nodes": [[0, 1]],
      "costs": [[0, 1, 2, 3]]}, "usage_limit": 9}})")
                                       .value();
  const Result<std::vector<int32_t>> solution = ParseSolution(small, bytes);
  if (solution.ok()) Require(solution->size() == small.nodes.size(), "a solution does not choose for every node");
  const Result<CostNetwork> network = ParseIopddl(bytes);
  if (!network.ok()) return RequireRefusal(network.status());
  const std::string written = FormatIopddl(*network);
  const Result<CostNetwork> again = ParseIopddl(written);
  Require(again.ok(), again.status().message());
  Require(FormatIopddl(*again) == written, "the problem changed when it was written");
}

}  // namespace sbp::fuzz
