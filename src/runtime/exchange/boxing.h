// Carries out boxing steps: the collectives of the plan on the tensors of one device.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "boxing/boxing.h"
#include "kernel/view.h"
#include "runtime/data/box.h"
#include "runtime/data/space.h"
#include "runtime/exchange/communicator.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {

// Turns this device's part of a tensor in step.from into its part in step.to. `device` is a position of the mesh.
// `source` and `target` have the same element type and `whole`, their ranges are LocalSlice of it, and they do not
// overlap; they lie in `space`, where the communicators work. `whole` may be smaller than planned (sizes that depend on
// data) but is the same on every device. Local kinds (slice, fill, pad) use no communicator; send-recv uses `all`, the
// others that of the step's axis. Errors: views that do not fit the layouts (kDefect); those of the communicator, which
// then has failed on all ranks.
Status RunBoxingStep(const BoxingStep& step, const Mesh& mesh, int64_t device, DeviceCommunicators& communicators,
                     Space& space, const TensorView& source, const TensorView& target);

// Any layout without partial values to any other, by overlap of slices between all devices of the mesh.
Status Redistribute(const NdSbp& from, const NdSbp& to, const Mesh& mesh, int64_t device, Communicator& all,
                    const TensorView& source, const TensorView& target);

// Windows that reach into neighbours' parts: device p holds its part in `layout` and wants the box wanted[p], for all
// devices of the mesh. `target` holds the box wanted[device].
Status ExchangeHalo(const NdSbp& layout, const Mesh& mesh, const std::vector<Box>& wanted, Communicator& all,
                    const TensorView& source, const TensorView& target);

}  // namespace sbp
