#include "io/pin_targets.h"

#include <algorithm>
#include <cstdint>

#include "base/ids.h"
#include "base/text.h"
#include "naming/fused_parts.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

constexpr size_t kNamed = 3;       // matches that are named
constexpr size_t kMostNamed = 32;  // pins that name them at all: files of thousands of pins stay cheap

}  // namespace

const ModuleIndex& PinTargets::Index() {
  if (!index_) index_.emplace(graph_);
  return *index_;
}

Result<std::vector<TensorId>> PinTargets::Find(std::string_view name, const NdSbp& layout) {
  const std::optional<ScopedName> scoped = ReadScopedName(name);
  if (!scoped) return std::vector<TensorId>();
  ScopedMatch match = Index().Match(*scoped);
  for (const ModulePart& part : match.parts) {
    if (part.is_tensor) {
      match.tensors.push_back(part.activation);
      continue;
    }
    SBP_RETURN_IF_ERROR(CheckPart(part, layout));
    match.tensors.push_back(part.parameter);
  }
  std::sort(match.tensors.begin(), match.tensors.end());
  match.tensors.erase(std::unique(match.tensors.begin(), match.tensors.end()), match.tensors.end());
  return std::move(match.tensors);
}

Status PinTargets::CheckPart(const ModulePart& part, const NdSbp& layout) const {
  int64_t pieces = 1;
  std::string along;
  for (int axis = 0; axis < std::min(layout.size(), mesh_.num_axes()); ++axis) {
    if (!layout[axis].is_split() || layout[axis].dim() != part.dim) continue;
    pieces *= mesh_.axes[axis].size;
    along += StrCat(along.empty() ? "" : " and ", mesh_.axes[axis].name);
  }
  if (pieces == 1 || part.groups % pieces == 0) return OkStatus();
  const Tensor& whole = graph_.tensor(part.parameter);
  std::string text =
      StrCat(Quote(StrCat(part.scope, ":", part.role)), " is ", part.begin, ":", part.end, " of dimension ", part.dim,
             " of the fused ", Quote(whole.name), ", ", ToString(whole.type));
  if (part.groups > 1) text += StrCat(" (and the like of ", part.groups, " groups)");
  text += StrCat("; no layout splits it over ", along, " as a part: S(", part.dim, ") of the whole gives each device ",
                 "one piece of all parts together");
  if (part.groups > 1) text += StrCat(", and ", pieces, " pieces do not divide ", part.groups, " groups");
  if (part.activation.valid()) {
    text +=
        StrCat("; pin the part of the product instead, ", Quote(StrCat(part.scope, ":output")), " (",
               Quote(graph_.tensor(part.activation).name), ", ", ToString(graph_.tensor(part.activation).type), ")");
  } else {
    text += "; the op that reads it splits it by heads";
  }
  return BadInput(text + ", or the weight B or along another dimension");
}

std::string PinTargets::DidYouMeanScopes(std::string_view name) {
  // Names that look like neither a path nor a module stay with the names of tensors.
  if (name.find_first_of("/:.") == std::string_view::npos) return "";
  return Index().DidYouMean(name);
}

void PinTargets::Record(std::string_view name, const std::string& text, const std::string& where,
                        const std::vector<TensorId>& tensors, Pins& pins) {
  PinMatch match{text, where, static_cast<int64_t>(tensors.size()), false, {}};
  const bool is_pattern = name.find('*') != std::string_view::npos || tensors.size() > 1;
  for (size_t i = 0; i < std::min(tensors.size(), kNamed); ++i) {
    const bool labelled = is_pattern && pins.matches.size() < kMostNamed;
    match.first.push_back(labelled ? Index().names().Label(graph_, tensors[i]) : graph_.tensor(tensors[i]).name);
  }
  pins.matches.push_back(std::move(match));
  const auto is_parameter = [&](TensorId id) { return graph_.tensor(id).role == TensorRole::kParameter; };
  const auto parameter = std::find_if(tensors.begin(), tensors.end(), is_parameter);
  const auto parameters = std::count_if(tensors.begin(), tensors.end(), is_parameter);
  const auto others = static_cast<std::ptrdiff_t>(tensors.size()) - parameters;
  if (parameters == 0 || others == 0) return;
  std::string warning = StrCat("pin ", Quote(text), " catches ", others, others == 1 ? " activation" : " activations",
                               " beside ", parameters, parameters == 1 ? " parameter" : " parameters");
  const std::string all = Index().NameForAll(*parameter);
  if (!all.empty()) warning += StrCat("; ", Quote(all), " names parameters alone");
  pins.warnings.push_back(std::move(warning));
}

void PinTargets::RecordOps(const std::string& text, const std::string& where, const std::vector<OpId>& ops,
                           Pins& pins) {
  PinMatch match{text, where, static_cast<int64_t>(ops.size()), true, {}};
  for (size_t i = 0; i < std::min(ops.size(), kNamed); ++i) match.first.push_back(graph_.op(ops[i]).name);
  pins.matches.push_back(std::move(match));
}

}  // namespace sbp
