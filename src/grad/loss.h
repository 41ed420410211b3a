// What is differentiated: a result of the model, or a loss made of one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "grad/appender.h"
#include "grad/between.h"
#include "graph/graph.h"

namespace sbp {

struct Loss {
  TensorId loss;            // of rank 0; invalid where cotangents are given
  std::vector<Seed> seeds;  // where differentiation begins; cotangents are set by AddSeeds
  bool given = false;       // cotangents are inputs
  // Of a cross entropy: the label that does not count. The mean of several micro-batches is then no mean of their
  // losses: `share` (f32, rank 0) of the `labels` count in this one.
  std::optional<int64_t> ignored;
  TensorId share, labels;
};

// The forms of --loss: NAME | sum:NAME | mean:NAME | mse:NAME | cross-entropy:NAME[,ignore=N] |
// causal-lm:NAME[,ignore=N] | cotangents[:NAME,...]. Adds the ops and inputs of the loss. Errors (kBadInput): unknown
// form or name, with the nearest known one; a loss that is no float, or not of rank 0; logits without classes.
Result<Loss> AddLoss(const std::string& form, Appender& appender);

// Makes loss.share where some labels do not count; loss.labels are of the appender's graph.
Status AddShare(Loss& loss, Appender& appender);

// The cotangents of the seeds: `scale`, times the share where there is one; or inputs "cotangent/NAME".
Status AddSeeds(Loss& loss, double scale, Appender& appender);

}  // namespace sbp
