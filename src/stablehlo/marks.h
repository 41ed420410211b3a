// Collects shardings while a text is read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "stablehlo/shardings.h"
#include "stablehlo/syntax.h"

namespace sbp::stablehlo {

// Of the ops whose result is the operand, laid out as they say.
bool IsConstraint(std::string_view op);

class Marks {
 public:
  // `text`: of the module, which must outlive it.
  explicit Marks(std::string_view text) : text_(text) {}

  static bool IsMarked(const Operation& op);

  void AddMesh(const std::string& name, const Operation& op);
  // Arguments and results of a function that main calls are not read: counts them.
  void AddInner(const Operation& function);
  // What entry `index` of a function's `list` says of `tensor`.
  void AddOf(const Operation& function, std::string_view list, size_t index, const std::string& tensor);
  // What an op says of its results; "": it has no tensor, as values that are broadcast have none.
  void AddOf(const Operation& op, const std::vector<std::string>& tensors);

  // `where`: the file, in places and errors.
  Shardings Take(std::string_view where);

 private:
  void Add(size_t offset, Result<Sharding> sharding, const std::string& tensor);
  void Fail(Status status);

  std::string_view text_;
  Shardings shardings_;
  std::vector<size_t> offsets_;  // of the marks
  int64_t virtual_ = 0;          // marks of values without a tensor
  int64_t inner_ = 0;            // of arguments and results of other functions
};

}  // namespace sbp::stablehlo
