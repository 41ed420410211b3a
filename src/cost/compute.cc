// Price of an op on one device: the roofline, corrected by samples of the op.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/dtype.h"
#include "cluster/cluster.h"
#include "cost/cost.h"

namespace sbp {
namespace {

// The constant of the element type, or of the nearest that is stated.
double CeilingOf(const ContractionSpec& spec, DType dtype) {
  const auto exact = spec.ceilings.find(dtype);
  if (exact != spec.ceilings.end()) return exact->second.value;
  const auto distance = [&](DType stated) { return std::abs(DTypeBits(stated) - DTypeBits(dtype)); };
  const auto* nearest = &*spec.ceilings.begin();
  for (const auto& row : spec.ceilings) {
    if (distance(row.first) < distance(nearest->first)) nearest = &row;
  }
  return nearest->second.value;
}

// Are operands rounded on their way into the units?
bool IsRounded(const DeviceSpec& device, DType dtype, const ContractionShape& shape) {
  return shape.window > 0 && dtype == DType::kF32 && device.contraction.f32_convolutions;
}
double PeakOf(const DeviceSpec& device, DType dtype, const ContractionShape& shape) {
  return IsRounded(device, dtype, shape) ? device.contraction.f32_convolutions->value
                                         : FlopsFor(device, dtype).constant.value;
}
double CeilingOf(const DeviceSpec& device, DType dtype, const ContractionShape& shape) {
  return CeilingOf(device.contraction, IsRounded(device, dtype, shape) ? DType::kBF16 : dtype);
}

double Tiles(const ContractionShape& shape, double tile) {
  const double rows = shape.uneven ? shape.m / tile + 0.5 : std::ceil(shape.m / tile);
  return shape.batch * rows * std::ceil(shape.n / tile);
}

// Part of the units' time that tiles of this size fill, over whole rounds of them.
double Waves(const ContractionShape& shape, double tile, double units) {
  const double tiles = Tiles(shape, tile);
  return shape.batch * shape.m * shape.n / (tile * tile * units * std::ceil(tiles / units));
}

// The same of tiles as narrow as the shorter side of the output, as kernels for a few rows have them (GEMV, and those
// for packed weights): what is but a row waits for memory, not for 127 rows of nothing. Elements reach the units at the
// rate that would keep them at their peak with 16-bit numbers in whole tiles, whatever part of it products reach then;
// slower units (f32) need them less often.
double NarrowWaves(const DeviceSpec& device, DType dtype, const ContractionShape& shape) {
  const double tile = device.contraction.tile.value, units = device.contraction.units.value;
  const double rows = std::min(shape.m, shape.n), columns = std::max(shape.m, shape.n);
  if (rows >= tile) return 0;
  const double peak = PeakOf(device, dtype, shape), half = FlopsFor(device, DType::kBF16).constant.value;
  const double reuse = rows * tile / (rows + tile);  // products an element of either factor, in one tile
  const double needed = tile / 2 * std::min(1.0, peak / half) * CeilingOf(device, dtype, shape);
  const double speed = std::min(1.0, reuse / needed);
  const double tiles = shape.batch * std::ceil(columns / tile);
  double pieces = 1;  // along k: for whole tiles as deep as below
  if (tiles < units) pieces = std::min(std::floor(units / tiles), std::max(1.0, std::floor(shape.k / (8 * reuse))));
  return speed * pieces * shape.batch * columns / (tile * units * std::ceil(tiles * pieces / units));
}

// Of products in 16 bits.
double StatedAttention(const DeviceSpec& device, const AttentionShape& shape) {
  const std::vector<AttentionSpeed>& all = device.attention;
  const auto rows_of = [&](bool mask) {
    const auto begin = std::ranges::find_if(
        all, [&](const AttentionSpeed& row) { return row.backward == shape.backward && row.mask == mask; });
    const auto end = std::find_if(begin, all.end(), [&](const AttentionSpeed& row) {
      return row.backward != shape.backward || row.mask != mask;
    });
    return std::span(begin, end);
  };
  std::span<const AttentionSpeed> rows = rows_of(shape.mask);
  if (rows.empty()) rows = rows_of(false);
  if (rows.empty()) return device.compute_efficiency.value;
  const auto above = std::ranges::find_if(
      rows, [&](const AttentionSpeed& row) { return static_cast<double>(row.head) >= shape.head; });
  double speed = above == rows.end() ? rows.back().speed.value : above->speed.value;
  if (above != rows.begin() && above != rows.end()) {
    const AttentionSpeed& below = above[-1];
    const double part = std::log(shape.head / static_cast<double>(below.head)) /
                        std::log(static_cast<double>(above->head) / static_cast<double>(below.head));
    speed = below.speed.value + part * (speed - below.speed.value);
  }
  return std::max(kLeastEfficiency, device.compute_efficiency.value * speed);
}

// Matrix units take channels 16 bytes at a time, as cuDNN pads the few of a first layer; what has next to none, as each
// group of a depthwise convolution, is left to the vector units. `seconds`: of as many flops of whole channels.
double ConvolutionSeconds(const DeviceSpec& device, const Work& work, double seconds) {
  constexpr double kBitsAtATime = 128;
  const double unit = std::max(1.0, kBitsAtATime / DTypeBits(work.dtype));
  const double channels = std::max(1.0, work.contraction->k / work.contraction->window);
  if (channels >= unit && work.contraction->n >= unit) return seconds;
  const DType vector = DTypeBits(work.dtype) > 32 ? work.dtype : DType::kF32;
  const FlopsAnswer units = FlopsFor(device, vector);
  const double ceiling = CeilingOf(device, work.dtype, *work.contraction);
  const double part = units.substituted ? device.compute_efficiency.value : CeilingOf(device.contraction, vector);
  const double rate = std::min(units.constant.value * part, PeakFlops(device, work) * ceiling);
  const double padded = seconds * std::ceil(channels / unit) * unit / channels;
  return std::min(padded, work.flops / rate);
}

double Roofline(const DeviceSpec& device, const Work& work) {
  return std::max(FlopSeconds(device, work), ByteSeconds(device, work.bytes)) + device.launch_seconds.value;
}

std::span<const OpSample> SamplesOf(const DeviceSpec& device, const Work& work) {
  const auto key = [](const OpSample& sample) { return std::tuple(std::string_view(sample.op), sample.dtype); };
  const auto wanted = std::tuple(work.op, work.dtype);
  const auto begin = std::lower_bound(device.op_samples.begin(), device.op_samples.end(), wanted,
                                      [&](const OpSample& sample, const auto& w) { return key(sample) < w; });
  auto end = begin;
  while (end != device.op_samples.end() && key(*end) == wanted) ++end;
  return {begin, end};
}

// One more, so that none has no logarithm.
double LogDistance(double a, double b) { return std::log((a + 1) / (b + 1)); }

// Close samples count most: a sample of the same work all but decides.
double WeightAt(double flops_distance, double bytes_distance) {
  const double squared = flops_distance * flops_distance + bytes_distance * bytes_distance + 1e-9;
  return 1 / (squared * squared);
}

double Correction(const DeviceSpec& device, const Work& work, std::span<const OpSample> samples) {
  double sum = 0, weights = 0;
  for (const OpSample& sample : samples) {
    const double roofline = Roofline(device, {sample.flops, sample.bytes, work.dtype});
    if (roofline <= 0 || sample.seconds <= 0) continue;
    const double weight = WeightAt(LogDistance(work.flops, sample.flops), LogDistance(work.bytes, sample.bytes));
    sum += weight * std::log(sample.seconds / roofline);
    weights += weight;
  }
  return weights > 0 ? std::exp(sum / weights) : 1;
}

}  // namespace

double ContractionEfficiency(const DeviceSpec& device, DType dtype, const ContractionShape& shape) {
  const ContractionSpec& spec = device.contraction;
  const double tile = spec.tile.value, units = spec.units.value;
  double waves = std::max(Waves(shape, tile, units), 0.5 * Waves(shape, tile / 2, units));
  const double tiles = Tiles(shape, tile);
  if (tiles < units) {  // too few tiles: each is summed in as many pieces as units are left, if they are deep enough
    const double pieces = std::min(std::floor(units / tiles), std::max(1.0, std::floor(shape.k / (4 * tile))));
    waves = std::max(waves, Waves(shape, tile, units) * pieces);
  }
  // Of uneven rows half of the last tile is filled, of narrow tiles, too: 1 + 1/2 in place of 1.
  waves = std::max(waves, NarrowWaves(device, dtype, shape) / (shape.uneven ? 1.5 : 1));
  const double depth = shape.k / (shape.k + spec.depth.value);
  const double ceiling = CeilingOf(device, dtype, shape) * (shape.uneven ? spec.grouped.value : 1);
  return std::max(kLeastEfficiency, ceiling * depth * std::min(1.0, waves));
}

double AttentionEfficiency(const DeviceSpec& device, DType dtype, const AttentionShape& shape) {
  const double stated = StatedAttention(device, shape);
  const double peak = FlopsFor(device, dtype).constant.value, half = FlopsFor(device, DType::kBF16).constant.value;
  if (peak >= half || device.contraction.ceilings.empty()) return stated;
  const double depth = shape.head / (shape.head + device.contraction.depth.value);
  const double ceiling = CeilingOf(device.contraction, dtype) * depth;
  return std::max(stated, std::min(ceiling, stated * half / peak));
}

std::optional<AttentionShape> FastestAttention(const DeviceSpec& device) {
  const auto fastest =
      std::ranges::max_element(device.attention, {}, [](const AttentionSpeed& row) { return row.speed.value; });
  if (fastest == device.attention.end() || fastest->speed.value <= 1) return std::nullopt;
  return AttentionShape{static_cast<double>(fastest->head), fastest->backward, fastest->mask};
}

double PeakFlops(const DeviceSpec& device, const Work& work) {
  return work.contraction ? PeakOf(device, work.dtype, *work.contraction) : FlopsFor(device, work.dtype).constant.value;
}

double FlopSeconds(const DeviceSpec& device, const Work& work) {
  if (work.flops <= 0) return 0;
  const bool by_shape = work.contraction && !device.contraction.ceilings.empty();
  const double efficiency = by_shape         ? ContractionEfficiency(device, work.dtype, *work.contraction)
                            : work.attention ? AttentionEfficiency(device, work.dtype, *work.attention)
                                             : device.compute_efficiency.value;
  const double seconds = work.flops / (PeakFlops(device, work) * efficiency);
  return by_shape && work.contraction->window > 0 ? ConvolutionSeconds(device, work, seconds) : seconds;
}

double ByteSeconds(const DeviceSpec& device, double bytes) {
  return bytes / (device.memory_bandwidth.value * device.memory_efficiency.value);
}

double QueuedLaunchSeconds(const DeviceSpec& device) {
  return device.queued_launch_seconds ? device.queued_launch_seconds->value : device.launch_seconds.value;
}

double SampleCorrection(const DeviceSpec& device, const Work& work) {
  const std::span<const OpSample> samples = SamplesOf(device, work);
  return samples.empty() ? 1 : Correction(device, work, samples);
}

double ComputeSeconds(const DeviceSpec& device, const Work& work) {
  if (work.flops <= 0 && work.bytes <= 0) return 0;  // a view: no kernel runs
  return Roofline(device, work) * SampleCorrection(device, work);
}

double LeastComputeSeconds(const DeviceSpec& device, const Work& work) {
  if (work.flops <= 0 && work.bytes <= 0) return 0;
  double least = 1;
  bool first = true;
  for (const OpSample& sample : SamplesOf(device, work)) {
    const double roofline = Roofline(device, {sample.flops, sample.bytes, work.dtype});
    if (roofline <= 0 || sample.seconds <= 0) continue;
    least = first ? sample.seconds / roofline : std::min(least, sample.seconds / roofline);
    first = false;
  }
  return Roofline(device, work) * least;
}

double WorkspaceBytes(const DeviceSpec& device, const Work& work) {
  double sum = 0, weights = 0;
  for (const OpSample& sample : SamplesOf(device, work)) {
    if (sample.bytes <= 0) continue;
    const double weight = WeightAt(0, LogDistance(work.bytes, sample.bytes));
    sum += weight * sample.workspace_bytes / sample.bytes;
    weights += weight;
  }
  return weights > 0 ? work.bytes * sum / weights : 0;
}

}  // namespace sbp
