// What a check finds wrong.
#pragma once

#include <string>

namespace sbp {

struct Violation {
  std::string where;  // "op \"fc1\"", "tensor \"x\"", "total"
  std::string what;   // "signature is not legal", ...
  std::string expected;
  std::string found;
};

}  // namespace sbp
