#include "export/parallelize.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "export/exporter.h"
#include "export/folded.h"
#include "export/plan_table.h"
#include "export/starts.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "parallelism/fold.h"
#include "parallelism/words.h"
#include "plan/plan.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

constexpr std::string_view kImports = R"(from collections.abc import Iterable
from functools import partial

import torch
from torch import nn
from torch.distributed._composable.replicate_with_fsdp import replicate
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleOutput, RowwiseParallel, SequenceParallel,
                                               parallelize_module)
from torch.distributed.tensor.parallel.style import ParallelStyle
)";

std::string Tuple(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += StrCat(PythonText(name), ", ");
  return StrCat("(", text.substr(0, text.empty() ? 0 : text.size() - (names.size() > 1 ? 2 : 1)), ")");
}

class Parallelize {
 public:
  Parallelize(const Plan& plan, const Fold& fold, FoldedReport& report) : plan_(plan), fold_(fold), report_(report) {}

  std::string Make() {
    sequence_ = HasResidual(fold_, ResidualUse::kSequence);
    CheckEven(fold_, plan_, RanksOf(fold_, plan_.mesh, AxisUse::kData), report_);
    FindAxes();
    FindStyles();
    std::vector<std::string> names;
    for (const MeshAxis& axis : plan_.mesh.axes) names.push_back(axis.name);
    std::string text;
    for (const std::string& line : LeftToCaller()) {
      text += StrCat("# Left to the caller: ", line, ".\n");
      report_.Note(StrCat("parallelize.py leaves to the caller: ", line));
    }
    text += StrCat("AXES, RANKS = ", Tuple(names), ", ", RanksOfMesh(plan_.mesh), "\n");
    text += StrCat("COPIES: tuple[str, ...] = ", Tuple(copies_), "  # hold the same parameters\n");
    text += StrCat("SHARDED: tuple[str, ...] = ", Tuple(sharded_), "  # hold parts of what they train\n");
    text += StrCat("RESHARDS = ", regathers_ ? "True" : "False",
                   "  # parameters are gathered anew for the backward pass\n");
    text += Dictionary("SPLIT_ALONG", "int", SplitAlong());
    text += StrCat("TENSOR = ", PythonText(tensor_), "\n");
    if (sequence_) text += "BETWEEN = Shard(1)  # what lies between layers: the sequence is split\n";
    text += Dictionary("TENSOR_PLAN", "ParallelStyle", styles_);
    text += Dictionary("GATHERED", "ParallelStyle", gathered_);
    text += StrCat("BLOCKS: tuple[str, ...] = ", Tuple(Blocks()), "  # gathered one after the other\n");
    return text;
  }

 private:
  // What the plan's step does that neither styles nor fully_shard say.
  std::vector<std::string> LeftToCaller() {
    std::vector<std::string> lines;
    const Recomputation again = UniformRecomputation(fold_, report_);
    const std::string_view remat = TrainingFlag(plan_, "remat");
    if (again == Recomputation::kFull) {
      lines.emplace_back(
          "layers are computed again in the backward pass: apply_activation_checkpointing (model."
          "gradient_checkpointing_enable() of transformers), before parallelize");
    } else if (again != Recomputation::kNone || (fold_.layers.empty() && !remat.empty())) {
      lines.push_back(
          StrCat("a part of the forward pass, ",
                 again == Recomputation::kNone ? StrCat("--remat ", remat) : std::string(RecomputationName(again)),
                 ", is computed again in the backward pass: torch.utils.checkpoint with a context_fn of "
                 "create_selective_checkpoint_contexts"));
    }
    if (const std::string_view type = TrainingFlag(plan_, "compute"); !type.empty()) {
      lines.push_back(StrCat("the step computes in ", type,
                             ", of parameters as they are held: MixedPrecisionPolicy as ",
                             "mp_policy of fully_shard or replicate, or torch.autocast"));
    }
    if (const std::string_view norm = TrainingFlag(plan_, "clip-norm"); !norm.empty()) {
      lines.push_back(StrCat("gradients are clipped to a norm of ", norm, " over all parameters: torch.nn.utils.",
                             "clip_grad_norm_ behind backward"));
    }
    std::vector<std::string> frozen;
    for (const auto& [flag, pattern] : plan_.options.train) {
      if (flag == "freeze") frozen.push_back(pattern);
    }
    if (!frozen.empty())
      lines.push_back(
          StrCat("parameters ", Join(frozen, ", "), " are frozen: requires_grad_(False), before parallelize"));
    return lines;
  }

  void FindAxes() {
    const ShardedData data = DataOf(fold_, plan_, report_);
    if (data.zero == 1 || data.zero == 2)
      report_.Cannot(StrCat("ZeRO's stage ", data.zero), "splits states, not parameters: fully_shard splits all");
    regathers_ = data.regathers;
    std::string outside;  // a tensor axis
    for (size_t a = 0; a < fold_.axes.size(); ++a) {
      const std::string& name = plan_.mesh.axes[a].name;
      if (plan_.mesh.axes[a].size == 1) continue;
      std::vector<std::string>& of_data = fold_.axes[a].zero > 0 ? sharded_ : copies_;
      switch (fold_.axes[a].use) {
        case AxisUse::kIdle:
          break;
        case AxisUse::kContext:
        case AxisUse::kExpert:
          report_.Cannot(name, StrCat("is ", AxisUseName(fold_.axes[a].use), " parallelism, which no style is for"));
          break;
        case AxisUse::kData:
          if (!outside.empty() && fold_.axes[a].zero > 0)
            report_.Cannot(name,
                           StrCat("splits parameters inside of ", outside, ", which splits matrices: fully_shard ",
                                  "takes data axes outside of it, --mesh ", name, "=...,", outside, "=..."));
          if (!of_data.empty()) report_.Cannot(name, "splits the batch, as another axis does in the same way");
          if (of_data.empty()) of_data.push_back(name);
          break;
        case AxisUse::kTensor:
          if (!tensor_.empty()) report_.Cannot(name, "splits matrices, as another axis does: a style is for one");
          if (tensor_.empty()) tensor_ = name;
          outside = tensor_;
          break;
      }
    }
  }

  void FindStyles() {
    std::map<std::string, std::string> of_module;
    std::map<std::string, int> matrices;  // of each module
    for (const FoldedParameter& parameter : fold_.parameters) matrices[parameter.module] += parameter.rank > 1 ? 1 : 0;
    std::set<std::string> norms;  // patterns
    for (const FoldedParameter& parameter : fold_.parameters) {
      if (parameter.rank < 2) continue;
      const std::string style = StyleOf(parameter);
      if (style.empty()) continue;
      if (matrices[parameter.module] > 1) {
        report_.Cannot(parameter.name,
                       "is split, and its module has other matrices: styles are for nn.Linear and "
                       "nn.Embedding, and split all that a module has");
      }
      of_module[parameter.module] = style;
    }
    for (const FoldedParameter& parameter : fold_.parameters) {
      if (parameter.rank >= 2) continue;
      const bool split = StyleOverTensor(fold_, parameter) != ParameterStyle::kWhole;
      const auto found = of_module.find(parameter.module);
      const bool column = found != of_module.end() && found->second.starts_with("Colwise");
      if (split != column)
        report_.Cannot(parameter.name,
                       split ? "is split, and no style splits it" : "lies whole, where its matrix is split by columns");
      if (!sequence_ || !parameter.along_sequence || split || found != of_module.end()) continue;
      const std::string reason = WhyNoNorm(parameter);
      if (!reason.empty()) report_.Cannot(parameter.name, reason);
      if (reason.empty()) norms.insert(ModulePattern(parameter.module));
    }
    for (const FoldedParameter& parameter : fold_.parameters) {  // in all layers alike, the first included
      if (!sequence_ || parameter.rank >= 2 || !norms.contains(ModulePattern(parameter.module))) continue;
      of_module[parameter.module] = "SequenceParallel()";
      gathers_.insert(parameter.module);
    }
    // By pattern where all modules of it have one style, in the order of the model.
    std::map<std::string, std::set<std::string>> of_pattern;
    for (const FoldedParameter& p : fold_.parameters) {
      const auto found = of_module.find(p.module);
      of_pattern[ModulePattern(p.module)].insert(found == of_module.end() ? "" : found->second);
    }
    std::set<std::string> done;
    for (const FoldedParameter& p : fold_.parameters) {
      const auto found = of_module.find(p.module);
      if (found == of_module.end()) continue;
      const std::string pattern = ModulePattern(p.module);
      const std::string& name = of_pattern[pattern].size() == 1 ? pattern : p.module;
      if (!done.insert(name).second) continue;
      styles_.emplace_back(name, found->second);
      if (gathers_.contains(p.module))
        gathered_.emplace_back(name, "PrepareModuleOutput(output_layouts=BETWEEN, desired_output_layouts=Replicate())");
    }
  }

  // Of a matrix; "": it stays whole, or has none, which is reported.
  std::string StyleOf(const FoldedParameter& parameter) {
    const ParameterStyle style = StyleOverTensor(fold_, parameter);
    const bool whole = style == ParameterStyle::kWhole;
    if (whole && sequence_ && parameter.looked_up)
      report_.Cannot(parameter.name,
                     "is a table that lies whole, whose rows would have to be split as the sequence is");
    if (whole) return "";
    const std::string_view reason =
        parameter.module.empty()            ? "is split and belongs to no module that has a name"
        : parameter.is_part                 ? "is a part of a fused parameter, whose module has one style"
        : parameter.rank > 2                ? "is no matrix of nn.Linear or nn.Embedding, which styles are for"
        : parameter.role != "weight"        ? "is split and is no `weight`, which is all that styles split of a module"
        : IsTurned(plan_, fold_, parameter) ? "lies as [in, out], where styles are for nn.Linear's [out, in]"
                                            : "";
    if (!reason.empty()) {
      report_.Cannot(parameter.name, std::string(reason));
      return "";
    }
    const std::string_view between = sequence_ ? "output_layouts=BETWEEN" : "";
    switch (style) {
      case ParameterStyle::kColumn:
        return parameter.gathered ? "ColwiseParallel(output_layouts=Replicate())" : "ColwiseParallel()";
      case ParameterStyle::kRow:
        return StrCat("RowwiseParallel(", between, ")");
      case ParameterStyle::kVocabulary:
        return StrCat("RowwiseParallel(input_layouts=Replicate()", sequence_ ? ", " : "", between, ")");
      case ParameterStyle::kWhole:
      case ParameterStyle::kExpert:
      case ParameterStyle::kOther:
        break;
    }
    report_.Cannot(parameter.name, "is split otherwise over one tensor axis than over another, or by experts");
    return "";
  }

  // SequenceParallel replaces all parameters of a module that normalises, and splits what it is called with. "": of
  // such.
  std::string WhyNoNorm(const FoldedParameter& vector) const {
    constexpr std::string_view kRead = "is read along the split sequence, ";
    if (vector.role != "weight" && vector.role != "bias")
      return StrCat(kRead, "and SequenceParallel is for the weight and bias of a norm");
    for (const FoldedParameter& other : fold_.parameters) {
      if (vector.module.empty() || other.module.starts_with(StrCat(vector.module, ".")))
        return StrCat(kRead, "and SequenceParallel is for modules without others inside, as ", other.module);
      if (other.module == vector.module && other.rank > 1)
        return StrCat(kRead, "and SequenceParallel is for norms, where its module has ", other.name, ", too");
    }
    return "";
  }

  // The modules that repeat: "layers.*" of "layers.0.mlp.up_proj", "*" of "0" in an nn.Sequential.
  std::vector<std::string> Blocks() const {
    std::set<std::string> blocks;
    for (const FoldedParameter& parameter : fold_.parameters) {
      const std::string pattern = ModulePattern(parameter.module);
      if (const size_t star = pattern.find('*'); star != std::string::npos) blocks.insert(pattern.substr(0, star + 1));
    }
    return {blocks.begin(), blocks.end()};
  }

  // Which dimension data ranks split, of parameters where it is not the first: by pattern where all that it matches are
  // alike. fully_shard has even parts of those alone.
  std::vector<std::pair<std::string, std::string>> SplitAlong() {
    std::map<std::string, std::set<int>> of_pattern;
    std::vector<std::pair<std::string, int>> found;
    for (const FoldedParameter& parameter : fold_.parameters) {
      const std::string& name = plan_.graph.tensor(parameter.id).name;
      found.emplace_back(name, DataDim(parameter));
      of_pattern[ModulePattern(name)].insert(found.back().second);
    }
    std::set<std::string> done;
    std::vector<std::pair<std::string, std::string>> entries;
    for (const auto& [name, dim] : found) {
      const std::string pattern = ModulePattern(name);
      const std::string& entry = of_pattern[pattern].size() == 1 ? pattern : name;
      if (dim != 0 && done.insert(entry).second) entries.emplace_back(entry, StrCat(dim));
    }
    return entries;
  }

  // 0: the first, or none.
  int DataDim(const FoldedParameter& parameter) {
    const Tensor& tensor = plan_.graph.tensor(parameter.id);
    const NdSbp& layout = plan_.source_layouts[parameter.id.index()];
    for (int a = 0; a < layout.size() && !sharded_.empty(); ++a) {
      if (plan_.mesh.axes[a].name != sharded_.front() || !layout[a].is_split() || layout[a].dim() == 0) continue;
      if (IsEvenly(tensor.type, layout, layout[a].dim())) return layout[a].dim();
      report_.Note(StrCat(tensor.name, " is split unevenly along dimension ", layout[a].dim(), " over ",
                          sharded_.front(), ", by fully_shard along dimension 0"));
    }
    return 0;
  }

  bool IsEvenly(const TensorType& type, const NdSbp& layout, int dim) const {
    int64_t size = type.shape[static_cast<size_t>(dim)];
    for (int a = 0; a < layout.size(); ++a) {
      if (!layout[a].is_split(dim)) continue;
      if (size % plan_.mesh.size(a) != 0) return false;
      size /= plan_.mesh.size(a);
    }
    return true;
  }

  static std::string Dictionary(std::string_view name, std::string_view type,
                                const std::vector<std::pair<std::string, std::string>>& entries) {
    std::string text = StrCat(name, ": dict[str, ", type, "] = {");
    if (entries.empty()) return text + "}\n";
    text += "\n";
    for (const auto& [key, value] : entries) text += StrCat("    ", PythonText(key), ": ", value, ",\n");
    return text + "}\n";
  }

  const Plan& plan_;
  const Fold& fold_;
  FoldedReport& report_;
  bool sequence_ = false, regathers_ = false;
  std::vector<std::string> copies_, sharded_;
  std::string tensor_;
  std::set<std::string> gathers_;  // norms whose result is gathered for the products that read it
  std::vector<std::pair<std::string, std::string>> styles_, gathered_;
};

}  // namespace

Result<std::string> ParallelizeProgram(const Plan& plan, const ExportOptions& options,
                                       std::vector<std::string>& report) {
  SBP_ASSIGN_OR_RETURN(const Fold fold, FoldPlan(plan));
  FoldedReport folded("parallelize.py", fold, plan.mesh);
  const std::string lines = Parallelize(plan, fold, folded).Make();
  folded.Note("parallelize.py: what is sent follows from PyTorch's styles; apply_plan.py sends what the plan does");
  SBP_RETURN_IF_ERROR(folded.Finish(options, report));
  return StrCat(
      "\"\"\"A plan as PyTorch's own modules have it: tensor parallelism by parallelize_module, data parallelism by "
      "fully_shard\nor replicate. Made by sbp-plan.\n\n    mesh = make_mesh(); parallelize(model, mesh)\n    "
      "loss(model(own_part(tokens, mesh)), own_part(labels, mesh)).backward()\n\"\"\"\n\nfrom __future__ import "
      "annotations\n\n",
      kImports, "\n", lines, ParallelizeText());
}

}  // namespace sbp
