// Adds ops in a scope, naming each and its result; counts them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"

namespace sbp {

template <typename Value>
Attributes WithAttribute(const std::string& name, Value value) {
  Attributes attributes;
  attributes.Set(name, std::move(value));
  return attributes;
}

class LayerWriter {
 public:
  LayerWriter(GraphBuilder& builder, DType dtype) : builder_(builder), dtype_(dtype) {}

  void EnterScope(std::string scope) { scope_ = std::move(scope); }
  const std::string& scope() const { return scope_; }
  int64_t count() const { return count_; }

  std::string Weight(const std::string& name, Shape shape) { return Parameter(scope_ + "." + name, std::move(shape)); }
  // These two by the whole name.
  std::string Parameter(const std::string& name, Shape shape) {
    builder_.AddParameter(name, {dtype_, std::move(shape)});
    return name;
  }
  std::string Constant(const std::string& name, Literal literal) {
    const TensorType type = literal.type;
    builder_.AddParameter(name, type, std::make_shared<const Literal>(std::move(literal)));
    return name;
  }
  std::string Ints(const std::string& name, std::vector<int64_t> values) {
    return Constant(scope_ + "." + name, Literal::Ints(std::move(values)));
  }
  std::string Op(std::string_view type, const std::string& name, const std::vector<std::string>& inputs,
                 const TensorType& result, Attributes attributes = {}) {
    const std::string full = scope_ + "/" + name;
    builder_.AddOp(type, full, inputs, {full + "_out"}, std::move(attributes), scope_);
    builder_.DescribeTensor(full + "_out", result);
    ++count_;
    return full + "_out";
  }
  std::string Op(std::string_view type, const std::string& name, const std::vector<std::string>& inputs,
                 const Shape& result, Attributes attributes = {}) {
    return Op(type, name, inputs, TensorType{dtype_, result}, std::move(attributes));
  }

 private:
  GraphBuilder& builder_;
  DType dtype_;
  std::string scope_;
  int64_t count_ = 0;
};

}  // namespace sbp
