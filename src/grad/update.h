// The second half of a training step: gradients are summed over micro-batches, unscaled, clipped, and each parameter is
// updated by one op.
#pragma once

#include <span>

#include "base/ids.h"
#include "base/status.h"
#include "grad/appender.h"
#include "grad/loss.h"
#include "grad/optimizer.h"
#include "grad/request.h"

namespace sbp {

// A parameter that is updated, and its gradient (of one micro-batch, times the loss scale).
struct Trained {
  TensorId parameter, gradient;
};

// Adds inputs `lr` (f32) and `step` (i64, from 1 on) of rank 0, states STATE/P and accumulators acc/P, with outputs
// next/P, next/STATE/P and next/acc/P that are tied to them; the outputs `loss`, the mean over the micro-batches, and
// where norms are clipped `grad_norm`, before clipping. Scopes are "optimizer/" and that of the op that reads P.
// Where losses have a share (Loss::share), gradients are weighted with it. Errors: a name is taken; the optimizer takes
// no such parameter.
Status AddUpdates(const Optimizer& optimizer, const UpdateRequest& request, std::span<const Trained> trained,
                  const Loss& loss, Appender& appender);

}  // namespace sbp
