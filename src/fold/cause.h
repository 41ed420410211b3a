// Why a value is not known.
#pragma once

#include <string>

namespace sbp {

struct Cause {
  std::string input;  // it follows from this input of the model, whose value can be given
  std::string text;   // otherwise: a clause that says why
};

}  // namespace sbp
