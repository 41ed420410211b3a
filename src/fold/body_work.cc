#include "fold/body_work.h"

#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "rule/factor_map.h"
#include "rule/op_query.h"

namespace sbp {
namespace {

double BytesOf(const Graph& graph, const std::vector<TensorId>& ids) {
  double bytes = 0;
  for (const TensorId id : ids) {
    if (id.valid()) bytes += static_cast<double>(graph.tensor(id).type.num_bytes());
  }
  return bytes;
}

}  // namespace

BodyWork WorkOfGraph(FoldContext& context, const Graph& graph) {
  BodyWork work;
  for (const Op& op : graph.ops) {
    const Result<RuleInstanceRef> instance =
        context.cache.Instantiate(QueryFor(graph, context.rules, op), op.attributes);
    if (!instance.ok()) continue;  // resolved a moment ago
    work.flops += (*instance)->flops;
    work.bytes += (*instance)->extra_bytes + BytesOf(graph, op.inputs) + BytesOf(graph, op.outputs);
  }
  return work;
}

}  // namespace sbp
