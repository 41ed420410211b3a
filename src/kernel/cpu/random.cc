// Random sources: the number at a place depends on the seed and the place in the whole tensor only.
#include "kernel/scalar/random.h"

#include <bit>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/convert.h"
#include "kernel/cpu/indices.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/view.h"

namespace sbp::cpu {
namespace {

// draw(key, place): the number at a place, counted in the whole in row-major order.
template <typename F>
Status Draw(KernelCall& call, F draw) {
  TensorView& out = call.outputs[0];
  // A seed of the op's own goes before the run's.
  const bool own = call.attributes->Find("seed") != nullptr;
  const uint64_t key = own ? std::bit_cast<uint64_t>(call.attributes->Float("seed", 0)) : call.seed;
  const std::vector<int64_t> strides = RowMajorStrides(out.whole);
  const int64_t n = out.elements(), bytes = ElementBytes(out.dtype);
  IndexWalk walk(out.shape);
  for (int64_t i = 0; i < n; ++i, walk.Next()) {
    int64_t place = 0;
    for (size_t d = 0; d < strides.size(); ++d) place += (walk.index()[d] + out.ranges[d].begin) * strides[d];
    const double value = draw(key, static_cast<uint64_t>(place));
    Convert(DType::kF64, reinterpret_cast<const std::byte*>(&value), 8, out.dtype, out.data + i * bytes, bytes, 1);
  }
  return OkStatus();
}

}  // namespace

Status RandomNormal(KernelCall& call) {
  const double mean = call.attributes->Float("mean", 0), scale = call.attributes->Float("scale", 1);
  return Draw(call, [&](uint64_t key, uint64_t place) { return mean + scale * scalar::Normal(key, place); });
}
Status RandomUniform(KernelCall& call) {
  const double low = call.attributes->Float("low", 0), high = call.attributes->Float("high", 1);
  const DType type = call.outputs[0].dtype;
  return Draw(call,
              [&](uint64_t key, uint64_t place) { return low + (high - low) * scalar::Uniform(key, place, type); });
}

}  // namespace sbp::cpu
