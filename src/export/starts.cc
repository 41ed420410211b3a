#include "export/starts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "export/exporter.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "memory/memory.h"
#include "naming/module_names.h"
#include "naming/own_name.h"
#include "plan/plan.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

struct Start {
  std::string name;
  TensorType type;
  NdSbp layout;
  std::optional<int> cut;  // of a fused parameter that was cut along this dimension
};

class StartReader {
 public:
  StartReader(const Plan& plan, const StartWords& words) : plan_(plan), words_(words), names_(plan.graph) {}

  std::vector<Start> Parameters() {
    std::vector<Start> starts;
    std::map<std::string, size_t> at;
    for (const ModuleName& module : names_.all()) {
      const Tensor& tensor = plan_.graph.tensor(module.parameter);
      if (!IsFloat(tensor.type.dtype)) continue;
      Start start = {.name = NameOf(module, tensor), .type = tensor.type, .layout = LayoutOf(module.parameter)};
      if (const std::optional<CutName> cut = ReadCutName(tensor.name)) AddPart(tensor.name, *cut, start);
      const auto [entry, is_new] = at.emplace(start.name, starts.size());
      if (is_new) {
        starts.push_back(std::move(start));
      } else {
        AddTo(starts[entry->second], start);
      }
    }
    return starts;
  }

  std::vector<Start> Inputs() {
    std::set<TensorId> states;
    for (const Tie& tie : plan_.graph.ties) states.insert(tie.input);
    std::vector<Start> starts;
    for (const TensorId id : plan_.graph.inputs) {
      const Tensor& tensor = plan_.graph.tensor(id);
      if (states.contains(id) || tensor.type.rank() == 0) continue;
      starts.push_back({.name = tensor.name, .type = tensor.type, .layout = LayoutOf(id)});
    }
    return starts;
  }

  // As the framework can say it; what it cannot is kept.
  NdSbp Legal(const Start& start) {
    NdSbp layout = start.layout;
    Shape part = start.type.shape;
    for (int axis = 0; axis < layout.size(); ++axis) {
      std::string reason;
      const std::string& over = plan_.mesh.axes[static_cast<size_t>(axis)].name;
      const int64_t ranks = plan_.mesh.size(axis);
      if (layout[axis].is_partial()) {
        reason =
            StrCat("starts as ", ToString(layout[axis]), " over ", over, ", and a tensor of one program starts whole");
      } else if (layout[axis].is_split()) {
        int64_t& size = part[static_cast<size_t>(layout[axis].dim())];
        if (size % ranks != 0 && !words_.uneven) {
          reason = StrCat("is split unevenly over ", over, ", ", size, " over ", ranks, " ranks");
        } else {
          size = (size + ranks - 1) / ranks;
        }
      }
      if (reason.empty()) continue;
      layout[axis] = Sbp::Broadcast();
      refused_.push_back(StrCat(Quote(start.name), " ", reason));
    }
    if (layout != start.layout) AddPrice(start.name, start.type, start.layout, layout);
    return layout;
  }

  const std::vector<std::string>& refused() const { return refused_; }
  const std::vector<std::string>& prices() const { return prices_; }

 private:
  NdSbp LayoutOf(TensorId id) const { return plan_.source_layouts[id.index()]; }

  static std::string NameOf(const ModuleName& module, const Tensor& tensor) {
    if (!module.whole.empty()) return StrCat(DottedPath(module.whole), ".", module.role);
    return module.anonymous ? StrCat(DottedPath(module.scope), ".", module.role) : tensor.name;
  }

  // A part stands for its slice of the whole, whose own name it has where that is no made-up one.
  void AddPart(const std::string& name, const CutName& cut, Start& start) {
    if (!ReadOwnName(cut.whole).anonymous) start.name = std::string(cut.whole);
    start.cut = 0;  // "w[:,0:16]" is cut along dimension 1
    const std::string_view range = std::string_view(name).substr(cut.whole.size());
    for (size_t i = range.find(":,"); i != std::string_view::npos; i = range.find(":,", i + 2)) ++*start.cut;
    const bool splits = std::ranges::any_of(start.layout, [&](Sbp s) { return s.is_split(*start.cut); });
    if (!splits) return;
    const NdSbp planned = start.layout;
    for (int axis = 0; axis < start.layout.size(); ++axis) {
      if (start.layout[axis].is_split(*start.cut)) start.layout[axis] = Sbp::Broadcast();
    }
    refused_.push_back(
        StrCat(Quote(name), " is split within a part (", ToString(planned), "), which no layout of the whole says"));
    AddPrice(name, start.type, planned, start.layout);
  }

  void AddPrice(const std::string& name, const TensorType& type, const NdSbp& planned, const NdSbp& written) {
    const int64_t more = LocalBytes(type, written, plan_.mesh) - LocalBytes(type, planned, plan_.mesh);
    prices_.push_back(StrCat(Quote(name), " is written as ", ToString(written), " in the place of ", ToString(planned),
                             ": ", FormatBytes(static_cast<double>(more)), " more on a device"));
  }

  // Another part of one that is listed: the whole is as wide as both.
  void AddTo(Start& whole, const Start& part) {
    if (!whole.cut || !part.cut) {
      refused_.push_back(StrCat(Quote(whole.name), " is what two parameters would be called"));
      return;
    }
    whole.type.shape[static_cast<size_t>(*whole.cut)] += part.type.shape[static_cast<size_t>(*whole.cut)];
    if (whole.layout == part.layout) return;
    refused_.push_back(StrCat(Quote(whole.name), " starts as ", ToString(whole.layout), " and as ",
                              ToString(part.layout), " in its parts"));
  }

  const Plan& plan_;
  const StartWords& words_;
  ModuleNames names_;
  std::vector<std::string> refused_, prices_;
};

std::string Spelled(const NdSbp& layout, const StartWords& words) {
  std::vector<std::string> axes;
  for (int axis = 0; axis < layout.size(); ++axis) {
    axes.push_back(layout[axis].is_split() ? StrCat(words.split, layout[axis].dim(), words.split_end)
                                           : std::string(words.whole));
  }
  return StrCat(words.open, Join(axes, ", "), axes.size() == 1 ? words.one : words.close);
}

std::string Table(std::string_view name, const std::vector<Start>& starts, StartReader& reader,
                  const StartWords& words) {
  std::string text = StrCat(name, " = {\n");
  for (const Start& start : starts) {
    std::vector<std::string> sizes;
    for (const int64_t size : start.type.shape) sizes.push_back(StrCat(size));
    text += StrCat("    ", PythonText(start.name), ": ([", Join(sizes, ", "), "], ",
                   Spelled(reader.Legal(start), words), "),\n");
  }
  return text + "}\n";
}

}  // namespace

std::string PythonText(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

Result<std::string> StartTables(const Plan& plan, const StartWords& words, const ExportOptions& options,
                                std::vector<std::string>& report) {
  StartReader reader(plan, words);
  const std::vector<Start> parameters = reader.Parameters(), inputs = reader.Inputs();
  if (parameters.empty() && inputs.empty()) return BadInput("the plan has no parameter and no input to place");
  std::string text = Table("PARAMETERS", parameters, reader, words);
  text += Table("INPUTS", inputs, reader, words);
  if (!reader.refused().empty() && !options.lossy) {
    return BadInput(StrCat(words.framework,
                           " cannot say how these start (--lossy writes them whole over the axis):\n  ",
                           Join(reader.refused(), "\n  "), reader.prices().empty() ? "" : "\nwhich would cost:\n  ",
                           Join(reader.prices(), "\n  ")));
  }
  for (const std::string& line : reader.refused()) report.push_back(line);
  for (const std::string& line : reader.prices()) report.push_back(line);
  const auto states = std::ranges::count_if(
      plan.graph.ties, [&](const Tie& tie) { return plan.graph.tensor(tie.input).role == TensorRole::kInput; });
  if (states > 0) {
    report.push_back(
        StrCat(states, " states of the optimizer and sums of gradients are not placed, whatever the plan says"));
  }
  report.push_back(StrCat("how the rest lies, and what is sent, is found out by ", words.framework, ": the plan has ",
                          plan.transitions.size(), " transitions"));
  return text;
}

std::string RanksOfMesh(const Mesh& mesh) {
  std::vector<std::string> rows;
  for (int64_t at = 0; at < mesh.num_devices(); ++at) rows.push_back(StrCat(mesh.rank(at)));
  for (int axis = mesh.num_axes() - 1; axis >= 0; --axis) {
    const auto size = static_cast<size_t>(mesh.size(axis));
    std::vector<std::string> outer;
    for (size_t at = 0; at < rows.size(); at += size) {
      outer.push_back(StrCat("[",
                             Join(std::vector<std::string>(rows.begin() + static_cast<std::ptrdiff_t>(at),
                                                           rows.begin() + static_cast<std::ptrdiff_t>(at + size)),
                                  ", "),
                             "]"));
    }
    rows = std::move(outer);
  }
  return rows.front();
}

}  // namespace sbp
