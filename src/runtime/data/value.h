// Value: what a name stands for while a graph is executed: a tensor that owns its memory, or a sequence of them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "graph/literal.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp {

struct Value {
  TensorView view;                                     // of a tensor
  std::shared_ptr<std::byte> memory;                   // keeps view.data alive
  std::shared_ptr<const std::vector<Value>> sequence;  // of a sequence
  bool none = false;                                   // an empty optional

  bool present() const { return view.present() || sequence != nullptr || none; }
};

// 64-byte aligned memory, zeroed. nullptr: the machine has not so much left.
std::shared_ptr<std::byte> AllocateBytes(int64_t bytes);

// A whole tensor of zeros.
Result<Value> MakeTensor(DType dtype, Shape shape);
// A tensor with the literal's values.
Result<Value> MakeTensor(const Literal& literal);
// The elements of a small whole tensor (at most kMaxLiteralElements) of integers or plain floats, as a literal; nullptr
// for others.
LiteralRef SmallValues(const TensorView& view);

}  // namespace sbp
