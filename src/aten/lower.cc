#include "aten/lower.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "aten/complex_pairs.h"
#include "aten/table.h"
#include "base/ids.h"
#include "base/text.h"
#include "decompose/decompose.h"
#include "decompose/evaluate.h"
#include "decompose/expansion_builder.h"
#include "graph/producers.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "rule/op_query.h"
#include "rule/overload.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

constexpr size_t kMaxListed = 20;  // ops without a row in an error, so that it fits one screen
constexpr std::string_view kOperands = "_operands", kSymbolic = "_symbolic";

// Of whatever library: ops of torch alone name their operands.
bool IsForeign(const Op& op) { return op.attributes->Find(kOperands) != nullptr; }

constexpr std::string_view kKnownSizes =
    "write the model with a size that is known (a mask in place of nonzero, a capacity)";

// Has it a symbol of a size that data decide, as torch.export names them: u0, u1, ...?
bool HasSizeOfData(std::string_view expression) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_word = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (size_t i = 0; i < expression.size();) {
    size_t end = i;
    while (end < expression.size() && is_word(expression[end])) ++end;
    const std::string_view word = expression.substr(i, end - i);
    if (word.size() > 1 && word[0] == 'u' && std::ranges::all_of(word.substr(1), is_digit)) return true;
    i = end + 1;
  }
  return false;
}

// A number, or a list of them, in place of the texts of expressions.
Status BindSizes(const SizeOf& size_of, Attributes& attributes) {
  const AttributeValue* symbolic = attributes.Find(kSymbolic);
  if (symbolic == nullptr) return OkStatus();
  const auto* names = std::get_if<std::vector<std::string>>(symbolic);
  if (names == nullptr) return BadInput(StrCat(Quote(kSymbolic), " is no list of names"));
  for (std::string name : std::vector<std::string>(*names)) {
    const bool is_list = name.ends_with("[]");
    if (is_list) name.resize(name.size() - 2);
    const AttributeValue* value = attributes.Find(name);
    const auto* texts = value == nullptr ? nullptr : std::get_if<std::vector<std::string>>(value);
    if (texts == nullptr) return BadInput(StrCat("attribute ", Quote(name), " is no list of sizes"));
    std::vector<int64_t> sizes;
    for (const std::string& text : *texts) {
      const Result<int64_t> size = size_of(text);
      if (!size.ok() && HasSizeOfData(text))
        return BadInput(StrCat(Quote(name), " has the size ", text, ", which data decide; ", kKnownSizes));
      if (!size.ok()) return size.status();
      sizes.push_back(*size);
    }
    if (is_list) {
      attributes.Set(name, std::move(sizes));
    } else if (!sizes.empty()) {
      attributes.Set(name, sizes.front());
    }
  }
  std::erase_if(attributes.mutable_entries(), [](const auto& entry) { return entry.first == kSymbolic; });
  return OkStatus();
}

// What a schema calls each operand: of a second list of tensors, of which a schema can have but one, "hx0" and "hx1".
std::vector<std::string> NamesIn(const OpOverload& overload, std::vector<std::string> names) {
  std::map<std::string, int> seen;
  for (std::string& name : names) {
    const int place = seen[name]++;
    const auto has_name = [&](const Parameter& parameter) { return !parameter.keyword && parameter.name == name; };
    if (std::ranges::none_of(overload.parameters, has_name)) name = StrCat(name, place);
  }
  return names;
}

// The operands in the order of a schema; nullopt: it has no operand of some name.
std::optional<std::vector<TensorId>> InOrder(const OpOverload& overload, const std::vector<std::string>& given,
                                             const std::vector<TensorId>& operands) {
  const std::vector<std::string> names = NamesIn(overload, given);
  std::vector<TensorId> ordered;
  size_t taken = 0;
  for (const Parameter& parameter : overload.parameters) {
    if (parameter.keyword) continue;
    const size_t before = taken;
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] != parameter.name || (!parameter.variadic && taken > before)) continue;
      ordered.push_back(operands[i]);
      ++taken;
    }
    if (taken == before && !parameter.variadic) ordered.emplace_back();
  }
  if (taken != names.size()) return std::nullopt;
  while (!ordered.empty() && !ordered.back().valid()) ordered.pop_back();
  return ordered;
}

class Lowering {
 public:
  Lowering(Graph graph, const RuleSet& rules, const AtenTable& table, const SizeOf& size_of)
      : graph_(std::move(graph)), rules_(rules), table_(table), size_of_(size_of) {}

  Result<Graph> Run() {
    SBP_RETURN_IF_ERROR(AllHaveRows());
    for (Op& op : graph_.ops) {
      if (!IsForeign(op)) continue;
      if (const Status status = Prepare(op); !status.ok()) return status.WithContext(PlaceOf(op));
    }
    DecomposeOptions options;
    options.chosen = [this](const Graph& /*graph*/, const Op& op, int depth) {
      return depth == 0 && chosen_.contains(op.name);
    };
    options.expansion = [this](const OpQuery& query, const Op& op) { return Expand(query, op); };
    return Decompose(graph_, rules_, options);
  }

 private:
  // "aten::add.Tensor (model.py:12)"
  std::string SourceOf(const Op& op) const {
    std::string source = graph_.type_of(op);
    for (const auto& [key, text] : op.metadata) {
      if (key == "source") source += StrCat(" (", text, ")");
    }
    return source;
  }
  std::string PlaceOf(const Op& op) const { return StrCat("op ", Quote(op.name), ", ", SourceOf(op)); }

  // The user's paragraphs, each a definition of its own, or ours.
  const std::vector<OpDefinition>* RowsOf(const std::string& type) {
    const auto [known, is_new] = rows_.try_emplace(type, nullptr);
    if (!is_new) return known->second;
    const OpDefinition* own = rules_.Find(type);
    if (own == nullptr) own = rules_.Find(WithoutOverload(type));
    if (own == nullptr) return known->second = table_.Find(type);
    auto rows = std::make_unique<std::vector<OpDefinition>>();
    for (const OpOverload& overload : own->overloads) {
      OpDefinition& row = rows->emplace_back();
      row.name = own->name;
      row.builtin = own->builtin;
      row.overloads.push_back(overload);
    }
    own_.push_back(std::move(rows));
    return known->second = own_.back().get();
  }

  Status AllHaveRows() {
    std::map<std::string, std::pair<int, const Op*>> missing;
    for (const Op& op : graph_.ops) {
      const std::string& type = graph_.type_of(op);
      if (!IsForeign(op) || RowsOf(type) != nullptr) continue;
      auto& [count, first] = missing[type];
      if (count++ == 0) first = &op;
    }
    if (missing.empty()) return OkStatus();
    std::string list;
    size_t listed = 0;
    for (const auto& [type, entry] : missing) {
      if (++listed > kMaxListed) break;
      list += StrCat("\n  ", type, ", ", entry.first, entry.first == 1 ? " op: " : " ops, the first ",
                     PlaceOf(*entry.second));
    }
    if (missing.size() > kMaxListed) list += StrCat("\n  and ", missing.size() - kMaxListed, " more");
    const std::string& example = missing.begin()->first;
    if (IsProducedBy(graph_, kStableHloProducer)) {
      return BadInput(StrCat("no row says what these ops compute; write rows and give them with --rules FILE: op ",
                             example,
                             "(Tensor x0) -> Tensor y, then the lines \"expand\" and \"y = Relu(x0)\" "
                             "(rules/README.md, Ops of torch; operands are x0, x1, ...):",
                             list));
    }
    return BadInput(
        StrCat("no row says what these ops of torch compute; write rows and give them with --rules FILE, ", "such as ",
               SampleRow(*missing.begin()->second.second),
               " (rules/README.md, Ops of torch), or export after program.run_decompositions(), where that ",
               "writes them in others:", list));
  }

  // A paragraph of the op's own arguments, to be completed: "op aten::f(Tensor self, *, int dim) -> Tensor y, then
  // ...".
  std::string SampleRow(const Op& op) const {
    std::vector<std::string> parameters, results;
    std::string first;
    const AttributeValue* value = op.attributes->Find(kOperands);
    const auto* list = value == nullptr ? nullptr : std::get_if<std::vector<std::string>>(value);
    const std::vector<std::string> names = list == nullptr ? std::vector<std::string>() : *list;
    if (!names.empty()) first = names.front();
    for (size_t i = 0; i < names.size(); ++i) {
      if (i > 0 && names[i] == names[i - 1]) continue;
      const bool is_list = i + 1 < names.size() && names[i + 1] == names[i];
      parameters.push_back(StrCat(is_list ? "Tensor[] " : "Tensor ", names[i]));
    }
    bool is_keyword = false;
    for (const auto& [name, argument] : op.attributes->entries()) {
      if (name == kOperands) continue;
      if (!is_keyword) parameters.emplace_back("*");
      is_keyword = true;
      parameters.push_back(StrCat(KindOf(argument), " ", name));
    }
    for (size_t i = 0; i < op.outputs.size(); ++i)
      results.push_back(op.outputs.size() == 1 ? "Tensor y" : StrCat("Tensor y", i));
    return StrCat("op ", graph_.type_of(op), "(", Join(parameters, ", "), ") -> ", Join(results, ", "),
                  ", then the lines \"expand\" and \"", op.outputs.size() == 1 ? "y" : "y0", " = Relu(", first, ")\"");
  }

  static std::string_view KindOf(const AttributeValue& value) {
    if (std::holds_alternative<double>(value)) return "float";
    if (std::holds_alternative<std::string>(value)) return "string";
    if (std::holds_alternative<std::vector<int64_t>>(value)) return "int[]";
    if (std::holds_alternative<std::vector<double>>(value)) return "float[]";
    if (std::holds_alternative<std::vector<std::string>>(value)) return "string[]";
    return "int";
  }

  // "state it with --dim u0=N, or ": a size that has a name may be given, where one knows more than the program.
  static std::string WayToState(const Tensor& tensor) {
    for (size_t d = 0; d < tensor.symbols.size() && d < tensor.type.shape.size(); ++d) {
      if (tensor.type.shape[d] == kUnknownDim && !tensor.symbols[d].empty())
        return StrCat("state it with --dim ", tensor.symbols[d], "=N, or ");
    }
    return "";
  }

  Result<OpQuery> QueryOf(const Op& op, const std::vector<TensorId>& operands) const {
    for (const TensorId id : op.outputs) {
      if (id.valid() && !graph_.tensor(id).type.is_static()) {
        return BadInput(StrCat("the size of its result ", Quote(graph_.tensor(id).name), ", ",
                               sbp::ToString(graph_.tensor(id).type), ", is decided by data; ",
                               WayToState(graph_.tensor(id)), kKnownSizes));
      }
    }
    return QueryWithValues(graph_, op, operands);
  }

  // Chooses the paragraph, orders the operands by its schema, binds sizes in attributes.
  Status Prepare(Op& op) {
    Attributes attributes = *op.attributes;
    SBP_RETURN_IF_ERROR(BindSizes(size_of_, attributes));
    std::vector<std::string> names;
    if (const AttributeValue* value = attributes.Find(kOperands)) {
      const auto* list = std::get_if<std::vector<std::string>>(value);
      if (list != nullptr) names = *list;
    }
    if (names.size() != op.inputs.size()) return BadInput("its operands have no names");
    std::erase_if(attributes.mutable_entries(), [](const auto& entry) { return entry.first == kOperands; });
    op.attributes = std::make_shared<const Attributes>(std::move(attributes));
    std::string problems;
    for (const OpDefinition& row : *RowsOf(graph_.type_of(op))) {
      const OpOverload& overload = row.overloads.front();
      const std::optional<std::vector<TensorId>> ordered = InOrder(overload, names, op.inputs);
      if (!ordered) {
        problems +=
            StrCat("\n  ", FormatSignature(overload), ": it has other operands (given: ", Join(names, ", "), ")");
        continue;
      }
      SBP_ASSIGN_OR_RETURN(OpQuery query, QueryOf(op, *ordered));
      query.strict_attributes = true;
      const Result<Binding> binding = ResolveOverload(row, query);
      if (!binding.ok()) {
        problems += StrCat("\n  ", FormatSignature(overload), ": ", binding.status().message());
        continue;
      }
      op.inputs = *ordered;
      if (!overload.expansions.empty()) {
        chosen_[op.name] = &row;
      } else {
        op.type = TypeIndex(row.name);
      }
      return OkStatus();
    }
    return BadInput(StrCat("no row takes these arguments:", problems));
  }

  uint32_t TypeIndex(const std::string& type) {
    const auto at = std::ranges::find(graph_.op_types, type);
    if (at != graph_.op_types.end()) return static_cast<uint32_t>(at - graph_.op_types.begin());
    graph_.op_types.push_back(type);
    return static_cast<uint32_t>(graph_.op_types.size() - 1);
  }

  Result<Graph> Expand(const OpQuery& query, const Op& op) const {
    const OpDefinition& row = *chosen_.at(op.name);
    SBP_ASSIGN_OR_RETURN(const Binding binding, ResolveOverload(row, query));
    RuleInstance instance;
    instance.op = query.type;
    instance.results = query.stated;
    for (const OperandInfo& operand : query.operands) {
      instance.operands.push_back(operand.type);
      instance.present.push_back(operand.present);
    }
    instance.operand_names.resize(query.operands.size());
    Name(row.overloads.front().parameters, binding.parameters, instance.operand_names);
    instance.result_names.resize(query.wanted.size());
    Name(row.overloads.front().results, binding.results, instance.result_names);
    ExpansionBuilder builder(query, binding, instance, rules_);
    SBP_RETURN_IF_ERROR(EvaluateExpansion(row.overloads.front(), builder).WithContext(SourceOf(op)));
    Result<Graph> graph = builder.Finish();
    if (graph.ok()) return graph;
    const Status status = graph.status().WithContext(SourceOf(op));
    // The types that results should have are the file's own word.
    return status.code() == Code::kDefect ? BadInput(StrCat(status.message(), ", as the file states it")) : status;
  }

  static void Name(const std::vector<Parameter>& parameters, const std::vector<ParameterSlot>& slots,
                   std::vector<std::string>& names) {
    for (size_t i = 0; i < slots.size(); ++i) {
      for (int k = 0; k < slots[i].count; ++k) {
        const std::string& name = parameters[i].name;
        names[slots[i].first + k] = parameters[i].variadic ? StrCat(name, "[", k, "]") : name;
      }
    }
  }

  Graph graph_;
  const RuleSet& rules_;
  const AtenTable& table_;
  const SizeOf& size_of_;
  std::map<std::string, const std::vector<OpDefinition>*> rows_;    // by op type
  std::vector<std::unique_ptr<std::vector<OpDefinition>>> own_;     // the user's
  std::map<std::string, const OpDefinition*, std::less<>> chosen_;  // by op: the row that it expands by
};

}  // namespace

bool HasAtenOps(const Graph& graph) { return std::ranges::any_of(graph.ops, IsForeign); }

Result<Graph> LowerAten(Graph graph, const RuleSet& rules, const SizeOf& size_of) {
  const Result<AtenTable>& table = AtenTable::Builtin();
  if (!table.ok()) return table.status();
  PairComplexNumbers(graph);
  return Lowering(std::move(graph), rules, *table, size_of).Run();
}

}  // namespace sbp
