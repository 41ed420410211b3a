// The canonical text of a RuleInstance.
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/text.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

std::string NameList(const std::vector<std::string>& names, const std::vector<int>& positions) {
  std::vector<std::string> picked;
  for (int i : positions) picked.push_back(names[i]);
  return Join(picked, ", ");
}

// "(h d) 1 k": factors, or the size where a dimension carries none.
std::string Notation(const FactorMap& map, const TensorFactors& dims, const TensorType& type) {
  std::vector<std::string> parts;
  for (size_t d = 0; d < dims.size(); ++d) {
    std::vector<std::string> letters;
    for (FactorId f : dims[d]) letters.push_back(map.factors[f].name);
    std::string text = letters.empty() ? std::to_string(type.shape[d]) : Join(letters, " ");
    parts.push_back(letters.size() > 1 ? StrCat("(", text, ")") : text);
  }
  return Join(parts, " ");
}

std::string Types(const std::vector<std::string>& names, const std::vector<TensorType>& types) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < types.size(); ++i) {
    parts.push_back(StrCat(names[i], names[i].empty() ? "" : ": ",
                           types[i].dtype == DType::kUndefined ? "absent" : ToString(types[i])));
  }
  return Join(parts, ", ");
}

std::string Notations(const FactorMap& map, const std::vector<TensorFactors>& tensors,
                      const std::vector<TensorType>& types) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < tensors.size(); ++i) parts.push_back(Notation(map, tensors[i], types[i]));
  return Join(parts, ", ");
}

std::string FactorLine(const Factor& factor) {
  std::string text = StrCat("  factor ", factor.name, " = ", factor.size);
  if (factor.granularity != 1) text += StrCat(" * ", factor.granularity);
  if (factor.whole) text += " whole";
  if (factor.aware) text += " aware";
  if (factor.masked) text += " masked";
  if (factor.halo) text += StrCat(" halo ", factor.halo->low, ",", factor.halo->high, ",", factor.halo->stride);
  return text + "\n";
}

std::string ResultList(const RuleInstance& instance, const std::vector<int>& results) {
  return results.empty() ? "" : StrCat(" -> ", NameList(instance.result_names, results));
}

std::string PartialLine(const RuleInstance& instance, const PartialClause& partial) {
  static constexpr std::string_view kWords[] = {"linear", "monotone", "antitone"};
  return StrCat("  ", kWords[static_cast<int>(partial.kind)], " {", NameList(instance.operand_names, partial.operands),
                "}", ResultList(instance, partial.results), "\n");
}

std::string SignatureLine(const ExplicitSignature& signature) {
  std::vector<std::string> in, out;
  for (Sbp sbp : signature.operands) in.push_back(ToString(sbp));
  for (Sbp sbp : signature.results) out.push_back(ToString(sbp));
  return StrCat("  sig (", Join(in, ", "), ") -> (", Join(out, ", "), ")\n");
}

}  // namespace

std::string Dump(const RuleInstance& instance) {
  const FactorMap& map = instance.map;
  std::string text = StrCat(instance.op, "(", Types(instance.operand_names, instance.operands), ") -> ",
                            Types(instance.result_names, instance.results), "\n");
  text += StrCat("  ", Notations(map, map.operands, instance.operands), " -> ",
                 Notations(map, map.results, instance.results), "\n");
  for (const Factor& factor : map.factors) text += FactorLine(factor);
  for (const ReduceClause& reduce : map.reduces) {
    text += StrCat("  reduce ", reduce.kind == ReduceClause::Kind::kNone ? "none" : ReduceKindName(reduce.reduce), " ",
                   map.factors[reduce.factor].name, ResultList(instance, reduce.results), "\n");
  }
  for (const PartialClause& partial : map.partials) text += PartialLine(instance, partial);
  if (!map.addends.empty()) text += StrCat("  addend ", NameList(instance.operand_names, map.addends), "\n");
  if (map.convolution) text += "  convolution\n";
  if (map.view) text += "  view\n";
  if (!map.unused.empty()) text += StrCat("  unused ", NameList(instance.operand_names, map.unused), "\n");
  if (!map.picked.empty()) text += StrCat("  picked ", NameList(instance.operand_names, map.picked), "\n");
  for (const ExplicitSignature& signature : map.signatures) text += SignatureLine(signature);
  for (const std::string& alternative : map.alternatives) text += StrCat("  alt ", alternative, "\n");
  for (const std::string& note : map.notes) text += StrCat("  because ", Quote(note), "\n");
  text += StrCat("  flops ", FormatDouble(instance.flops), "\n");
  if (instance.attention) {
    text += StrCat("  attention ", instance.attention->backward ? "backward " : "forward ",
                   FormatDouble(instance.attention->head), instance.attention->mask ? " masked\n" : "\n");
  }
  if (instance.extra_bytes != 0) text += StrCat("  extra bytes ", FormatDouble(instance.extra_bytes), "\n");
  if (instance.bounded) text += "  bounded\n";
  if (instance.missing_rule) text += "  missing rule\n";
  if (instance.replicate_only) text += "  replicate only\n";
  if (!instance.reason.empty()) text += StrCat("  reason ", Quote(instance.reason), "\n");
  return text;
}

}  // namespace sbp
