// A hand-made plan of a transformer for tests of drawings and reports: Megatron's column and row splits on a mesh
// data=2,model=4, one all-reduce after attention and one after the MLP. Prices are round numbers, not a cost model's.
#pragma once

#include "plan/plan.h"

namespace sbp::testing {

struct TransformerOptions {
  int64_t layers = 4;
  bool scopes = true;      // "/model/layers.0/attn/MatMul"; else flat names, as some exporters write
  int64_t odd_layer = -1;  // this layer's MLP is replicated over the model axis: it must not fold with the others
};
Plan TransformerPlan(const TransformerOptions& options = {});

// The same graph without any decision, as the command line hands over a model to draw.
Plan BareTransformer(const TransformerOptions& options = {});

}  // namespace sbp::testing
