// Why a value is not known: from it back to what it follows from.
#pragma once

#include <string>

#include "base/ids.h"
#include "fold/pass_state.h"

namespace sbp {

struct Cause {
  std::string input;  // it follows from this input of the model, whose value can be given
  std::string text;   // otherwise: a clause that says why
};

// What decides a value that is not known.
Cause WhyUnknown(const PassState& pass, TensorId tensor);

}  // namespace sbp
