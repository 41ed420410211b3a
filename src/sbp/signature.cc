#include "sbp/signature.h"

#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/text.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

std::string JoinLayouts(const std::vector<NdSbp>& layouts) {
  std::string text;
  for (const NdSbp& sbp : layouts) {
    if (!text.empty()) text += ", ";
    text += ToString(sbp);
  }
  return text;
}

// Layouts separated by the commas outside of brackets. Blank text: none.
Result<std::vector<NdSbp>> ParseLayouts(std::string_view text, int mesh_axes) {
  std::vector<NdSbp> layouts;
  if (Trim(text).empty()) return layouts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size()) {
      if (text[i] == '(' || text[i] == '[') ++depth;
      if (text[i] == ')' || text[i] == ']') --depth;
      if (text[i] != ',' || depth > 0) continue;
    }
    SBP_ASSIGN_OR_RETURN(const NdSbp sbp, ParseLayout(text.substr(begin, i - begin), mesh_axes));
    layouts.push_back(sbp);
    begin = i + 1;
  }
  return layouts;
}

}  // namespace

std::string ToString(const Signature& signature) {
  const std::string inputs = JoinLayouts(signature.inputs);
  const std::string outputs = JoinLayouts(signature.outputs);
  return inputs + (inputs.empty() ? "->" : " ->") + (outputs.empty() ? "" : " ") + outputs;
}

Result<Signature> ParseSignature(std::string_view text, int mesh_axes) {
  text = Trim(text);
  const size_t arrow = text.find("->");
  const Status bad = BadInput(StrCat("signature ", Quote(text),
                                     ": expected layouts of the operands, \"->\", layouts of "
                                     "the results, as in ",
                                     mesh_axes == 1 ? "S(0), B -> S(0)" : "(S(0), B), (B, B) -> (S(0), B)"));
  if (arrow == std::string_view::npos || text.find("->", arrow + 2) != std::string_view::npos) return bad;
  Signature signature;
  Result<std::vector<NdSbp>> inputs = ParseLayouts(text.substr(0, arrow), mesh_axes);
  if (!inputs.ok()) return inputs.status().WithContext(StrCat("signature ", Quote(text)));
  Result<std::vector<NdSbp>> outputs = ParseLayouts(text.substr(arrow + 2), mesh_axes);
  if (!outputs.ok()) return outputs.status().WithContext(StrCat("signature ", Quote(text)));
  signature.inputs = std::move(*inputs);
  signature.outputs = std::move(*outputs);
  return signature;
}

}  // namespace sbp
