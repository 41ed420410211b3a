// The module that an operator stands in, from what exporters write.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sbp::onnx {

// "['', 'm', 'm.layers.0', 'm.layers.0.attn', 'view_3']" (a list of cumulative names, the operator last) ->
// "m/layers.0/attn". Nothing when the text is no such list.
std::optional<std::string> ScopeFromNameScopes(std::string_view text);

// ": pkg.Model/m: pkg.Inner/m.layers.0: pkg.Layer/view_3: aten.view" (name: class, joined by '/') -> "m/layers.0".
std::string ScopeFromNamespace(std::string_view text);

// "/a/b/MatMul" -> "a/b"; without any '/', "a.layers.0.attn.MatMul" -> "a/layers.0/attn"; else "".
std::string ScopeFromNodeName(std::string_view name);

}  // namespace sbp::onnx
