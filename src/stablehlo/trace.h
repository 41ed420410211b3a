// Which tensors of the graph the values of a text became.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "stablehlo/syntax.h"
#include "stablehlo/values.h"

namespace sbp::stablehlo {

// An op as it was read once: those of a function are read whenever it is called.
struct TracedOp {
  const Operation* op = nullptr;
  std::vector<ValueRef> operands, results;  // Value::tensor is "" of what no op of the graph reads whole
};

struct Trace {
  std::shared_ptr<const Module> module;
  std::vector<TracedOp> ops;
  std::vector<std::string> arguments, outputs;  // of main, by the graph's names
};
// `text` must outlive it. Errors: those of ReadStableHlo.
Result<Trace> ReadTrace(std::string_view text, std::string_view where);

}  // namespace sbp::stablehlo
