#include "cli/rules_ask.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/checked_math.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/cluster.h"
#include "cluster/collective_kind.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/candidates.h"
#include "rule/factor_map.h"
#include "rule/infer.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMaxResults = 1000;

struct AskedOp {
  Attributes attributes;
  std::vector<LiteralRef> values;  // keeps the operands' values alive
  RuleInstanceRef instance;
};

Result<LiteralRef> ToLiteral(const Json& json, const TensorType& type) {
  Literal literal;
  literal.type = type;
  const Json list = json.is_array() ? json : Json::array({json});
  for (const Json& value : list) {
    if (!value.is_number() && !value.is_boolean()) return BadInput("a value must be a number or a list of numbers");
    if (literal.is_integral()) {
      literal.ints.push_back(value.is_boolean() ? static_cast<int64_t>(value.get<bool>()) : value.get<int64_t>());
    } else {
      literal.floats.push_back(value.get<double>());
    }
  }
  if (static_cast<int64_t>(list.size()) != type.num_elements())
    return BadInput(ToString(type) + " has another number of values");
  return std::make_shared<const Literal>(std::move(literal));
}

Result<AttributeValue> ToAttribute(const Json& json) {
  if (json.is_boolean()) return AttributeValue(static_cast<int64_t>(json.get<bool>()));
  if (json.is_number_integer()) return AttributeValue(json.get<int64_t>());
  if (json.is_number()) return AttributeValue(json.get<double>());
  if (json.is_string()) return AttributeValue(json.get<std::string>());
  if (json.is_array()) {
    const auto all = [&](auto is) { return std::all_of(json.begin(), json.end(), is); };
    if (all([](const Json& v) { return v.is_number_integer(); }))
      return AttributeValue(json.get<std::vector<int64_t>>());
    if (all([](const Json& v) { return v.is_number(); })) return AttributeValue(json.get<std::vector<double>>());
    if (all([](const Json& v) { return v.is_string(); })) return AttributeValue(json.get<std::vector<std::string>>());
  }
  return BadInput("an attribute must be a number, a string or a list of one of them");
}

Result<AskedOp> Ask(const RuleSet& rules, const Json& question) {
  AskedOp asked;
  const std::string op = question.value("op", "");
  if (rules.Find(op) == nullptr) return BadInput(StrCat("no rule for op ", Quote(op), DidYouMean(op, rules.Names())));
  const Json attributes = question.value("attributes", Json::object());  // items() refers to it
  for (const auto& [name, value] : attributes.items()) {
    SBP_ASSIGN_OR_RETURN(AttributeValue attribute, ToAttribute(value));
    asked.attributes.Set(name, std::move(attribute));
  }
  OpQuery query;
  query.type = op;
  query.attributes = &asked.attributes;
  query.strict_attributes = true;
  for (const Json& operand : question.value("operands", Json::array())) {
    OperandInfo info;
    LiteralRef value;
    if (!operand.is_null()) {
      info.present = true;
      SBP_ASSIGN_OR_RETURN(info.type, ParseTensorType(operand.value("type", "")));
      if (!info.type.is_static()) return BadInput("every dimension must be a number");
      if (operand.contains("value")) {
        SBP_ASSIGN_OR_RETURN(value, ToLiteral(operand["value"], info.type));
        info.value = value.get();
      }
    }
    asked.values.push_back(std::move(value));
    query.operands.push_back(std::move(info));
  }
  const auto results = question.value("results", int64_t{1});
  if (results < 0 || results > kMaxResults) return BadInput(StrCat("results: expected 0 to ", kMaxResults));
  query.wanted.assign(static_cast<size_t>(results), true);
  SBP_ASSIGN_OR_RETURN(asked.instance, rules.Instantiate(query));
  return asked;
}

Json ToJson(const std::vector<NdSbp>& layouts, const std::vector<TensorType>& types, Notation notation) {
  Json list = Json::array();
  for (size_t i = 0; i < layouts.size(); ++i) list.push_back(FormatLayout(layouts[i], types[i].rank(), notation));
  return list;
}

Json ResultTypes(const RuleInstance& instance) {
  Json list = Json::array();
  for (const TensorType& type : instance.results) list.push_back(ToString(type));
  return list;
}

Result<Json> AnswerCandidates(const RuleSet& rules, const Json& question, const Mesh& mesh) {
  SBP_ASSIGN_OR_RETURN(const AskedOp asked, Ask(rules, question));
  const CandidateList list = MakeCandidates(asked.instance, mesh, {.even_only = question.value("even_only", false)});
  const Notation notation = question.value("notation", "sbp") == "sbp" ? Notation::kSbp : Notation::kDimsMapping;
  Json candidates = Json::array();
  for (const Candidate& candidate : list.candidates) {
    candidates.push_back({{"inputs", ToJson(candidate.signature.inputs, asked.instance->operands, notation)},
                          {"outputs", ToJson(candidate.signature.outputs, asked.instance->results, notation)},
                          {"halo_bytes", candidate.halo_bytes}});
  }
  return Json({{"results", ResultTypes(*asked.instance)}, {"candidates", candidates}});
}

Result<NdSbp> ToLayout(const std::string& text, const TensorType& type, const Mesh& mesh) {
  SBP_ASSIGN_OR_RETURN(NdSbp layout, ParseLayout(text, mesh.num_axes()));
  for (const Sbp sbp : layout) {  // no more than that: other systems' layouts may have parts without an element
    if (sbp.is_split() && sbp.dim() >= type.rank()) {
      return BadInput(StrCat("layout ", ToString(layout), " splits dimension ", sbp.dim(), " of ", ToString(type)));
    }
  }
  return layout;
}

Result<std::vector<NdSbp>> ToLayouts(const Json& question, const char* field, const std::vector<TensorType>& types,
                                     const Mesh& mesh) {
  std::vector<NdSbp> layouts(types.size(), NdSbp(mesh.num_axes()));
  const Json given = question.value(field, Json::array());
  for (size_t i = 0; i < given.size() && i < types.size(); ++i) {
    if (given[i].is_null()) continue;
    SBP_ASSIGN_OR_RETURN(layouts[i], ToLayout(given[i].get<std::string>(), types[i], mesh));
  }
  return layouts;
}

Result<Json> AnswerInfer(const RuleSet& rules, const Json& question, const Mesh& mesh) {
  SBP_ASSIGN_OR_RETURN(const AskedOp asked, Ask(rules, question));
  const RuleInstance& instance = *asked.instance;
  InferRequest request;
  request.instance = asked.instance;
  request.mesh = mesh;
  SBP_ASSIGN_OR_RETURN(request.inputs, ToLayouts(question, "inputs", instance.operands, mesh));
  SBP_ASSIGN_OR_RETURN(request.outputs, ToLayouts(question, "outputs", instance.results, mesh));
  request.backward = question.value("backward", false);
  const InferAnswer answer = InferLayouts(request);
  return Json({{"inputs", ToJson(answer.inputs, instance.operands, Notation::kDimsMapping)},
               {"outputs", ToJson(answer.outputs, instance.results, Notation::kDimsMapping)},
               {"conflicts", answer.conflicts}});
}

Result<Json> AnswerBoxing(const Json& question, const Mesh& mesh) {
  SBP_ASSIGN_OR_RETURN(const TensorType type, ParseTensorType(question.value("type", "")));
  if (!type.is_static()) return BadInput("every dimension must be a number");
  SBP_ASSIGN_OR_RETURN(const NdSbp from, ToLayout(question.value("from", ""), type, mesh));
  SBP_ASSIGN_OR_RETURN(const NdSbp to, ToLayout(question.value("to", ""), type, mesh));
  SBP_ASSIGN_OR_RETURN(Cluster cluster, FindPreset("cpu"));
  cluster.num_nodes = std::max(cluster.num_nodes, CeilDiv(mesh.num_devices(), cluster.devices_per_node));
  BoxingTable table(mesh, cluster);
  const BoxingPath& path = table.Path(type, from, to);
  Json steps = Json::array();
  for (const BoxingStep& step : path.steps) {
    steps.push_back({{"kind", CollectiveKindName(step.kind)},
                     {"axis", step.axis},
                     {"from", ToString(step.from)},
                     {"to", ToString(step.to)}});
  }
  return Json({{"reachable", path.reachable},
               {"steps", steps},
               {"wire_bytes", path.wire_bytes},
               {"bytes_price", BytesPrice(type, from, to, mesh)}});
}

Result<Json> Answer(const RuleSet& rules, const Json& question) {
  if (!question.is_object()) return BadInput("a question is a JSON object");
  const Json& ranks = question.contains("mesh") ? question["mesh"] : Json("");  // a text, or nested lists
  SBP_ASSIGN_OR_RETURN(const Mesh mesh, ParseMesh(ranks.is_array() ? ranks.dump() : ranks.get<std::string>()));
  const std::string ask = question.value("ask", "candidates");
  if (ask == "candidates") return AnswerCandidates(rules, question, mesh);
  if (ask == "infer") return AnswerInfer(rules, question, mesh);
  if (ask == "boxing") return AnswerBoxing(question, mesh);
  const std::vector<std::string> known = {"candidates", "infer", "boxing"};
  return BadInput(StrCat("\"ask\" must be one of ", Join(known, ", "), DidYouMean(ask, known)));
}

}  // namespace

Status AnswerQuestions(const RuleSet& rules, std::istream& in, std::ostream& out) {
  for (std::string line; std::getline(in, line);) {
    if (Trim(line).empty()) continue;
    Json reply;
    // nlohmann throws on a field of another type than asked for; that is the question's fault.
    try {
      auto answer = Answer(rules, Json::parse(line));
      reply = answer.ok() ? *answer : Json({{"error", answer.status().message()}});
    } catch (const nlohmann::json::exception& e) {
      reply = Json({{"error", e.what()}});
    }
    out << reply.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  }
  out.flush();
  return out ? OkStatus() : BadInput("cannot write to stdout");
}

}  // namespace sbp
