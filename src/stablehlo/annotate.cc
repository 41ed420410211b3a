#include "stablehlo/annotate.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "graph/tensor_type.h"
#include "stablehlo/marks.h"
#include "stablehlo/syntax.h"
#include "stablehlo/trace.h"
#include "stablehlo/values.h"

namespace sbp {
namespace stablehlo {
namespace {

constexpr std::string_view kSharding = "sdy.sharding";

struct Edit {
  size_t at = 0, size = 0;  // what is replaced
  std::string text;
};

class Annotator {
 public:
  Annotator(std::string_view text, const Trace& trace, const TextLayouts& layouts)
      : text_(text), trace_(trace), layouts_(layouts) {
    for (mesh_name_ = "plan_mesh"; text.find(mesh_name_) != std::string_view::npos; mesh_name_ += '_') continue;
    for (value_name_ = "%planned"; text.find(value_name_) != std::string_view::npos; value_name_ += '_') continue;
  }

  AnnotatedText Run() {
    const Operation& module = trace_.module->top;
    for (const Region& region : module.regions) {
      for (const Operation& op : region.operations) Function(op);
    }
    if (!module.regions.empty() && !module.regions[0].operations.empty()) {
      Insert(module.regions[0].operations.front().offset, MeshOp());
    }
    const auto partitions = module.attributes.find("mhlo.num_partitions");
    if (partitions != module.attributes.end()) {
      Replace(partitions->second, StrCat("mhlo.num_partitions = ", layouts_.mesh.num_devices(), " : i32"));
    }
    for (const auto& [op, runs] : Runs()) Annotate(*op, runs);
    return Finish();
  }

 private:
  using OpRuns = std::vector<const TracedOp*>;

  // Ops in the text's order.
  std::vector<std::pair<const Operation*, OpRuns>> Runs() const {
    std::map<size_t, std::pair<const Operation*, OpRuns>> by_place;
    for (const TracedOp& run : trace_.ops) {
      auto& [op, runs] = by_place[run.op->offset];
      op = run.op;
      runs.push_back(&run);
    }
    std::vector<std::pair<const Operation*, OpRuns>> ordered;
    for (auto& [place, entry] : by_place) ordered.push_back(std::move(entry));
    return ordered;
  }

  std::string MeshOp() const {
    std::vector<std::string> axes;
    for (const MeshAxis& axis : layouts_.mesh.axes) axes.push_back(StrCat("\"", axis.name, "\"=", axis.size));
    const std::string ids =
        layouts_.mesh.ranks.empty() ? "" : StrCat(", device_ids=[", Join(layouts_.mesh.ranks, ", "), "]");
    return StrCat("\"sdy.mesh\"() <{mesh = #sdy.mesh<[", Join(axes, ", "), "]", ids, ">, sym_name = \"", mesh_name_,
                  "\"}> : () -> ()\n  ");
  }

  // Without a layout: nothing said of any dimension.
  std::string Body(const std::optional<NdSbp>& layout, int rank) const {
    std::vector<std::string> open(static_cast<size_t>(rank), "{?}");
    return StrCat("@", mesh_name_, ", ",
                  layout ? ShardyDims(*layout, rank, layouts_.mesh) : StrCat("[", Join(open, ", "), "]"));
  }

  void Insert(size_t at, std::string text) { edits_.push_back({at, 0, std::move(text)}); }
  void Replace(const Attribute& entry, std::string text) {
    edits_.push_back({entry.entry_begin, entry.entry_end - entry.entry_begin, std::move(text)});
  }

  void Function(const Operation& op) {
    if (op.name != "func.func" || op.regions.size() != 1) return;
    const auto name = op.attributes.find("sym_name");
    const bool is_main = name != op.attributes.end() && name->second.text == "main";
    std::vector<TensorType> types;
    for (const BlockArgument& argument : op.regions[0].arguments) types.push_back(argument.type.tensor);
    const std::vector<TextValue> arguments = Values(is_main ? trace_.arguments : std::vector<std::string>(), types);
    List(op, "arg_attrs", arguments, types);
    types.clear();
    if (!op.regions[0].operations.empty()) {
      for (const Type& type : op.regions[0].operations.back().operand_types) types.push_back(type.tensor);
    }
    const std::vector<TextValue> outputs = Values(is_main ? trace_.outputs : std::vector<std::string>(), types);
    List(op, "res_attrs", outputs, types);
    if (is_main) made_.arguments = arguments, made_.outputs = outputs;
  }

  std::vector<TextValue> Values(const std::vector<std::string>& tensors, const std::vector<TensorType>& types) const {
    std::vector<TextValue> values;
    for (size_t i = 0; i < tensors.size() && i < types.size(); ++i) {
      values.push_back({tensors[i], types[i], layouts_.written(tensors[i])});
    }
    return values;
  }

  // Attributes of arguments or results. `values`: empty of functions other than main, which keep none.
  void List(const Operation& op, std::string_view list, const std::vector<TextValue>& values,
            const std::vector<TensorType>& types) {
    const auto attributes = op.attributes.find(list);
    std::vector<std::string> entries;
    for (size_t i = 0; i < types.size(); ++i) {
      const std::optional<NdSbp> layout = i < values.size() ? values[i].layout : std::nullopt;
      entries.push_back(StrCat(kSharding, " = #sdy.sharding<", Body(layout, types[i].rank()), ">"));
    }
    if (attributes == op.attributes.end()) {
      if (values.empty() || op.properties_at == 0) return;
      for (std::string& entry : entries) entry = StrCat("{", entry, "}");
      return Insert(op.properties_at, StrCat(list, " = [", Join(entries, ", "), "], "));
    }
    for (size_t i = 0; i < attributes->second.list.size() && i < entries.size(); ++i) {
      const Attribute& entry = attributes->second.list[i];
      const auto old = entry.entries.find(kSharding);
      if (old != entry.entries.end()) {
        Replace(old->second, entries[i]);
      } else if (!values.empty()) {
        Insert(entry.end - 1, StrCat(entry.entries.empty() ? "" : ", ", entries[i]));
      }
    }
  }

  void Annotate(const Operation& op, const OpRuns& runs) {
    std::vector<std::string> bodies;
    bool is_known = false;
    for (size_t r = 0; r < op.result_types.size(); ++r) {
      const std::optional<NdSbp> layout = Agreed(runs, [&](const TracedOp& run) { return WrittenAs(run, r); });
      is_known = is_known || layout.has_value();
      bodies.push_back(Body(layout, op.result_types[r].tensor.rank()));
    }
    if (IsConstraint(op.name)) {
      const auto old = op.attributes.find("sharding");
      if (old != op.attributes.end()) Replace(old->second, StrCat("sharding = #sdy.sharding<", bodies.front(), ">"));
      return;
    }
    Operands(op, runs);
    const auto old = op.attributes.find(kSharding);
    const std::string text = StrCat(kSharding, " = #sdy.sharding_per_value<[<", Join(bodies, ">, <"), ">]>");
    if (old != op.attributes.end()) return Replace(old->second, text);
    if (!is_known) return;
    ++made_.results;
    if (op.has_attributes) return Insert(op.attributes_at, StrCat(text, ", "));
    Insert(op.attributes_at, StrCat("{", text, "} "));
  }

  // What an op of the graph made of the result; one that hands on its operand says nothing of it.
  std::optional<NdSbp> WrittenAs(const TracedOp& run, size_t result) const {
    const Value& value = *run.results[result];
    if (value.tensor.empty() || value.literal != nullptr) return std::nullopt;
    const bool is_same =
        std::ranges::any_of(run.operands, [&](const ValueRef& v) { return v->tensor == value.tensor; });
    return is_same && !IsConstraint(run.op->name) ? std::nullopt : layouts_.written(value.tensor);
  }

  void Operands(const Operation& op, const OpRuns& runs) {
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const std::optional<NdSbp> layout = Agreed(runs, [&](const TracedOp& run) { return ReadAs(run, i); });
      if (!layout) continue;
      const Type& type = op.operand_types[i];
      const std::string name = StrCat(value_name_, made_.constraints++);
      const ValueName& operand = op.operands[i];
      const std::string index = operand.index > 0 ? StrCat("#", operand.index) : "";
      const size_t start =
          op.results.empty() ? op.offset : static_cast<size_t>(op.results[0].first.data() - text_.data());
      Insert(start,
             StrCat(name, " = \"sdy.sharding_constraint\"(", operand.name, index, ") <{sharding = #sdy.sharding<",
                    Body(layout, type.tensor.rank()), ">}> : (", type.text, ") -> ", type.text, "\n    "));
      size_t end = operand.offset + operand.name.size();
      if (text_[end] == '#') end = text_.find_first_of(",) \n", end);
      edits_.push_back({operand.offset, end - operand.offset, name});
    }
  }

  // Where the op reads the operand in another layout than it was written.
  std::optional<NdSbp> ReadAs(const TracedOp& run, size_t i) const {
    const std::string& operand = run.operands[i]->tensor;
    if (operand.empty() || run.results.empty() || run.operands[i]->literal != nullptr) return std::nullopt;
    const auto read = layouts_.read(run.results[0]->tensor, operand);
    const auto written = layouts_.written(operand);
    return read && written && *read != *written ? read : std::nullopt;
  }

  // What all runs say; nothing where they do not agree.
  template <typename Ask>
  std::optional<NdSbp> Agreed(const OpRuns& runs, const Ask& ask) {
    const std::optional<NdSbp> first = ask(*runs.front());
    if (std::ranges::all_of(runs, [&](const TracedOp* run) { return ask(*run) == first; })) return first;
    ambiguous_.insert(runs.front()->op->offset);
    return std::nullopt;
  }

  AnnotatedText Finish() {
    std::ranges::stable_sort(edits_, {}, &Edit::at);
    size_t at = 0;
    for (const Edit& edit : edits_) {
      made_.text.append(text_.substr(at, edit.at - at)).append(edit.text);
      at = edit.at + edit.size;
    }
    made_.text.append(text_.substr(at));
    made_.ambiguous = static_cast<int64_t>(ambiguous_.size());
    return std::move(made_);
  }

  std::string_view text_;
  const Trace& trace_;
  const TextLayouts& layouts_;
  std::string mesh_name_, value_name_;
  std::vector<Edit> edits_;
  std::set<size_t> ambiguous_;
  AnnotatedText made_;
};

}  // namespace
}  // namespace stablehlo

std::string ShardyDims(const NdSbp& layout, int rank, const Mesh& mesh) {
  std::vector<std::string> dims;
  for (int d = 0; d < rank; ++d) {
    std::vector<std::string> axes;
    for (int a = 0; a < layout.size(); ++a) {
      if (layout[a].is_split(d)) axes.push_back(StrCat("\"", mesh.axes[a].name, "\""));
    }
    dims.push_back(StrCat("{", Join(axes, ", "), "}"));
  }
  return StrCat("[", Join(dims, ", "), "]");
}

Result<AnnotatedText> AnnotateStableHlo(std::string_view text, std::string_view where, const TextLayouts& layouts) {
  SBP_ASSIGN_OR_RETURN(const stablehlo::Trace trace, stablehlo::ReadTrace(text, where));
  return stablehlo::Annotator(text, trace, layouts).Run();
}

}  // namespace sbp
