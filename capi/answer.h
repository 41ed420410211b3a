// What a call returns.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "capi/sbp_plan.h"
#include "graph/tensor_data.h"

// The C name of what C cannot see.
struct sbp_answer {
  std::string output, chatter;
  std::vector<std::pair<std::string, std::string>> documents;  // by name
  std::vector<sbp::TensorData> arrays;
};
