// What the tool knows of each collective but what it does to data (runtime/exchange/boxing.cc): one file in
// cost/collectives/ and one row of cluster/collective_kind.h each.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cluster/cluster.h"
#include "cluster/collective_kind.h"
#include "sbp/sbp.h"

namespace sbp {

// One collective over a group of `ranks` ranks that lie as `group`, on a tensor of `bytes` bytes per group.
struct CollectiveCall {
  const Cluster& cluster;
  int64_t ranks = 1;
  GroupShape group;
  double bytes = 0;
};

// In pictures, as #RRGGBB.
struct CollectiveColours {
  std::string_view fill, line, text;
};

struct CollectiveRow {
  CollectiveKind kind;
  std::string_view doc;         // "S(i) -> B: every rank gets the parts of all"
  bool local = false;           // nothing goes over a link
  bool point_to_point = false;  // between other devices, not within a group of a mesh axis
  // May it turn `from` into `to` on `axis` (they differ there only)? Knows: a dimension split by several axes is
  // gathered innermost first; uneven parts are fine; P needs one kind; a layout must be valid for the shape.
  bool (*legal)(const NdSbp& from, const NdSbp& to, int axis);
  // Bytes that one rank sends; `bytes` as in CollectiveCall.
  double (*wire_bytes)(double ranks, double bytes);
  // Where nothing was measured: by latency and bandwidth. ranks > 1, or point_to_point.
  double (*seconds)(const CollectiveCall& call);
  int rounds = 0;  // goes around a ring so many times; 0: not around one
  CollectiveColours colours;

  std::string_view name() const { return CollectiveKindName(kind); }
};
std::span<const CollectiveRow> AllCollectives();  // by kind
const CollectiveRow& RowOf(CollectiveKind kind);

// For rows.

// A dimension that several axes split is cut outermost first, so only its innermost cut can be made or undone within
// the groups of one axis: no axis inside of `axis` may split it.
bool IsInnermostSplit(const NdSbp& sbp, int axis, int dim);

double NothingSent(double ranks, double bytes);
// Bytes per second of a link in one direction, as it is reached.
double LinkRate(const LinkSpec& link);
// Ring collectives (Thakur et al. 2005): `rounds` times n - 1 steps, of which nodes - 1 cross nodes. All adapters of a
// node share its traffic to the next one, as the libraries' parallel rings do. `wire_bytes`: what one rank sends.
double RingSeconds(const CollectiveCall& call, int rounds, double wire_bytes);
// Local ones: the busiest rank reads and writes so many bytes in one kernel, which waits in the queue where all of the
// graph is compiled, as kernels of fused execution do.
double TouchSeconds(const CollectiveCall& call, double bytes);

}  // namespace sbp
