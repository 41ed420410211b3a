// Boxing: moving a tensor from the layout that its producer wrote to one that a consumer needs. One row per collective;
// a transition is a cheapest path of rows, one collective on one mesh axis at a time. The same path is priced,
// inserted, drawn and executed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/checked_math.h"
#include "cluster/cluster.h"
#include "cluster/collective_kind.h"
#include "cost/collective.h"
#include "cost/cost.h"
#include "graph/tensor_type.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {

// One collective on one mesh axis.
struct BoxingStep {
  CollectiveKind kind = CollectiveKind::kAllGather;
  int axis = 0;
  NdSbp from, to;
  double tensor_bytes = 0;  // T: of the tensor on one group of the axis (the largest group)
  double wire_bytes = 0;    // sent by all ranks of the mesh together
  double seconds = 0;
  friend bool operator==(const BoxingStep& a, const BoxingStep& b) {
    return a.kind == b.kind && a.axis == b.axis && a.from == b.from && a.to == b.to;
  }
};

struct BoxingPath {
  bool reachable = true;
  std::vector<BoxingStep> steps;  // empty when from == to
  double seconds = 0;
  double wire_bytes = 0;
};

// Bytes that lie side by side in the buffers that the step from `from` to `to`, which differ on `axis` only, reads and
// writes parts of: the shortest runs. 0: every part is one run, or nothing is split.
double RunBytes(const TensorType& type, const NdSbp& from, const NdSbp& to, const Mesh& mesh, int axis);

// What a path costs, without its steps.
struct BoxingPrice {
  bool reachable = true;
  bool local = true;         // nothing moves between devices
  double seconds = 0;        // of all steps; infinity where there is no path
  double local_seconds = 0;  // of those that move nothing between devices
};

class BoxingArcs;
class CheapestPaths;
struct BoxingWorld;

// What "cheapest" means for a path.
enum class BoxingCriterion : uint8_t { kSeconds, kWireBytes };

// Prices and paths for one mesh on one cluster, cached by (type, from, to). Not thread-safe. Deterministic: ties go to
// fewer steps, then to the layouts of smaller order. A path passes through valid layouts only (even ones if
// `even_only`) and enters P only where `to` is P. From any valid layout there is a path to any other; an invalid one is
// unreachable. Where a tensor has so many layouts that searching all of them is dear (above 4096: many axes and
// dimensions), those are left out first that split dimensions which neither end splits; where the rest is still large
// (above 64), the axes change one after the other in the cheapest of a few orders.
class BoxingTable {
 public:
  BoxingTable(Mesh mesh, Cluster cluster, bool even_only = false,
              BoxingCriterion criterion = BoxingCriterion::kSeconds);
  // The reference stays valid as long as the table.
  const BoxingPath& Path(const TensorType& type, const NdSbp& from, const NdSbp& to);
  // Of that path. Many are asked for that no plan takes: the path itself is not kept.
  BoxingPrice Price(const TensorType& type, const NdSbp& from, const NdSbp& to);
  // Its seconds where they are at most `most`; else some number above `most` that is no more than they are. Takes as
  // long as what lies that near.
  double SecondsUpTo(const TensorType& type, const NdSbp& from, const NdSbp& to, double most);
  // All layouts of the type whose partial values are of `kinds` (ascending), and the collectives between them: they are
  // kept, as Path needs them too. Good until the next call of the table. Both: boxing/search.h.
  BoxingArcs& Arcs(const TensorType& type, std::span<const Sbp> kinds);
  // Good as long as the table.
  BoxingWorld world() const;
  const Mesh& mesh() const { return mesh_; }
  const Cluster& cluster() const { return cluster_; }
  GroupShape axis_group(int axis) const { return groups_[axis]; }
  size_t cache_size() const;

 private:
  struct Cache;
  // Layouts that searches share: those of all targets are one search.
  struct SharedSearch {
    BoxingArcs* arcs = nullptr;  // null: no such layouts
    CheapestPaths* paths = nullptr;
    size_t target = 0;
  };
  bool IsShared(const TensorType& type, size_t num_kinds) const;
  SharedSearch Search(const TensorType& type, const NdSbp& from, const NdSbp& to, NdSbp kinds);
  BoxingPath FindPath(const TensorType& type, const NdSbp& from, const NdSbp& to);

  Mesh mesh_;
  Cluster cluster_;
  bool even_only_;
  BoxingCriterion criterion_;
  bool asks_runs_;
  std::vector<GroupShape> groups_;
  std::shared_ptr<Cache> cache_;
};

// The exact prices of the greedy strategies; T in bytes of the whole tensor; saturating integers are
// doubles here: all values are below 2^53 except the sentinels.
inline constexpr int64_t kToPartialPrice = kInt64Max;          // anything -> P
inline constexpr int64_t kBroadcastToSplitPrice = 2147483647;  // B -> S
// copy-cost of one input on one axis: 0 when equal; kToPartialPrice for anything -> P; kBroadcastToSplitPrice for B ->
// S; else the tensor's bytes.
int64_t CopyCost(Sbp from, Sbp to, int64_t tensor_bytes);
// bytes that boxing moves in all (greedy + bytes), one axis of n ranks on the same devices, T = bytes of what a group
// of that axis holds: equal 0; S(i)->S(j) T(n-1)/n; S->B and P->S T(n-1); P->B 2T(n-1); B->S 1; anything -> P: the
// cheapest path, plus 1.
double BytesPriceOneAxis(Sbp from, Sbp to, int64_t n, double group_bytes);
// Over several axes, summed (outermost first, T follows the layout as it changes); all groups of an axis together, so
// that a layout that holds copies on another axis pays for moving each of them.
double BytesPrice(const TensorType& type, const NdSbp& from, const NdSbp& to, const Mesh& mesh);
// On other devices: T, plus T(n-1) for a B consumer, plus T(n-1) for a P producer.
double BytesPriceOtherDevices(Sbp from, Sbp to, int64_t n_from, int64_t n_to, double tensor_bytes);

}  // namespace sbp
