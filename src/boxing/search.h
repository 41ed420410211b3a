// The search for the cheapest path between layouts: Dijkstra over layouts, an edge is one collective on one mesh axis.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "boxing/boxing.h"
#include "cluster/cluster.h"
#include "cluster/collective_kind.h"
#include "graph/tensor_type.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {

// Bytes of the tensor on a group of `axis`: the largest group, and all groups of the mesh together (copies and partial
// values counted as often as they are held).
double GroupBytes(const TensorType& type, const NdSbp& sbp, const Mesh& mesh, int axis);
double AllGroupsBytes(const TensorType& type, const NdSbp& sbp, const Mesh& mesh, int axis);

// What prices depend on besides the tensor. References must outlive the search.
struct BoxingWorld {
  const Mesh& mesh;
  const Cluster& cluster;
  const std::vector<GroupShape>& groups;  // per axis
  bool even_only = false;
  BoxingCriterion criterion = BoxingCriterion::kSeconds;
  bool asks_runs = true;  // do prices depend on RunBytes? AsksRuns(cluster)
};

// Has the cluster samples that tell lengths of runs?
bool AsksRuns(const Cluster& cluster);

// The step of the first row of the table that may go from `from` to `to`; they differ on `axis` only.
std::optional<BoxingStep> FindStep(const BoxingWorld& world, const TensorType& type, const NdSbp& from, const NdSbp& to,
                                   int axis);

// A set of layouts: on each mesh axis one of a few choices. A layout's number has the last axis as its fastest digit.
class LayoutSpace {
 public:
  explicit LayoutSpace(std::vector<std::vector<Sbp>> choices);
  size_t size() const { return size_; }
  int num_axes() const { return static_cast<int>(choices_.size()); }
  NdSbp layout(size_t number) const;
  // Nothing when the layout is not in the set.
  std::optional<size_t> number(const NdSbp& sbp) const;
  const std::vector<Sbp>& choices(int axis) const { return choices_[axis]; }
  // The number that differs from `number` on `axis`, where it takes choice `choice`.
  size_t Replace(size_t number, int axis, size_t choice) const;

 private:
  std::vector<std::vector<Sbp>> choices_;
  std::vector<size_t> strides_;
  size_t size_ = 1;
};

// A collective that may leave a layout, whatever the tensor's sizes.
struct LegalArc {
  uint32_t to = 0;  // number of the layout it leads to
  uint8_t axis = 0;
  Sbp entry;  // of that layout, on `axis`
  CollectiveKind kind = CollectiveKind::kAllGather;
};

// Those of each layout of a space, axis by axis, worked out when first asked for: tensors of equal rank share them.
class LegalArcs {
 public:
  explicit LegalArcs(LayoutSpace space) : space_(std::move(space)), known_(space_.size()) {}
  const LayoutSpace& space() const { return space_; }
  const std::vector<LegalArc>& From(uint32_t number);

 private:
  struct Known {
    bool asked = false;
    std::vector<LegalArc> arcs;
  };
  LayoutSpace space_;
  std::vector<Known> known_;  // per layout
};

// A collective that leaves a layout.
struct BoxingArc {
  double price = 0;  // by the world's criterion
  uint32_t to = 0;   // number of the layout it leads to
  uint8_t axis = 0;
  Sbp entry;           // of that layout, on `axis`
  bool local = false;  // nothing moves between devices
};

// The arcs of each layout of a space, worked out when first asked for: searches from different layouts meet the same
// ones. World and type are the same in every call.
class BoxingArcs {
 public:
  explicit BoxingArcs(std::shared_ptr<LegalArcs> legal)
      : legal_(std::move(legal)), ranges_(space().size()), validity_(space().size(), Validity::kUnknown) {}
  const LayoutSpace& space() const { return legal_->space(); }
  // What there may be at most.
  size_t most() const;
  // May the tensor lie so?
  bool IsValid(const BoxingWorld& world, const TensorType& type, uint32_t number);
  // To the valid layouts that one collective leads to, axis by axis. Good until the next call.
  std::span<const BoxingArc> From(const BoxingWorld& world, const TensorType& type, uint32_t number);

 private:
  enum class Validity : uint8_t { kUnknown, kNo, kYes };
  struct Range {
    size_t begin = 0, end = 0;  // of arcs_; end 0: not yet asked for
  };
  std::shared_ptr<LegalArcs> legal_;
  std::vector<Range> ranges_;       // per layout
  std::vector<Validity> validity_;  // per layout
  std::vector<BoxingArc> arcs_;
};

inline constexpr BoxingPrice kUnreachable = {
    .reachable = false, .local = false, .seconds = std::numeric_limits<double>::infinity()};

// The cheapest paths from a layout, searched (Dijkstra) as far as the targets asked for need. An axis becomes partial
// only as `partials` has it.
class CheapestPaths {
 public:
  CheapestPaths(const LayoutSpace& space, size_t from, const NdSbp& partials);
  // Numbers of the layouts of the cheapest path, from `target` back to the start; empty when none leads there. Of equal
  // ones that of fewest steps, then over the least numbers. `arcs`: of the space given, in every call.
  std::vector<uint32_t> To(const BoxingWorld& world, const TensorType& type, BoxingArcs& arcs, size_t target);
  // What that path costs, where the world's criterion is seconds.
  BoxingPrice PriceTo(const BoxingWorld& world, const TensorType& type, BoxingArcs& arcs, size_t target);
  // Its seconds, searched for no further than `most`: beyond, some number above `most` that is no more than they are.
  double SecondsTo(const BoxingWorld& world, const TensorType& type, BoxingArcs& arcs, size_t target, double most);

 private:
  static constexpr uint32_t kNoLayout = 0xffffffff;
  struct Reach {
    double price;
    uint32_t steps, number;                     // of collectives; of the layout
    bool operator>(const Reach& other) const {  // many prices are equal: no branches
      return (price > other.price) | ((price == other.price) & (steps > other.steps));
    }
  };
  struct Way {  // the cheapest known to a layout
    double price = std::numeric_limits<double>::infinity();
    double local_price = 0;  // of its steps that move nothing between devices
    uint32_t before = kNoLayout;
    uint32_t steps : 30 = 0;
    uint32_t local : 1 = 1;  // all of its steps
    uint32_t settled : 1 = 0;
  };

  // The search goes on until it knows the way; false: there is none of at most `most`.
  bool Reaches(const BoxingWorld& world, const TensorType& type, BoxingArcs& arcs, size_t target,
               double most = std::numeric_limits<double>::infinity());
  void Leave(const Reach& here, std::span<const BoxingArc> arcs);

  NdSbp partials_;
  std::vector<Way> ways_;  // per layout
  std::priority_queue<Reach, std::vector<Reach>, std::greater<>> frontier_;
};

// Where a search would be too dear (many axes that all change): the cheapest of a few orders in which the axes go
// straight to where they shall be, or those that change, or all, become B first. The last is always possible.
BoxingPath CheapestOfOrders(const BoxingWorld& world, const TensorType& type, const NdSbp& from, const NdSbp& to);

// The path over those layouts, given backwards; not reachable if there are none.
BoxingPath PathAlong(const BoxingWorld& world, const TensorType& type, const LayoutSpace& space,
                     const std::vector<uint32_t>& backwards);

}  // namespace sbp
