// The frame of a program: versions, what its inputs and outputs are, ranges of symbols.
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "io/json_text.h"
#include "torch/json_view.h"
#include "torch/program.h"

namespace sbp::torch {
namespace {

struct InputRow {
  std::string_view name;
  InputSpec::Kind kind;
  std::string_view target;  // the member that names what it is
};
constexpr InputRow kInputs[] = {
    {"user_input", InputSpec::Kind::kUser, ""},
    {"parameter", InputSpec::Kind::kParameter, "parameter_name"},
    {"buffer", InputSpec::Kind::kBuffer, "buffer_name"},
    {"tensor_constant", InputSpec::Kind::kConstant, "tensor_constant_name"},
};

struct OutputRow {
  std::string_view name;
  OutputSpec::Kind kind;
  std::string_view target;
};
constexpr OutputRow kOutputs[] = {
    {"user_output", OutputSpec::Kind::kUser, ""},
    {"loss_output", OutputSpec::Kind::kLoss, ""},
    {"gradient_to_parameter", OutputSpec::Kind::kGradient, "parameter_name"},
    {"gradient_to_user_input", OutputSpec::Kind::kGradient, "user_input_name"},
    {"buffer_mutation", OutputSpec::Kind::kMutation, "buffer_name"},
    {"parameter_mutation", OutputSpec::Kind::kMutation, "parameter_name"},
    {"user_input_mutation", OutputSpec::Kind::kMutation, "user_input_name"},
};

// The tensor that a specification is about; "" where it is a number or nothing.
std::string ArgumentIn(const Json& spec) {
  const Json* argument = Find(spec, "arg");
  const Json* tensor = argument == nullptr ? nullptr : Find(*argument, "as_tensor");
  if (tensor == nullptr) tensor = argument;
  const Json* name = tensor == nullptr ? nullptr : Find(*tensor, "name");
  return name != nullptr && name->is_string() ? name->get<std::string>() : "";
}

// `rows`: of the kinds that are read; others (tokens, objects) become kOther.
template <typename Row, typename Spec>
Status ReadSpecs(const Json& signature, std::string_view list, std::span<const Row> rows, std::vector<Spec>& specs) {
  SBP_ASSIGN_OR_RETURN(const Json* entries, ListIn(signature, list, "the signature"));
  for (const Json& entry : *entries) {
    const std::string place = StrCat("entry ", specs.size(), " of ", list);
    SBP_ASSIGN_OR_RETURN(const Choice choice, ChoiceOf(entry, place));
    Spec& spec = specs.emplace_back();
    spec.kind = Spec::Kind::kOther;
    for (const Row& row : rows) {
      if (row.name != choice.name) continue;
      spec.kind = row.kind;
      spec.argument = ArgumentIn(*choice.value);
      if (row.target.empty()) continue;
      SBP_ASSIGN_OR_RETURN(spec.target, TextIn(*choice.value, row.target, place));
    }
  }
  return OkStatus();
}

Status CheckVersion(const Json& json) {
  constexpr std::string_view kPlace = "schema_version";
  SBP_ASSIGN_OR_RETURN(const Json* version, ObjectIn(json, kPlace, "the program"));
  SBP_ASSIGN_OR_RETURN(const int64_t major, IntIn(*version, "major", kPlace));
  if (major == kSchemaMajor) return OkStatus();
  return BadInput(StrCat("torch.export schema version ", major, "; expected ", kSchemaMajor,
                         ": export it with a torch that writes this version (2.7 and later)"));
}

Status ReadRanges(const Json& json, Program& program) {
  const Json* ranges = Find(json, "range_constraints");
  if (ranges == nullptr || !ranges->is_object()) return OkStatus();
  for (const auto& [symbol, entry] : ranges->items()) {
    const Json& range = entry;
    const auto bound = [&](std::string_view name, int64_t otherwise) {
      const Json* value = Find(range, name);
      return value != nullptr && value->is_number_integer() ? value->get<int64_t>() : otherwise;
    };
    program.ranges[PlainExpression(symbol)] = {bound("min_val", 0),
                                               bound("max_val", std::numeric_limits<int64_t>::max())};
  }
  return OkStatus();
}

}  // namespace

Result<Program> ReadProgram(std::string_view text) {
  SBP_ASSIGN_OR_RETURN(const Json json, ParseJsonObject(text, "models/model.json"));
  SBP_RETURN_IF_ERROR(CheckVersion(json));
  Program program;
  SBP_ASSIGN_OR_RETURN(const Json* module, ObjectIn(json, "graph_module", "the program"));
  SBP_ASSIGN_OR_RETURN(const Json* graph, ObjectIn(*module, "graph", "the module"));
  SBP_RETURN_IF_ERROR(ReadGraph(*graph, 0, program.graph));
  SBP_ASSIGN_OR_RETURN(const Json* signature, ObjectIn(*module, "signature", "the module"));
  SBP_RETURN_IF_ERROR(ReadSpecs<InputRow>(*signature, "input_specs", kInputs, program.inputs));
  SBP_RETURN_IF_ERROR(ReadSpecs<OutputRow>(*signature, "output_specs", kOutputs, program.outputs));
  SBP_RETURN_IF_ERROR(ReadRanges(json, program));
  if (const Json* version = Find(json, "torch_version"); version != nullptr && version->is_string()) {
    program.torch_version = version->get<std::string>();
  }
  return program;
}

}  // namespace sbp::torch
