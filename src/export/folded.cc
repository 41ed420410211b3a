#include "export/folded.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "export/exporter.h"
#include "graph/tensor_type.h"
#include "parallelism/words.h"
#include "plan/plan.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

constexpr size_t kShown = 8;  // in an error

std::vector<std::string> Lines(const std::vector<Unfolded>& all, size_t shown) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < all.size() && i < shown; ++i) lines.push_back(StrCat(all[i].name, " ", all[i].reason));
  if (all.size() > shown) lines.push_back(StrCat("and ", all.size() - shown, " more"));
  return lines;
}

}  // namespace

void FoldedReport::CannotOrderRanks(const Mesh& mesh) {
  for (int64_t at = 0; at < mesh.num_devices(); ++at) {
    if (mesh.rank(at) == at) continue;
    Cannot(StrCat("rank ", mesh.rank(at)), StrCat("stands at place ", at, " of the mesh ", ToString(mesh), ": ", form_,
                                                  " counts ranks from 0 on, the innermost axis fastest"));
    return;
  }
}

Status FoldedReport::Finish(const ExportOptions& options, std::vector<std::string>& report) const {
  if (!left_.empty() && !options.lossy) {
    const std::string things = StrCat(left_.size(), left_.size() == 1 ? " thing" : " things");
    const std::string nearest = follows_
                                    ? StrCat("the plan is of --recipe ", recipe_, " already, the nearest of known ways")
                                    : StrCat("infer --recipe ", recipe_, " makes the nearest plan of known ways");
    return BadInput(StrCat("the plan has ", things, " that ", form_,
                           " cannot say (--lossy leaves out what it cannot, and lists all; ", nearest, "):\n  ",
                           Join(Lines(left_, kShown), "\n  ")));
  }
  for (const std::string& line : Lines(left_, left_.size())) report.push_back(StrCat("not said: ", line));
  for (const std::string& line : notes_) report.push_back(line);
  if (!derived_.empty()) {
    report.push_back(StrCat(
        derived_.size(), " transitions of the loss, the backward pass or integer inputs are the framework's own, ",
        "those of the plan are others: first ", derived_.front().name, " ", derived_.front().reason));
  }
  return OkStatus();
}

ShardedData DataOf(const Fold& fold, const Plan& plan, FoldedReport& report) {
  ShardedData data;
  for (const FoldedAxis& axis : fold.axes) {
    if (axis.use == AxisUse::kTensor) continue;
    data.zero = std::max(data.zero, axis.zero);
    data.zero_of_copies = std::max(data.zero_of_copies, axis.zero_of_copies);
  }
  bool sharded_outside = false;
  for (size_t a = 0; a < fold.axes.size(); ++a) {
    const FoldedAxis& axis = fold.axes[a];
    const MeshAxis& named = plan.mesh.axes[a];
    if (axis.use != AxisUse::kData && axis.use != AxisUse::kContext && axis.use != AxisUse::kExpert) continue;
    if (axis.zero != 0 && axis.zero != data.zero) {
      report.Cannot(named.name, StrCat("has ZeRO's stage ", axis.zero, ", another axis ", data.zero));
    }
    if (axis.zero != 0) {
      data.sharded *= named.size;
      if (axis.use == AxisUse::kContext) data.context *= named.size;
      data.regathers = data.regathers || axis.regathers;
      sharded_outside = true;
    } else if (axis.use == AxisUse::kContext) {
      if (data.zero > 0)
        report.Cannot(named.name, "holds whole what data ranks split: both split together, or neither");
    } else {
      data.replicated *= named.size;
      if (sharded_outside) {
        report.Cannot(named.name,
                      "holds whole what an axis outside of it splits: groups that split lie inside of copies");
      }
    }
  }
  return data;
}

ParameterStyle StyleOverTensor(const Fold& fold, const FoldedParameter& parameter) {
  std::optional<ParameterStyle> style;
  for (size_t a = 0; a < fold.axes.size(); ++a) {
    if (fold.axes[a].use != AxisUse::kTensor) continue;
    if (style && *style != parameter.styles[a]) return ParameterStyle::kOther;
    style = parameter.styles[a];
  }
  return style == ParameterStyle::kExpert ? ParameterStyle::kOther : style.value_or(ParameterStyle::kWhole);
}

void CheckEven(const Fold& fold, const Plan& plan, int64_t batch_ranks, FoldedReport& report) {
  const auto padded = [](int64_t size, int64_t ranks) { return (size + ranks - 1) / ranks * ranks; };
  if (fold.batch > 0 && fold.batch % batch_ranks != 0) {
    const int64_t next = padded(fold.batch, batch_ranks);
    report.Cannot(
        StrCat("a batch of ", fold.batch),
        StrCat(
            "is not split evenly over ", batch_ranks, " data ranks: of ", next, ", the next that is, a step has ",
            FormatDouble(std::round(100.0 * static_cast<double>(next - fold.batch) / static_cast<double>(fold.batch))),
            " % more to compute"));
  }
  for (const FoldedParameter& parameter : fold.parameters) {
    const TensorType& type = plan.graph.tensor(parameter.id).type;
    std::map<int, int64_t> ranks_of;  // by dimension
    for (size_t a = 0; a < fold.axes.size(); ++a) {
      const Sbp lies = plan.source_layouts[parameter.id.index()][static_cast<int>(a)];
      const bool kept = fold.axes[a].use == AxisUse::kTensor || parameter.styles[a] == ParameterStyle::kExpert;
      if (kept && lies.is_split()) ranks_of.emplace(lies.dim(), 1).first->second *= plan.mesh.axes[a].size;
    }
    for (const auto& [dim, ranks] : ranks_of) {
      const int64_t size = type.shape[static_cast<size_t>(dim)];
      if (size == 0 || size % ranks == 0) continue;
      const int64_t next = padded(size, ranks);
      const double bytes = static_cast<double>(type.num_elements() / size * (next - size)) * DTypeBits(type.dtype) / 8;
      report.Cannot(parameter.name, StrCat("is split unevenly, ", size, " along dimension ", dim, " over ", ranks,
                                           " ranks: of ", next, " it is ", FormatBytes(bytes), " more on all devices"));
    }
  }
}

bool IsTurned(const Plan& plan, const Fold& fold, const FoldedParameter& parameter) {
  if (parameter.looked_up || parameter.rank != 2) return false;
  for (size_t a = 0; a < fold.axes.size(); ++a) {
    const Sbp lies = plan.source_layouts[parameter.id.index()][static_cast<int>(a)];
    if (fold.axes[a].use != AxisUse::kTensor || !lies.is_split()) continue;
    if (parameter.styles[a] == ParameterStyle::kColumn && lies.dim() == 1) return true;
    if (parameter.styles[a] == ParameterStyle::kRow && lies.dim() == 0) return true;
  }
  return false;
}

std::string ModulePattern(std::string_view module) {
  std::vector<std::string> levels;
  for (const std::string_view level : Split(module, '.')) {
    const bool number = !level.empty() && level.find_first_not_of("0123456789") == std::string_view::npos;
    levels.emplace_back(number ? "*" : level);
  }
  return Join(levels, ".");
}

bool HasResidual(const Fold& fold, ResidualUse use) {
  return std::ranges::any_of(
      fold.axes, [&](const FoldedAxis& axis) { return axis.use == AxisUse::kTensor && axis.residual == use; });
}

Recomputation UniformRecomputation(const Fold& fold, FoldedReport& report) {
  std::map<Recomputation, size_t> counts;
  for (const Recomputation layer : fold.layers) ++counts[layer];
  Recomputation most = Recomputation::kNone;
  size_t count = 0;
  for (const auto& [recomputation, layers] : counts) {
    if (layers > count) most = recomputation, count = layers;
  }
  for (size_t i = 0; i < fold.layers.size(); ++i) {
    if (fold.layers[i] == most) continue;
    report.Cannot(StrCat("layer ", fold.layer_paths[i]),
                  StrCat("recomputes ", RecomputationName(fold.layers[i]), ", most layers ", RecomputationName(most)));
  }
  return most;
}

}  // namespace sbp
