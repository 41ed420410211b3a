// rules: list, show, and ask the rules about one op or one model.
#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "api/model.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/command_text.h"
#include "cli/op_question.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "cli/rules_ask.h"
#include "cli/rules_coverage.h"
#include "cli/rules_json.h"
#include "cli/rules_test.h"
#include "cli/rules_verify.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "io/call_files.h"
#include "rule/candidates.h"
#include "rule/factor_map.h"
#include "rule/infer.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

using Json = nlohmann::ordered_json;

struct RulesFlags {
  std::vector<std::string> rules;
  OutputFlags output;
  OpQuestionFlags question;
  std::string mesh;
  bool even_only = false;
  bool backward = false;
  CoverageFlags coverage;
  VerifyFlags verify;
  RulesTestFlags test;
};

Status List(const RulesFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.rules));
  std::map<std::string, std::vector<std::string>> families;
  for (const auto& [name, op] : rules.ops()) families[op.family].push_back(name);
  if (flags.output.json()) {
    return Print(RulesJson(rules));
  }
  std::string text;
  for (const auto& [family, names] : families)
    text += StrCat(family, " (", names.size(), ")\n  ", Join(names, " "), "\n");
  return Print(text + StrCat(rules.ops().size(), " ops"));
}

Status Show(const RulesFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.rules));
  const OpDefinition* op = rules.Find(flags.question.op);
  if (op == nullptr) {
    return BadInput(StrCat("no rule for op ", Quote(flags.question.op), DidYouMean(flags.question.op, rules.Names())));
  }
  std::string text;
  for (const OpOverload& overload : op->overloads) {
    text += StrCat("# ", ToString(overload.at), op->builtin ? " (built in)" : "", "\n", overload.text, "\n");
  }
  return Print(text);
}

// Operand name -> layout, in the operands' order; absent ones are left out.
Json Layouts(const std::vector<std::string>& names, const std::vector<TensorType>& types,
             const std::vector<NdSbp>& layouts, const std::vector<bool>* present, Notation notation) {
  Json object = Json::object();
  for (size_t i = 0; i < layouts.size() && i < names.size(); ++i) {
    if (present != nullptr && !(*present)[i]) continue;
    object[names[i]] = FormatLayout(layouts[i], types[i].rank(), notation);
  }
  return object;
}

std::string JoinLayouts(const Json& object) {
  std::string text;
  for (const auto& [name, layout] : object.items()) {
    text += StrCat(text.empty() ? "" : "  ", name, "=", layout.get<std::string>());
  }
  return text;
}

Status Candidates(const RulesFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.rules));
  SBP_ASSIGN_OR_RETURN(const Mesh mesh, ParseMeshFlag(flags.mesh));
  SBP_ASSIGN_OR_RETURN(const OpQuestion question, AskOp(flags.question, rules, mesh));
  const RuleInstance& instance = *question.instance;
  const CandidateList list = MakeCandidates(question.instance, mesh, {.even_only = flags.even_only});
  Json candidates = Json::array();
  std::string text;
  const Notation notation = flags.output.layout_notation();
  for (size_t i = 0; i < list.candidates.size(); ++i) {
    const Signature signature = list.candidates[i].signature;
    const Json inputs =
        Layouts(instance.operand_names, instance.operands, signature.inputs, &instance.present, notation);
    const Json outputs = Layouts(instance.result_names, instance.results, signature.outputs, nullptr, notation);
    const std::string reason = DescribeCandidate(list, i, mesh);
    text += StrCat(i, ": ", JoinLayouts(inputs), "  ->  ", JoinLayouts(outputs), "    ", reason, "\n");
    candidates.push_back({{"inputs", inputs}, {"outputs", outputs}, {"reason", reason}});
  }
  if (flags.output.json()) return Print(Json({{"candidates", candidates}}).dump(2));
  for (const std::string& note : instance.map.notes) text += StrCat("note: ", note, "\n");
  if (instance.replicate_only) text += StrCat("note: ", instance.reason, "\n");
  return Print(text);
}

// Name to dims_mapping and partial.
Json MappingJson(const std::vector<std::string>& names, const std::vector<TensorType>& types,
                 const std::vector<NdSbp>& layouts) {
  Json object = Json::object();
  for (size_t i = 0; i < layouts.size() && i < names.size(); ++i) {
    const DimsMapping mapping = ToDimsMapping(layouts[i], types[i].rank());
    Json dims = Json::array();
    for (const std::vector<int>& axes : mapping.dims) {
      if (axes.empty())
        dims.push_back(-1);
      else if (axes.size() == 1)
        dims.push_back(axes[0]);
      else
        dims.push_back(axes);
    }
    Json partial = Json::array();
    for (const auto& [axis, kind] : mapping.partial) partial.push_back(Json::array({axis, ReduceKindName(kind)}));
    object[names[i]] = {{"dims_mapping", dims}, {"partial", partial}};
  }
  return object;
}

std::string InferText(const std::vector<std::string>& names, const std::vector<TensorType>& types,
                      const std::vector<NdSbp>& layouts, const std::vector<bool>& changed, Notation notation) {
  std::string text;
  for (size_t i = 0; i < layouts.size() && i < names.size(); ++i) {
    text += StrCat("  ", names[i], ": ", FormatLayout(layouts[i], types[i].rank(), notation),
                   i < changed.size() && changed[i] ? "   (changed)" : "", "\n");
  }
  return text;
}

Status Infer(const RulesFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.rules));
  SBP_ASSIGN_OR_RETURN(const Mesh mesh, ParseMeshFlag(flags.mesh));
  SBP_ASSIGN_OR_RETURN(const OpQuestion question, AskOp(flags.question, rules, mesh));
  const RuleInstance& instance = *question.instance;
  const InferAnswer answer = InferLayouts({question.instance, mesh, question.inputs, question.outputs, flags.backward});
  if (flags.output.json()) {
    std::vector<std::string> changed;
    for (size_t i = 0; i < answer.input_changed.size(); ++i) {
      if (answer.input_changed[i]) changed.push_back(instance.operand_names[i]);
    }
    for (size_t i = 0; i < answer.output_changed.size(); ++i) {
      if (answer.output_changed[i]) changed.push_back(instance.result_names[i]);
    }
    return Print(Json({{"inputs", MappingJson(instance.operand_names, instance.operands, answer.inputs)},
                       {"outputs", MappingJson(instance.result_names, instance.results, answer.outputs)},
                       {"changed", changed},
                       {"conflicts", answer.conflicts}})
                     .dump(2));
  }
  const Notation notation = flags.output.layout_notation();
  std::string text =
      "inputs\n" + InferText(instance.operand_names, instance.operands, answer.inputs, answer.input_changed, notation);
  text +=
      "outputs\n" + InferText(instance.result_names, instance.results, answer.outputs, answer.output_changed, notation);
  for (const std::string& conflict : answer.conflicts) text += StrCat("conflict: ", conflict, "\n");
  return Print(text);
}

Status Coverage(const RulesFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.rules));
  return ReportCoverage(rules, flags.coverage, flags.output);
}

Status AskMany(const RulesFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.rules));
  CallFiles* const call = CurrentCallFiles();
  if (call == nullptr) return AnswerQuestions(rules, std::cin, std::cout);
  std::istringstream questions{std::string(call->input)};
  std::ostringstream answers;
  SBP_RETURN_IF_ERROR(AnswerQuestions(rules, questions, answers));
  return Print(answers.str());
}

Status Verify(const RulesFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.rules));
  return VerifyAndReport(rules, flags.verify, flags.output);
}

Status Test(const RulesFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.rules));
  return TestRules(rules, flags.test, flags.output);
}

// For completions.
std::vector<std::string> NamesOfOps() {
  const auto rules = RuleSet::Builtin();
  return rules.ok() ? rules->Names() : std::vector<std::string>();
}

void AddQuestionFlags(CLI::App& app, RulesFlags& flags) {
  OfferChoices(app.add_option("op", flags.question.op, "an op's type: MatMul, com.microsoft::Attention")
                   ->required()
                   ->type_name("OP"),
               NamesOfOps);
  app.add_option("--input", flags.question.inputs, "an operand: a=f32[16,32], shape=[72,24], x=f32[64,36]:[0,-1]")
      ->type_name("NAME=TYPE")
      ->allow_extra_args(false);
  app.add_option("--attr", flags.question.attributes, "an attribute")->type_name("NAME=VALUE")->allow_extra_args(false);
  app.add_option("--results", flags.question.num_outputs, "number of results of a variadic op")->check(RefuseNegative);
  app.add_option("--mesh", flags.mesh, "device axes")->required()->type_name("MESH");
}

}  // namespace

Command SetupRules(CLI::App& app) {
  app.require_subcommand(1);
  auto flags = std::make_shared<RulesFlags>();
  auto chosen = std::make_shared<Command>();
  const auto add = [&](const char* name, const char* doc, Status (*run)(const RulesFlags&)) {
    CLI::App* sub = app.add_subcommand(name, doc);
    sub->add_option("--rules", flags->rules, "sharding rules of your own")->type_name("FILE")->allow_extra_args(false);
    sub->callback([chosen, flags, run] { *chosen = [flags, run] { return run(*flags); }; });
    return sub;
  };
  AddFormatFlag(*add("list", "the ops that have a rule, by family", List), flags->output);
  CLI::App* show = add("show", "an op's signatures and rules", Show);
  OfferChoices(show->add_option("op", flags->question.op, "an op's type")->required()->type_name("OP"), NamesOfOps);
  CLI::App* candidates = add("candidates", "the legal signatures of one op, in registration order", Candidates);
  AddQuestionFlags(*candidates, *flags);
  candidates->add_flag("--even-only", flags->even_only, "forbid parts of different sizes");
  AddFormatFlag(*candidates, flags->output);
  AddNotationFlag(*candidates, flags->output);
  CLI::App* test = add("test", "files of layouts and what rules make of them (rules/README.md)", Test);
  test->add_option("files", flags->test.files, "tests of rules")->required()->type_name("FILE");
  test->add_flag("--update", flags->test.update, "write what the rules say into the files");
  AddFormatFlag(*test, flags->output);
  CLI::App* infer = add("infer", "one op, forward from its inputs or backward from its outputs", Infer);
  AddQuestionFlags(*infer, *flags);
  infer->add_option("--output", flags->question.outputs, "a result's layout, for --backward: y=[0,-1]")
      ->type_name("NAME=LAYOUT")
      ->allow_extra_args(false);
  infer->add_flag("--backward", flags->backward, "from the outputs to the inputs");
  AddFormatFlag(*infer, flags->output);
  AddNotationFlag(*infer, flags->output);
  add("ask", "many questions from stdin, one JSON document a line (cli/rules_ask.h)", AskMany);
  CLI::App* coverage = add("coverage", "which ops of a model have a rule", Coverage);
  coverage->add_option("model", flags->coverage.model, "ONNX, .pt2 or a graph")->required()->type_name("MODEL");
  coverage->add_flag("--vjp", flags->coverage.vjp,
                     "which ops on float paths have a derivative, and why others have not");
  coverage
      ->add_option("--dim", flags->coverage.dims, "with --vjp: a symbolic dimension's size; none given: ops by type")
      ->type_name("NAME=N")
      ->needs("--vjp")
      ->allow_extra_args(false);
  AddFormatFlag(*coverage, flags->output);
  CLI::App* verify =
      add("verify", "every candidate, executed on small operands and compared with the unsharded op", Verify);
  OfferChoices(verify->add_option("ops", flags->verify.ops, "types of ops; none: all")->type_name("OP"), NamesOfOps);
  verify->add_option("--instance", flags->verify.instances, "a further instance, as a row of rules/instances.txt")
      ->type_name("ROW")
      ->allow_extra_args(false);
  verify->add_flag("--vjp", flags->verify.vjp,
                   "derivatives, against central differences and those of expansions; their ops, sharded");
  verify->add_option("--seed", flags->verify.seed, "of the random data")->check(RefuseNegative);
  verify->add_option("--threads", flags->verify.threads, "0: one per core")->check(RefuseNegative);
  AddFormatFlag(*verify, flags->output);
  return [chosen] { return (*chosen)(); };
}

}  // namespace sbp
