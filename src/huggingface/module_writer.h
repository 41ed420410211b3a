// Writes ops as modules of transformers compute them: scopes and parameters have the modules' names, sizes of inputs
// are symbolic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "sbp/shard_math.h"

namespace sbp::huggingface {

using AttributeList = std::vector<std::pair<std::string, AttributeValue>>;

class ModuleWriter {
 public:
  // `dtype`: of parameters, and of what is computed.
  ModuleWriter(GraphBuilder& builder, DType dtype) : builder_(builder), dtype_(dtype) {}

  DType dtype() const { return dtype_; }

  // Levels by '/': "model/layers.0/mlp", whose parameters are "model.layers.0.mlp.NAME".
  void Enter(std::string scope) { scope_ = std::move(scope); }
  const std::string& scope() const { return scope_; }

  // A parameter of the module that was entered; its full name. Once for one that is there already.
  std::string Parameter(std::string_view name, Shape shape);
  std::string Parameter(std::string_view name, Shape shape, DType dtype);

  // Constants, one for all that are equal.
  std::string Ints(std::vector<int64_t> values);
  std::string Int(int64_t value);
  std::string Number(double value, DType dtype);
  std::string Floats(std::string_view name, const std::vector<float>& values);

  // An op of the module that was entered; the name of its (first) result, which all are named after it: NAME_out,
  // NAME_out_1, ...
  std::string Op(std::string_view type, std::string_view name, const std::vector<std::string>& inputs,
                 const AttributeList& attributes = {});
  std::vector<std::string> Ops(std::string_view type, std::string_view name, const std::vector<std::string>& inputs,
                               size_t results, const AttributeList& attributes = {});
  // Writes the tensor of this name.
  void Output(std::string_view type, std::string_view name, const std::vector<std::string>& inputs,
              const std::string& result);

  std::string Reshaped(std::string_view name, const std::string& x, std::vector<int64_t> shape);
  std::string CastTo(std::string_view name, const std::string& x, DType dtype);
  std::string Transposed(std::string_view name, const std::string& x, std::vector<int64_t> order);

  // x W^T + b of the submodule `name`, W (to, from).
  std::string Linear(const std::string& name, const std::string& x, int64_t from, int64_t to, bool bias);

 private:
  GraphBuilder& builder_;
  DType dtype_;
  std::string scope_;
  std::unordered_set<std::string> known_;  // parameters and constants
};

}  // namespace sbp::huggingface
