#include "boxing/op_seconds.h"

#include <algorithm>

#include "base/checked_math.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

double LocalBytesOf(const TensorType& type, const NdSbp& layout, const Mesh& mesh) {
  int64_t elements = 1;
  for (int64_t size : LocalShape(type.shape, layout, mesh)) elements = SaturatingMul(elements, size);
  return static_cast<double>(BytesOf(type.dtype, elements));
}

DType WorkType(const RuleInstance& instance) {
  DType first = DType::kUndefined;
  for (size_t i = 0; i < instance.operands.size(); ++i) {
    if (!instance.present[i]) continue;
    if (IsFloat(instance.operands[i].dtype)) return instance.operands[i].dtype;
    if (first == DType::kUndefined) first = instance.operands[i].dtype;
  }
  if (first == DType::kUndefined && !instance.results.empty()) first = instance.results[0].dtype;
  return first;
}

}  // namespace

Work WorkOf(const RuleInstance& instance, const Candidate& candidate, const Mesh& mesh) {
  Work work;
  work.flops = instance.flops * candidate.work_share;
  work.bytes = instance.extra_bytes * candidate.work_share;
  work.dtype = WorkType(instance);
  work.op = instance.op;
  const auto& unused = instance.map.unused;
  for (size_t i = 0; i < instance.operands.size(); ++i) {
    if (!instance.present[i] || std::find(unused.begin(), unused.end(), static_cast<int>(i)) != unused.end()) continue;
    work.bytes += LocalBytesOf(instance.operands[i], candidate.signature.inputs[i], mesh);
  }
  for (size_t r = 0; r < instance.results.size(); ++r) {
    if (instance.results[r].dtype == DType::kUndefined) continue;
    work.bytes += LocalBytesOf(instance.results[r], candidate.signature.outputs[r], mesh);
  }
  return work;
}

GroupShape WidestGroup(const Cluster& cluster, const Mesh& mesh) {
  GroupShape widest;
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    const GroupShape group = AxisGroupShape(cluster, mesh, axis);
    if (group.nodes > widest.nodes) widest = group;
  }
  return widest;
}

double OpSeconds(const RuleInstance& instance, const Candidate& candidate, const Mesh& mesh, const Cluster& cluster) {
  double seconds = ComputeSeconds(cluster.device, WorkOf(instance, candidate, mesh));
  if (candidate.halo_bytes > 0) {
    seconds +=
        CollectiveSeconds(cluster, CollectiveKind::kSendRecv, 2, WidestGroup(cluster, mesh), candidate.halo_bytes)
            .seconds;
  }
  return seconds;
}

}  // namespace sbp
