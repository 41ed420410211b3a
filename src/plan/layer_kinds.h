// Are repeated layers laid out alike?
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace sbp {

struct LayerKinds {
  int32_t layers = 0;  // graph/layers.h; 0: too little repeats, and what follows is empty
  int32_t kinds = 0;   // of layers: alike are those whose equal ops have the same signatures, and what these read
                       // of inputs and parameters starts in the same layouts
  int32_t runs = 0;    // of consecutive layers of one kind
  std::vector<int32_t> kind;  // per layer, from 0 in order of the first of each
};

// What a layer lacks or has besides, as the first and the last one may, makes it no kind of its own. The plan need
// not be checked. Linear in the plan, and in layers times kinds.
LayerKinds KindsOfLayers(const Plan& plan);

}  // namespace sbp
