#include "boxing/op_seconds.h"

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "cluster/collective_kind.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "sbp/layout_rows.h"
#include "sbp/sbp.h"
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

// The work of a share of the op; the functions say how many bytes of an operand and of a result are touched.
template <typename OperandBytes, typename ResultBytes>
Work WorkWith(const RuleInstance& instance, double share, const OperandBytes& operand, const ResultBytes& result) {
  Work work;
  if (instance.map.view) return work;
  work.flops = instance.flops * share;
  work.bytes = instance.extra_bytes * share;
  work.dtype = WorkType(instance);
  work.op = instance.op;
  const auto& unused = instance.map.unused;
  for (size_t i = 0; i < instance.operands.size(); ++i) {
    if (instance.present[i] && std::find(unused.begin(), unused.end(), static_cast<int>(i)) == unused.end())
      work.bytes += operand(i);
  }
  for (size_t r = 0; r < instance.results.size(); ++r) {
    if (instance.results[r].dtype != DType::kUndefined) work.bytes += result(r);
  }
  return work;
}

}  // namespace

Work WorkOf(const RuleInstance& instance, const Candidate& candidate, const Mesh& mesh) {
  const CandidateSignature& signature = candidate.signature;
  return WorkWith(
      instance, candidate.work_share,
      [&](size_t i) { return LocalBytesOf(instance.operands[i], signature.inputs[i], mesh); },
      [&](size_t r) { return LocalBytesOf(instance.results[r], signature.outputs[r], mesh); });
}

double LeastOpSeconds(const RuleInstance& instance, const Mesh& mesh, const Cluster& cluster) {
  const double part = 1.0 / static_cast<double>(mesh.num_devices());
  const NdSbp whole(mesh.num_axes());
  const Work least = WorkWith(
      instance, part, [&](size_t i) { return part * LocalBytesOf(instance.operands[i], whole, mesh); },
      [&](size_t r) { return part * LocalBytesOf(instance.results[r], whole, mesh); });
  return LeastComputeSeconds(cluster.device, least);
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
