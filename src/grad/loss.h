// What is differentiated: a result of the model, or a loss made of one.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "grad/appender.h"
#include "grad/differentiate.h"
#include "graph/graph.h"

namespace sbp {

struct Loss {
  TensorId loss;            // of rank 0; invalid where cotangents are given
  std::vector<Seed> seeds;  // where differentiation begins; cotangents are set by AddSeeds
  bool given = false;       // cotangents are inputs
};

// The forms of --loss: NAME | sum:NAME | mean:NAME | mse:NAME | cross-entropy:NAME[,ignore=N] |
// cotangents[:NAME,...]. Adds the ops and inputs of the loss. Errors (kBadInput): unknown form or name, with the
// nearest known one; a loss that is no float, or not of rank 0; logits without classes.
Result<Loss> AddLoss(const std::string& form, Appender& appender);

// The cotangents of the seeds: 1, or inputs "cotangent/NAME".
Status AddSeeds(Loss& loss, Appender& appender);

}  // namespace sbp
