// The cost model's primitives: roofline compute, and one collective on one link level.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "cluster/cluster.h"
#include "cluster/collective_kind.h"

namespace sbp {

// What something costs in one step. Plain sums; every field >= 0.
struct Cost {
  double compute_seconds = 0;
  double collective_seconds = 0;
  double bytes_moved = 0;  // sent by all ranks together

  double seconds() const { return compute_seconds + collective_seconds; }
  Cost& operator+=(const Cost& other) {
    compute_seconds += other.compute_seconds;
    collective_seconds += other.collective_seconds;
    bytes_moved += other.bytes_moved;
    return *this;
  }
};

// The local shape of a contraction: `batch` products of m x k by k x n.
struct ContractionShape {
  double batch = 1, m = 1, n = 1, k = 1;
  bool uneven = false;  // m is the mean: each product has rows of its own number, as those of experts; `batch` has some
  double window = 0;    // of a convolution: k / window are the channels that matrix units take together
};

// What attention kernels' rates go by (cluster/cluster.h, AttentionSpeed).
struct AttentionShape {
  double head = 128;
  bool backward = false, mask = false;
};

// Work of one op on one device.
struct Work {
  double flops = 0;
  double bytes = 0;  // read and written
  DType dtype = DType::kF32;
  std::string_view op = {};  // type of the op: where the device has samples of it, they count
  std::optional<ContractionShape> contraction = {};
  std::optional<AttentionShape> attention = {};
};

// Part of its peak that the device reaches in a contraction of this shape, above 0: its ceiling x k / (k + depth) x
// waves, the part of its units' tile rounds that the output fills: with t = batch x ceil(m / tile) x ceil(n / tile)
// tiles on u units, batch x m x n / (tile^2 x u x ceil(t / u)), where what does not fill one round of tiles is cut into
// smaller tiles (of a quarter, at half the speed) or along k. Products of uneven m fill half of their last row of tiles
// on average: m / tile + 1/2 in place of ceil(m / tile), and they reach no more than ContractionSpec::grouped of that.
// Of few rows tiles are as narrow (r x tile, where m or n is r < tile): their speed is that of the units fed at the
// same rate, r x tile / (r + tile) products an element against tile / 2, or against as much less as the type's peak is
// below that of 16 bits. The peak is PeakFlops'. At least kLeastEfficiency.
inline constexpr double kLeastEfficiency = 1e-3;
double ContractionEfficiency(const DeviceSpec& device, DType dtype, const ContractionShape& shape);

// Part of its peak that an attention kernel reaches: compute_efficiency x the speed of the shape, which are of 16 bits;
// of a slower type as many operations a second, up to the ceiling of its contractions x head / (head + depth).
double AttentionEfficiency(const DeviceSpec& device, DType dtype, const AttentionShape& shape);
// The shape of the fastest row, if one is faster than 1.
std::optional<AttentionShape> FastestAttention(const DeviceSpec& device);

// Operations a second at the device's peak, of this type and kind.
double PeakFlops(const DeviceSpec& device, const Work& work);
// Seconds of the flops alone, and of so many bytes alone; neither with launch or samples. Channels of a convolution are
// padded to 16 bytes, or it runs on vector units (f32) where that is faster.
double FlopSeconds(const DeviceSpec& device, const Work& work);
double ByteSeconds(const DeviceSpec& device, double bytes);
// Of a kernel that waits in a queue or in a captured graph: what the device states, else its plain launch.
double QueuedLaunchSeconds(const DeviceSpec& device);
// What samples say that the roofline of the work is off by; 1 without samples.
double SampleCorrection(const DeviceSpec& device, const Work& work);

// Seconds of `work`: max(flops / (peak x efficiency), bytes / (bandwidth x efficiency)) + launch (roofline, Williams et
// al. 2009). No work at all (a view) takes no time. Where the device has samples of the op in this element type, the
// roofline is multiplied by how far off it was for them: the mean of log(measured / roofline), weighted by the inverse
// fourth power of the distance in (log flops, log bytes) (Shepard 1968), so that a sample of the same work is met.
double ComputeSeconds(const DeviceSpec& device, const Work& work);

// No work of the same op and element type that is at least that much, in flops and in bytes, takes fewer seconds: the
// roofline, multiplied by the least that samples were off.
double LeastComputeSeconds(const DeviceSpec& device, const Work& work);

// Bytes that the op takes besides operands and results, as the device's samples of it say: the mean of their parts of
// the bytes touched, weighted by the distance in log bytes alone. 0 without samples.
double WorkspaceBytes(const DeviceSpec& device, const Work& work);

// A price and what produced it, for explain: "measured curve 8xH100 all-reduce, 1 node x 8" or "alpha-beta NVLink".
struct CollectivePrice {
  double seconds = 0;
  std::string source;
};

// Time of one collective over a group of n ranks lying as `group`, on a tensor of `bytes` bytes per group (T) whose
// parts lie in it in runs of `run_bytes` bytes (0: in one run each). Between curves of several lengths of runs it is
// linear in the number of runs, also below the shortest; above the longest that one's time is kept. A sample that
// stands alone beats the curves where it is of just these bytes and runs. A table of samples for (kind, nodes, ranks
// per node) beats the alpha-beta fall-back, which is launch + steps x latency + wire bytes / bandwidth of the slowest
// level crossed (CollectiveRow::seconds); local ones are priced by memory bandwidth. n == 1: 0. What goes
// around rings takes the least of that and of Cluster::protocols, each base + steps x its own seconds + wire bytes /
// (rate x its own rate), as NCCL's tuning model has it (src/graph/tuning.cc): but within a node where there are
// samples, and where one stands alone or tells of runs. Over nodes none is faster than among as many ranks of one.
CollectivePrice CollectiveSeconds(const Cluster& cluster, CollectiveKind kind, int64_t n, GroupShape group,
                                  double bytes, double run_bytes = 0);
// Its seconds alone, without making a text: for searches.
double CollectiveTime(const Cluster& cluster, CollectiveKind kind, int64_t n, GroupShape group, double bytes,
                      double run_bytes = 0);

// Bytes that one rank sends, of a tensor of `bytes` bytes on the group (CollectiveRow::wire_bytes).
double WireBytes(CollectiveKind kind, int64_t n, double bytes);

}  // namespace sbp
