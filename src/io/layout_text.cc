#include "io/layout_text.h"

#include "base/text.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {

int CountMeshAxes(std::string_view signature) {
  signature = Trim(signature);
  if (signature.starts_with("->")) signature = Trim(signature.substr(2));
  if (!signature.starts_with('(')) return 1;
  int axes = 1;
  int depth = 0;
  for (const char c : signature) {
    if (c == '(') ++depth;
    if (c == ')' && --depth == 0) break;
    if (c == ',' && depth == 1) ++axes;
  }
  return axes;
}

const std::string& LayoutWriter::Format(const NdSbp& layout) {
  const auto [it, is_new] = texts_.try_emplace(layout);
  if (is_new) it->second = ToString(layout);
  return it->second;
}

Result<NdSbp> LayoutReader::Parse(const std::string& text) {
  if (const auto it = layouts_.find(text); it != layouts_.end()) return it->second;
  SBP_ASSIGN_OR_RETURN(const NdSbp layout, ParseLayout(text, mesh_axes_));
  layouts_.emplace(text, layout);
  return layout;
}

}  // namespace sbp
