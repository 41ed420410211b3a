// Copies, fills and combinations of a device's memory, for the collectives and the runtime: what runtime/data/box.h and
// runtime/data/reduce.h do on the host. All calls go to the stream and return at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "gpu/gpu.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {

struct GpuMovement {
  // Copies `part` (one range per dimension, of the whole tensor) from a dense row-major buffer that holds `source_box`
  // to one that holds `target_box`; it lies in both, which do not overlap. Elements of 4 and 2 bits included.
  Status (*copy_box)(gpu::Stream& stream, DType dtype, const std::vector<Range>& part, const std::byte* source,
                     const std::vector<Range>& source_box, std::byte* target, const std::vector<Range>& target_box);
  // Copies `count` elements between buffers, from one offset in elements to another.
  Status (*copy_elements)(gpu::Stream& stream, DType dtype, int64_t count, const std::byte* source,
                          int64_t source_offset, std::byte* target, int64_t target_offset);
  // target[k] = sources[0][k] op sources[1][k] op ..., from left to right. `target` may be one of the sources; elements
  // are aligned to their size. Defect: a type and kind without CanReduce (runtime/data/reduce.h).
  Status (*combine)(gpu::Stream& stream, DType dtype, ReduceKind kind, std::span<const std::byte* const> sources,
                    std::byte* target, int64_t count);
  // Fills `count` elements with the neutral element of the reduction: 0, 1, the lowest or the highest value (infinite
  // for floats).
  Status (*fill_neutral)(gpu::Stream& stream, DType dtype, ReduceKind kind, std::byte* target, int64_t count);
  // Sets *word, of the device, to `value` if one of the elements (any float or complex type; others have none) is NaN.
  Status (*note_nan)(gpu::Stream& stream, DType dtype, const std::byte* data, int64_t count, uint32_t* word,
                     uint32_t value);
};

}  // namespace sbp
