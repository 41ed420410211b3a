// Values of a function while a graph is built from it, and the ops that are written for them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "stablehlo/syntax.h"

namespace sbp::stablehlo {

struct Value;
using ValueRef = std::shared_ptr<Value>;

// `over` written into `under` from `start` on along `dim`; both are as large along all other dimensions.
struct Overlay {
  ValueRef under, over;
  int dim = 0;
  int64_t start = 0;
  int depth = 1;  // overlays below each other, this one too
};

// A result or an argument. No tensor is written before one is asked for where it is a broadcast of something smaller,
// a known number, something turned around, or something written into another value.
struct Value {
  TensorType type;
  std::string tensor;  // "": not written yet
  // What it is a broadcast of: a tensor of type `held`, whose elements lie as in `part`, a shape of this value's rank
  // with 1 where it is broadcast.
  std::string part_tensor;
  Shape held, part;
  LiteralRef scalar;   // all elements, where they are one known number
  LiteralRef literal;  // the value of a constant
  int iota = -1;       // counts 0, 1, ... along this dimension
  ValueRef turned;     // what it is with `turned_dims` reversed
  std::vector<int64_t> turned_dims;
  std::shared_ptr<const Overlay> overlay;  // along one dimension; what a loop stacks

  bool is_broadcast() const { return !part_tensor.empty(); }
};

// An operand as a row of the table calls it.
struct NamedOperand {
  std::string_view name;
  std::string tensor;
};

class Writer {
 public:
  explicit Writer(GraphBuilder& builder) : builder_(builder) {}

  // What the ops that follow belong to.
  void SetPlace(std::string scope, std::string name, std::string source) {
    scope_ = std::move(scope), name_ = std::move(name), source_ = std::move(source);
  }
  // That name, or with a number.
  std::string NewName(std::string_view hint);

  // An op "stablehlo::NAME"; one value for each type.
  std::vector<ValueRef> Add(std::string_view op, const std::vector<NamedOperand>& operands, Attributes attributes,
                            const std::vector<TensorType>& results);
  ValueRef AddOne(std::string_view op, const std::vector<NamedOperand>& operands, Attributes attributes,
                  const TensorType& result) {
    return Add(op, operands, std::move(attributes), {result}).front();
  }
  ValueRef Constant(Literal literal, const TensorType& type, bool splat);
  ValueRef Broadcast(const ValueRef& value, const std::vector<int64_t>& dims, const TensorType& type);
  ValueRef Reshaped(const ValueRef& value, const Shape& shape);
  ValueRef Transposed(const ValueRef& value, const std::vector<int64_t>& permutation);
  ValueRef Reversed(const ValueRef& value, const std::vector<int64_t>& dims);
  // The elements from `start` to `limit` of each dimension; read from what was written there, if all of it was at once.
  ValueRef Sliced(const ValueRef& value, const std::vector<int64_t>& start, const std::vector<int64_t>& limit);
  // `value` with `update` written into it at `start`, where it fits.
  ValueRef Updated(const ValueRef& value, const ValueRef& update, const std::vector<int64_t>& start);
  ValueRef Concatenated(const std::vector<ValueRef>& values, int64_t dim);
  // A number that is known, of an integer type or bool.
  static ValueRef Known(int64_t number, DType dtype);

  // The whole value as a tensor of its own.
  ValueRef Copied(const ValueRef& value);

  // The tensor of the whole value, written if there is none yet.
  std::string Full(const ValueRef& value);
  // Tensors that broadcast against each other to `shape`, as small as may be.
  std::vector<std::string> Matched(const std::vector<ValueRef>& values, const Shape& shape);

  GraphBuilder& builder() { return builder_; }

 private:
  // Writes what was written into the value, so that chains of values that are not written stay short.
  void Settle(const ValueRef& value);
  // What an overlay covers, one value behind the other.
  ValueRef Joined(const ValueRef& value);
  // The part, with the dimensions that numpy's rules of broadcasting take for those of the value.
  std::string Part(const ValueRef& value);

  GraphBuilder& builder_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> numbers_;
  std::map<std::string, std::string> constants_;                 // by type and bits: its tensor
  std::map<std::pair<std::string, Shape>, std::string> shaped_;  // a part as another shape
  std::string scope_, name_ = "op", source_;
};

}  // namespace sbp::stablehlo
