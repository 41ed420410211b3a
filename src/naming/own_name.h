// What a parameter's own name says: the module it belongs to and its role there, unless the exporter made the name up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sbp {

struct OwnName {
  std::string scope;  // '/' separates levels, numbers stay with the level before: "m/layers.0/mlp/fc1"; "" where none
  std::string role;   // canonical (roles.h); "" where the name says none
  // The name is made up ("val_76", "onnx::MatMul_12", ".../Constant_1_output_0"): it names nothing.
  bool anonymous = false;
};

// "m.layers.0.fc1.weight", "ps.net/h/0/fc1/weight" and "net/h/0/fc1/MatMul/ReadVariableOp/resource:0" alike.
OwnName ReadOwnName(std::string_view name);

// "val_76[:,768:1536]", as parts are called that were cut out of a parameter: elements 768 to 1536 of dimension 1.
struct CutName {
  std::string_view whole;
  int64_t begin = 0;
};
std::optional<CutName> ReadCutName(std::string_view name);

// "a/layers.0/b" -> "a.layers.0.b": two spellings of a path are equal when this is.
std::string DottedPath(std::string_view path);

}  // namespace sbp
