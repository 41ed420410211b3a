#include "boxing/op_seconds.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "cluster/collective_kind.h"
#include "graph/tensor_type.h"
#include "rule/candidates.h"
#include "rule/factor_map.h"
#include "rule/factor_use.h"
#include "rule/infer.h"
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

// Of quantised operands and results what is computed with, whatever their scales are.
DType WorkType(const RuleInstance& instance) {
  if (!instance.operands.empty() && !instance.results.empty() && IsSmallInteger(instance.operands[0].dtype) &&
      IsSmallInteger(instance.results[0].dtype))
    return instance.operands[0].dtype;
  DType first = DType::kUndefined;
  for (size_t i = 0; i < instance.operands.size(); ++i) {
    if (!instance.present[i]) continue;
    if (IsFloat(instance.operands[i].dtype)) return instance.operands[i].dtype;
    if (first == DType::kUndefined) first = instance.operands[i].dtype;
  }
  if (first == DType::kUndefined && !instance.results.empty()) first = instance.results[0].dtype;
  return first;
}

bool Carries(const TensorFactors& dims, size_t f) {
  return std::ranges::any_of(
      dims, [&](const DimFactors& dim) { return std::ranges::find(dim, static_cast<FactorId>(f)) != dim.end(); });
}

// Does an operand of another alternative than the first carry the factor?
bool InSecond(const FactorMap& map, size_t f) {
  return std::any_of(map.partials.begin() + 1, map.partials.end(), [&](const PartialClause& partial) {
    return std::ranges::any_of(partial.operands,
                               [&](int operand) { return Carries(map.operands[static_cast<size_t>(operand)], f); });
  });
}

// The factor that the axis splits, told by the first tensor that it splits; -1: none.
FactorId SplitFactor(const FactorMap& map, const CandidateSignature& signature, int axis,
                     const std::vector<int64_t>& sizes) {
  const auto of = [&](const std::vector<TensorFactors>& tensors, const LayoutRows& layouts) {
    for (size_t t = 0; t < tensors.size() && t < layouts.size(); ++t) {
      const Sbp sbp = layouts[t][axis];
      if (!sbp.is_split() || static_cast<size_t>(sbp.dim()) >= tensors[t].size()) continue;
      return MajorFactor(tensors[t][static_cast<size_t>(sbp.dim())], sizes);
    }
    return FactorId{-1};
  };
  const FactorId read = of(map.operands, signature.inputs);
  return read >= 0 ? read : of(map.results, signature.outputs);
}

// Elements over the dimensions that no factor stands for, as no axis splits them: windows of convolutions, and
// pictures.
double WithoutFactors(const TensorFactors& dims, const TensorType& type) {
  double size = 1;
  for (size_t d = 0; d < dims.size() && d < type.shape.size(); ++d) {
    if (dims[d].empty()) size *= static_cast<double>(std::max<int64_t>(type.shape[d], 1));
  }
  return size;
}

// Rows of a contraction that the data deal among the matrices of an operand, as those of experts: of so many matrices
// of all, `here` are on a device.
struct Deal {
  double rows = 1, matrices = 1, here = 1;

  // Rows reach no more matrices than there are rows, but one on some device.
  double reached() const { return std::min(here, std::max(1.0, rows * here / matrices)); }
};

// A masked factor of the second operand, with the sizes that a device has; nothing: there is none.
std::optional<Deal> DealOf(const FactorMap& map, const std::vector<int64_t>& local_sizes) {
  Deal deal;
  bool is_dealt = false;
  for (size_t f = 0; f < local_sizes.size(); ++f) {
    if (map.factors[f].masked && InSecond(map, f)) {
      is_dealt = true;
      deal.matrices *= static_cast<double>(map.factors[f].size);
      deal.here *= static_cast<double>(local_sizes[f]);
    } else if (!InSecond(map, f) && Carries(map.results[0], f)) {
      deal.rows *= static_cast<double>(local_sizes[f]);
    }
  }
  return is_dealt ? std::optional(deal) : std::nullopt;
}

// A masked factor is a product an index, among which rows are dealt: those of the result where an operand has the
// factor (experts' matrices), those that are summed where the result alone has it (their gradients).
void DealRows(const FactorMap& map, const std::vector<int64_t>& local_sizes, ContractionShape& shape) {
  if (const std::optional<Deal> deal = DealOf(map, local_sizes)) {
    shape.batch *= deal->reached();
    shape.m *= deal->here / deal->matrices / deal->reached();
    shape.uneven = true;
  }
  for (size_t f = 0; f < local_sizes.size(); ++f) {
    if (!map.factors[f].masked || InSecond(map, f)) continue;
    shape.batch *= static_cast<double>(local_sizes[f]);
    shape.k /= static_cast<double>(map.factors[f].size);
  }
}

std::vector<int64_t> SizesOf(const FactorMap& map) {
  std::vector<int64_t> sizes;
  for (const Factor& factor : map.factors) sizes.push_back(factor.size);
  return sizes;
}

std::vector<int64_t> LocalSizes(const RuleInstance& instance, const Candidate& candidate, const Mesh& mesh) {
  std::vector<int64_t> sizes = SizesOf(instance.map);
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    const FactorId split = SplitFactor(instance.map, candidate.signature, axis, sizes);
    if (split >= 0) sizes[split] = (sizes[split] + mesh.size(axis) - 1) / mesh.size(axis);
  }
  return sizes;
}

// Elements over the spatial dimensions of a convolution's result. A window that is larger is a picture itself, in the
// gradient of a weight, which sums over it and over samples alike.
double PictureOf(const TensorType& result) {
  double size = 1;
  for (size_t d = 2; d < result.shape.size(); ++d) size *= static_cast<double>(result.shape[d]);
  return size;
}

// Sizes of the local product: letters of the first factor and the result, of the second, of both alone, of all. Rows
// are also what else the result has, and sums run over what else the second operand has.
ContractionShape LocalContraction(const RuleInstance& instance, const Candidate& candidate, const Mesh& mesh) {
  const FactorMap& map = instance.map;
  const std::vector<int64_t> sizes = LocalSizes(instance, candidate, mesh);
  const std::vector<FactorClass> classes = ClassifyFactors(instance);
  const int first = map.partials.front().operands.front();
  const auto in_first = [&](size_t f) { return Carries(map.operands[static_cast<size_t>(first)], f); };
  ContractionShape shape;
  const auto second = static_cast<size_t>(map.partials[1].operands.empty() ? first : map.partials[1].operands.front());
  const double window = WithoutFactors(map.operands[second], instance.operands[second]);
  shape.k = window;
  shape.m = WithoutFactors(map.results[0], instance.results[0]);
  for (size_t f = 0; f < sizes.size(); ++f) {
    if (map.factors[f].masked) continue;
    switch (classes[f]) {
      case FactorClass::kReduced:
        shape.k *= static_cast<double>(sizes[f]);
        break;
      case FactorClass::kBatch:  // of one operand only where it broadcasts: then rows
        (InSecond(map, f) ? shape.batch : shape.m) *= static_cast<double>(sizes[f]);
        break;
      case FactorClass::kFree:
        (in_first(f) ? shape.m : shape.n) *= static_cast<double>(sizes[f]);
        break;
    }
  }
  DealRows(map, sizes, shape);
  if (map.convolution) shape.window = window > PictureOf(instance.results[0]) ? 1 : window;
  return shape;
}

// Bytes read of an operand of whose tensors `operand` and `result` tell what is held: of one that is picked from no
// more than the results hold.
template <typename OperandBytes, typename ResultBytes>
double ReadBytes(const RuleInstance& instance, size_t slot, const OperandBytes& operand, const ResultBytes& result) {
  const double held = operand(slot);
  if (std::ranges::find(instance.map.picked, static_cast<int>(slot)) == instance.map.picked.end()) return held;
  double made = 0;
  for (size_t r = 0; r < instance.results.size(); ++r) {
    if (instance.results[r].dtype != DType::kUndefined) made += result(r);
  }
  return std::min(held, made);
}

// Also a convolution that sums over no channels.
bool IsContraction(const RuleInstance& instance) {
  return (instance.contraction || instance.map.convolution) && instance.map.partials.size() > 1 &&
         !instance.map.partials[0].operands.empty();
}

// Is the operand one of matrices among which rows are dealt?
bool IsDealtAmong(const RuleInstance& instance, size_t slot) {
  if (!IsContraction(instance)) return false;
  const FactorMap& map = instance.map;
  for (size_t f = 0; f < map.factors.size(); ++f) {
    if (map.factors[f].masked && InSecond(map, f) && Carries(map.operands[slot], f)) return true;
  }
  return false;
}

// The part of such an operand that is read on a device, and the least that any device reads of its share of the whole.
double DealtShare(const RuleInstance& instance, const Candidate& candidate, const Mesh& mesh) {
  const std::optional<Deal> deal = DealOf(instance.map, LocalSizes(instance, candidate, mesh));
  return deal ? deal->reached() / deal->here : 1;
}
double LeastDealtShare(const RuleInstance& instance) {
  const std::optional<Deal> deal = DealOf(instance.map, SizesOf(instance.map));
  return deal ? std::min(1.0, deal->rows / deal->matrices) : 1;
}

// What ReadBytes wants, of the parts that a candidate leaves on a device.
double LocalReadBytes(const RuleInstance& instance, const Candidate& candidate, const Mesh& mesh, size_t slot) {
  const CandidateSignature& signature = candidate.signature;
  const double share = IsDealtAmong(instance, slot) ? DealtShare(instance, candidate, mesh) : 1;
  return share * ReadBytes(
                     instance, slot,
                     [&](size_t i) { return LocalBytesOf(instance.operands[i], signature.inputs[i], mesh); },
                     [&](size_t r) { return LocalBytesOf(instance.results[r], signature.outputs[r], mesh); });
}

// The work of a share of the op; the functions say how many bytes of an operand are read and of a result written.
template <typename OperandBytes, typename ResultBytes>
Work WorkWith(const RuleInstance& instance, double share, const OperandBytes& operand, const ResultBytes& result) {
  Work work;
  if (instance.map.view) return work;
  work.flops = instance.flops * share;
  work.bytes = instance.extra_bytes * share;
  work.dtype = WorkType(instance);
  work.op = instance.op;
  if (instance.attention)
    work.attention = {instance.attention->head, instance.attention->backward, instance.attention->mask};
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

bool IsOutside(const OpFusion* fusion, bool is_result, size_t slot) {
  if (fusion == nullptr) return true;
  const std::vector<OpFusion::End>& ends = is_result ? fusion->results : fusion->operands;
  return slot >= ends.size() || ends[slot] == OpFusion::End::kOutside;
}

// Of the ends that are not outside.
double InsideBytes(const RuleInstance& instance, const Candidate& candidate, const Mesh& mesh, const OpFusion& fusion) {
  return WorkWith(
             instance, 0,
             [&](size_t i) { return IsOutside(&fusion, false, i) ? 0 : LocalReadBytes(instance, candidate, mesh, i); },
             [&](size_t r) {
               return IsOutside(&fusion, true, r)
                          ? 0
                          : LocalBytesOf(instance.results[r], candidate.signature.outputs[r], mesh);
             })
      .bytes;
}

// Attention kernels reach less of the peak than the products they are made of, and compute scores again: as the
// operators of attention and of its derivatives are priced. A product by itself may take less, but not with the softmax
// between, whose traffic the kernel saves: at least half of what products share with it, since of the three score-sized
// tensors of a softmax's derivative five ends are theirs. Where even so the parts take less (heads of 256 under a
// mask), nobody fuses them.
double FusedFlopSeconds(const DeviceSpec& device, const Work& work, double inside_bytes, const OpFusion& fusion) {
  if (!fusion.in_attention || !fusion.anchor) return FlopSeconds(device, work);
  Work of_kernel = work;
  of_kernel.flops *= fusion.flop_factor;
  if (of_kernel.contraction) {  // the shortest side of each product is a head's
    ContractionShape& shape = *of_kernel.contraction;
    of_kernel.attention = {std::min({shape.m, shape.n, shape.k}), fusion.in_backward, fusion.in_masked};
    shape.k = of_kernel.attention->head;
  }
  const double alone = std::max(FlopSeconds(device, of_kernel), ByteSeconds(device, work.bytes));
  of_kernel.contraction.reset();
  return std::min(FlopSeconds(device, of_kernel), alone + ByteSeconds(device, inside_bytes / 2));
}

double FusedSeconds(const RuleInstance& instance, const Candidate& candidate, const Mesh& mesh,
                    const DeviceSpec& device, const Work& work, const OpFusion& fusion) {
  if (fusion.no_kernel || (work.flops <= 0 && work.bytes <= 0)) return 0;
  const double correction = SampleCorrection(device, work);
  const double inside_bytes = InsideBytes(instance, candidate, mesh, fusion);
  const double flops = FusedFlopSeconds(device, work, inside_bytes, fusion);
  const double inside = ByteSeconds(device, inside_bytes), outside = ByteSeconds(device, work.bytes - inside_bytes);
  const double kernel = std::max(fusion.anchor ? flops : flops - inside, outside);
  return (kernel + (fusion.launches ? QueuedLaunchSeconds(device) : 0)) * correction;
}

constexpr double kAmple = 1e12;  // a product of such sizes runs at its ceiling

}  // namespace

Work WorkOf(const RuleInstance& instance, const Candidate& candidate, const Mesh& mesh) {
  Work work = WorkWith(
      instance, candidate.work_share, [&](size_t i) { return LocalReadBytes(instance, candidate, mesh, i); },
      [&](size_t r) { return LocalBytesOf(instance.results[r], candidate.signature.outputs[r], mesh); });
  if (IsContraction(instance)) work.contraction = LocalContraction(instance, candidate, mesh);
  return work;
}

double LeastOpSeconds(const RuleInstance& instance, const Mesh& mesh, const Cluster& cluster, const OpFusion* fusion) {
  const double part = 1.0 / static_cast<double>(mesh.num_devices());
  const NdSbp whole(mesh.num_axes());
  const double dealt = LeastDealtShare(instance);
  const auto of_operand = [&](size_t i) {
    return (IsDealtAmong(instance, i) ? dealt : 1) * part * LocalBytesOf(instance.operands[i], whole, mesh);
  };
  const auto of_result = [&](size_t r) { return part * LocalBytesOf(instance.results[r], whole, mesh); };
  Work least = WorkWith(
      instance, part,
      [&](size_t i) { return IsOutside(fusion, false, i) ? ReadBytes(instance, i, of_operand, of_result) : 0; },
      [&](size_t r) { return IsOutside(fusion, true, r) ? of_result(r) : 0; });
  if (IsContraction(instance))
    least.contraction = {kAmple, kAmple, kAmple, kAmple, false, instance.map.convolution ? 1.0 : 0};
  if (fusion == nullptr) return LeastComputeSeconds(cluster.device, least);
  if (fusion->no_kernel) return 0;
  if (!fusion->anchor) least.flops = 0;
  if (fusion->in_attention && FlopSeconds(cluster.device, least) > 0) {  // at whichever rate is higher
    Work of_kernel = least;
    of_kernel.contraction.reset();
    of_kernel.attention = FastestAttention(cluster.device);
    if (FlopSeconds(cluster.device, of_kernel) < FlopSeconds(cluster.device, least)) least = of_kernel;
  }
  DeviceSpec device = cluster.device;
  device.launch_seconds.value = fusion->launches ? QueuedLaunchSeconds(device) : 0;
  return LeastComputeSeconds(device, least);
}

GroupShape WidestGroup(const Cluster& cluster, const Mesh& mesh) {
  GroupShape widest;
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    const GroupShape group = AxisGroupShape(cluster, mesh, axis);
    if (group.nodes > widest.nodes) widest = group;
  }
  return widest;
}

double OpSeconds(const RuleInstance& instance, const Candidate& candidate, const Mesh& mesh, const Cluster& cluster,
                 const OpFusion* fusion) {
  const Work work = WorkOf(instance, candidate, mesh);
  double seconds = fusion == nullptr ? ComputeSeconds(cluster.device, work)
                                     : FusedSeconds(instance, candidate, mesh, cluster.device, work, *fusion);
  if (candidate.halo_bytes > 0) {
    seconds +=
        CollectiveSeconds(cluster, CollectiveKind::kSendRecv, 2, WidestGroup(cluster, mesh), candidate.halo_bytes)
            .seconds;
  }
  return seconds;
}

double CutSeconds(const RuleInstance& instance, const Candidate& candidate, const Mesh& mesh, const Cluster& cluster,
                  const OpFusion& fusion, bool is_result, size_t slot) {
  const std::vector<OpFusion::End>& ends = is_result ? fusion.results : fusion.operands;
  if (slot >= ends.size() || ends[slot] != OpFusion::End::kInside) return 0;
  const Work work = WorkOf(instance, candidate, mesh);
  if (work.flops <= 0 && work.bytes <= 0) return 0;
  const auto& unused = instance.map.unused;
  const bool is_read = is_result || std::ranges::find(unused, static_cast<int>(slot)) == unused.end();
  const double bytes = !is_read    ? 0
                       : is_result ? LocalBytesOf(instance.results[slot], candidate.signature.outputs[slot], mesh)
                                   : LocalReadBytes(instance, candidate, mesh, slot);
  const DeviceSpec& device = cluster.device;
  double traffic = ByteSeconds(device, bytes);
  if (fusion.no_kernel) {
    // Whoever stands behind a move that is absorbed reads what was boxed in front of it, in a kernel that then begins;
    // whoever stands before writes what is boxed behind it.
    const bool passes = !fusion.results.empty() && fusion.results.front() == OpFusion::End::kInside;
    return passes ? (traffic + (is_result ? 0 : QueuedLaunchSeconds(device))) * SampleCorrection(device, work) : 0;
  }
  if (fusion.anchor) {
    const double inside_bytes = InsideBytes(instance, candidate, mesh, fusion);
    const double flops = FusedFlopSeconds(device, work, inside_bytes, fusion);
    const double outside = ByteSeconds(device, work.bytes - inside_bytes);
    traffic = std::max(flops, outside + traffic) - std::max(flops, outside);
  }
  const bool begins = !is_result && slot < fusion.joins.size() && fusion.joins[slot];
  return (traffic + (begins ? QueuedLaunchSeconds(device) : 0)) * SampleCorrection(device, work);
}

}  // namespace sbp
