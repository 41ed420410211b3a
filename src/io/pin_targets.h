// What a pin's name stands for where it is no tensor's: scopes and roles (naming/module_index.h), parts of fused
// weights.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "graph/graph.h"
#include "naming/fused_parts.h"
#include "naming/module_index.h"
#include "plan/pins.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {

class PinTargets {
 public:
  PinTargets(const Graph& graph, const Mesh& mesh) : graph_(graph), mesh_(mesh) {}

  // The tensors of "layers.*/mlp/fc1:weight" that `layout` is for; none where the name is no scope and role. A part of
  // a fused weight stands for the whole: a layout that splits along the parts is only legal where it cuts every part
  // alike. Error (kBadInput) else, with what can be pinned instead.
  Result<std::vector<TensorId>> Find(std::string_view name, const NdSbp& layout);

  // ' (did you mean "layers.*/mlp/fc1:weight"?)' where names by scope are near, else "".
  std::string DidYouMeanScopes(std::string_view name);

  // Who was matched, for notes and plans. A pattern over names that caught parameters and activations alike is warned
  // of: most likely only one of them was meant.
  void Record(std::string_view name, const std::string& text, const std::string& where,
              const std::vector<TensorId>& tensors, Pins& pins);
  void RecordOps(const std::string& text, const std::string& where, const std::vector<OpId>& ops, Pins& pins);

 private:
  const ModuleIndex& Index();
  Status CheckPart(const ModulePart& part, const NdSbp& layout) const;

  const Graph& graph_;
  const Mesh& mesh_;
  std::optional<ModuleIndex> index_;
};

}  // namespace sbp
