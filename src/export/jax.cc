// jax: the plan's StableHLO with its layouts as shardings, or a program for jax.shard_map with its collectives.
#include "export/jax.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "annotation/specs_of_plan.h"
#include "base/dtype.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "export/exporter.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "io/file.h"
#include "plan/ends.h"
#include "plan/plan.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"
#include "stablehlo/annotate.h"
#include "stablehlo/reader.h"

namespace sbp {

bool MakeEven(const TensorType& type, const Mesh& mesh, NdSbp& layout) {
  Shape left = type.shape;
  bool changed = false;
  for (int a = 0; a < layout.size(); ++a) {
    if (!layout[a].is_split()) continue;
    int64_t& size = left[static_cast<size_t>(layout[a].dim())];
    if (size % mesh.size(a) == 0) {
      size /= mesh.size(a);
    } else {
      layout[a] = Sbp::Broadcast();
      changed = true;
    }
  }
  return changed;
}

namespace {

Result<std::string> TextOf(const Plan& plan) {
  if (plan.model_path.empty() || plan.model_path == "-")
    return BadInput("the plan is of no model file, which its shardings could be written into");
  SBP_ASSIGN_OR_RETURN(std::string text, ReadFile(plan.model_path));
  if (!LooksLikeMlir(text)) {
    return BadInput(
        StrCat(plan.model_path,
               ", the plan's model, is no text of StableHLO, which JAX runs; --exact writes a program of any model"));
  }
  if (Fingerprint(text) != plan.model_fingerprint)
    return BadInput(StrCat(plan.model_path, " has changed since the plan was made of it"));
  return text;
}

// Layouts of a plan by the names of the text's values, without P and, at the function's ends, in even parts.
class JaxLayouts {
 public:
  explicit JaxLayouts(const Plan& plan) : plan_(plan), names_(plan.graph), laid_out_(LaidOut(plan)) {
    for (size_t t = 0; t < plan.graph.tensors.size(); ++t) {
      const Tensor& tensor = plan.graph.tensors[t];
      if (tensor.part != nullptr) parts_[tensor.part->whole].push_back(TensorId(t));
    }
    const std::vector<NdSbp> ends = OutputLayoutsOf(plan);
    for (size_t i = 0; i < plan.graph.outputs.size(); ++i) ends_[plan.graph.outputs[i]] = ends[i];
  }

  std::optional<NdSbp> Written(const std::string& name) {
    const TensorId id = names_.tensor(name);
    if (!id.valid()) return OfParts(name);
    const Tensor& tensor = plan_.graph.tensor(id);
    if (tensor.type.kind != ValueKind::kTensor) return std::nullopt;
    const auto end = ends_.find(id);
    if (end == ends_.end() && tensor.producer.valid()) return laid_out_[id.index()];
    return AtAnEnd(name, tensor.type, end == ends_.end() ? plan_.source_layouts[id.index()] : end->second);
  }

  std::optional<NdSbp> Read(const std::string& result, const std::string& operand) const {
    const TensorId made = names_.tensor(result), read = names_.tensor(operand);
    if (!made.valid() || !read.valid() || !plan_.graph.tensor(made).producer.valid()) return std::nullopt;
    const OpId op = plan_.graph.tensor(made).producer;
    const std::vector<TensorId>& inputs = plan_.graph.op(op).inputs;
    const auto found = std::ranges::find(inputs, read);
    if (found == inputs.end()) return std::nullopt;
    NdSbp layout = plan_.decision(op).signature.inputs[static_cast<size_t>(found - inputs.begin())];
    if (layout.has_partial()) return std::nullopt;  // reduced where it is written
    return layout;
  }

  std::vector<std::string> notes() const { return {notes_.begin(), notes_.end()}; }

 private:
  std::optional<NdSbp> AtAnEnd(const std::string& name, const TensorType& type, NdSbp layout) {
    const std::string planned = ToString(layout);
    const bool was_partial = layout.has_partial();
    for (int a = 0; a < layout.size(); ++a) {
      if (layout[a].is_partial()) layout[a] = Sbp::Broadcast();
    }
    const bool was_uneven = MakeEven(type, plan_.mesh, layout);
    if (was_partial || was_uneven) {
      notes_.insert(StrCat(Quote(name), " is ", ToString(layout), " in place of ", planned,
                           was_uneven ? ", whose parts differ in size, which JAX has not at a function's ends"
                                      : ", as values between devices that are not yet summed cannot be returned",
                           ": a device holds ", HeldBytes(type, layout), " bytes of it"));
    }
    return layout;
  }

  int64_t HeldBytes(const TensorType& type, const NdSbp& layout) const {
    int64_t parts = 1;
    for (int a = 0; a < layout.size(); ++a) parts *= layout[a].is_split() ? plan_.mesh.size(a) : 1;
    return type.num_bytes() / parts;
  }

  // A fused weight of which the plan lays out the parts: as these, where they agree and cut each other not.
  std::optional<NdSbp> OfParts(const std::string& name) {
    const auto parts = parts_.find(name);
    if (parts == parts_.end()) return std::nullopt;
    const NdSbp first = plan_.source_layouts[parts->second.front().index()];
    NdSbp layout = first;
    bool differs = false;
    for (const TensorId part : parts->second) {
      const NdSbp& own = plan_.source_layouts[part.index()];
      const int along = static_cast<int>(plan_.graph.tensor(part).part->axis);
      for (int a = 0; a < layout.size(); ++a) {
        if (own[a] == first[a] && !own[a].is_split(along)) continue;
        differs = true;
        if (own[a] != first[a]) layout[a] = Sbp::Broadcast();
      }
    }
    if (differs) {
      notes_.insert(StrCat("the parts of ", Quote(name), " start as ", ToString(first), " each, the whole as ",
                           ToString(layout), ": the partitioner moves what differs"));
    }
    return AtAnEnd(name, plan_.graph.tensor(parts->second.front()).part->type, layout);
  }

  const Plan& plan_;
  NameIndex names_;
  std::vector<NdSbp> laid_out_;
  std::map<std::string, std::vector<TensorId>> parts_;
  std::map<TensorId, NdSbp> ends_;
  std::set<std::string> notes_;
};

// What ops that read partial values cost more, where these are reduced at once: all-reduces, beside what the plan
// sends.
void NotePartials(const Plan& plan, std::vector<std::string>& report) {
  std::set<TensorId> seen;
  double bytes = 0;
  std::string first;
  for (size_t o = 0; o < plan.graph.ops.size(); ++o) {
    const Op& op = plan.graph.ops[o];
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i].valid()) continue;
      const NdSbp& taken = plan.decision(OpId(o)).signature.inputs[i];
      if (!taken.has_partial() || !seen.insert(op.inputs[i]).second) continue;
      const Tensor& tensor = plan.graph.tensor(op.inputs[i]);
      if (first.empty()) first = StrCat(Quote(tensor.name), " ", ToString(taken), " by ", Quote(op.name));
      double held = static_cast<double>(tensor.type.num_bytes());
      for (int a = 0; a < taken.size(); ++a) held /= taken[a].is_split() ? static_cast<double>(plan.mesh.size(a)) : 1;
      for (int a = 0; a < taken.size(); ++a) {
        const auto n = static_cast<double>(plan.mesh.size(a));
        if (taken[a].is_partial()) bytes += 2 * held * (n - 1) / n * static_cast<double>(plan.mesh.num_devices());
      }
    }
  }
  if (seen.empty()) return;
  report.push_back(StrCat(seen.size(), seen.size() == 1 ? " tensor is" : " tensors are",
                          " read while partial, which shardings cannot say, first ", first,
                          ": the partitioner may reduce them where they are written, by all-reduces of ",
                          FormatCount(static_cast<int64_t>(bytes)), " bytes; --exact keeps the plan's"));
}

void NoteScatters(const Plan& plan, std::vector<std::string>& report) {
  int64_t count = 0;
  double bytes = 0;
  for (const Transition& transition : plan.transitions) {
    for (const BoxingStep& step : transition.steps) {
      if (step.kind != CollectiveKind::kReduceScatter) continue;
      ++count;
      bytes += step.wire_bytes;
    }
  }
  if (count == 0) return;
  report.push_back(StrCat("the partitioner may write ", count, count == 1 ? " reduce-scatter" : " reduce-scatters",
                          " of the plan as all-reduce and slice: ", FormatCount(static_cast<int64_t>(2 * bytes)),
                          " bytes in place of ", FormatCount(static_cast<int64_t>(bytes))));
}

nlohmann::ordered_json ValueJson(const TextValue& value, const Mesh& mesh) {
  nlohmann::ordered_json dims = nlohmann::ordered_json::array();
  for (int d = 0; d < value.type.rank(); ++d) {
    auto& axes = dims.emplace_back(nlohmann::ordered_json::array());
    for (int a = 0; value.layout && a < value.layout->size(); ++a) {
      if ((*value.layout)[a].is_split(d)) axes.push_back(mesh.axes[a].name);
    }
  }
  return {{"name", value.name}, {"dtype", DTypeName(value.type.dtype)}, {"shape", value.type.shape}, {"dims", dims}};
}

std::string SignatureText(const Plan& plan, const AnnotatedText& annotated) {
  nlohmann::ordered_json json = {{"mesh_axes", nlohmann::ordered_json::array()},
                                 {"mesh_shape", nlohmann::ordered_json::array()},
                                 {"mesh_ranks", plan.mesh.ranks},
                                 {"inputs", nlohmann::ordered_json::array()},
                                 {"outputs", nlohmann::ordered_json::array()}};
  for (const MeshAxis& axis : plan.mesh.axes) {
    json["mesh_axes"].push_back(axis.name);
    json["mesh_shape"].push_back(axis.size);
  }
  for (const TextValue& value : annotated.arguments) json["inputs"].push_back(ValueJson(value, plan.mesh));
  for (const TextValue& value : annotated.outputs) json["outputs"].push_back(ValueJson(value, plan.mesh));
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<PlanExport> WriteShardings(const Plan& plan, const std::string& text) {
  JaxLayouts layouts(plan);
  const TextLayouts asked{
      .mesh = plan.mesh,
      .written = [&](const std::string& tensor) { return layouts.Written(tensor); },
      .read = [&](const std::string& result, const std::string& operand) { return layouts.Read(result, operand); }};
  SBP_ASSIGN_OR_RETURN(const AnnotatedText annotated, AnnotateStableHlo(text, plan.model_path, asked));
  PlanExport made;
  made.files.push_back({"plan.mlir", annotated.text});
  made.files.push_back({"plan_signature.json", SignatureText(plan, annotated)});
  made.files.push_back({"load_plan.py", std::string(JaxAnnotatedText())});
  made.files.push_back({"plan_run.py", std::string(JaxRunText())});
  made.report = layouts.notes();
  NotePartials(plan, made.report);
  NoteScatters(plan, made.report);
  if (annotated.ambiguous > 0) {
    made.report.push_back(StrCat(annotated.ambiguous, " ops of functions that are called several times are laid out ",
                                 "differently from call to call, and have no sharding"));
  }
  return made;
}

Result<PlanExport> WriteForJax(const Plan& plan, const ExportOptions& options) {
  if (options.exact) return WriteJaxProgram(plan);  // of any model: its text is not read
  SBP_ASSIGN_OR_RETURN(const std::string text, TextOf(plan));
  if (!plan.options.train.empty()) {
    return BadInput(
        "the plan is of a training step that --train made, which the text has not: --exact writes the step itself, or "
        "plan the text of jax.value_and_grad");
  }
  return WriteShardings(plan, text);
}

}  // namespace

ExporterRow JaxExporter() {
  return {.name = "jax",
          .doc =
              "the plan's StableHLO with its layouts as shardings, or, --exact, Python for jax.shard_map with its "
              "collectives",
          .extension = "",
          .can_be_exact = true,
          .write_plan = WriteForJax};
}

}  // namespace sbp
