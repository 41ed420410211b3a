#include "torch/reader.h"

#include <gmock/gmock.h>

#include <string>

#include "graph/graph.h"
#include "unit/torch/program_text.h"

namespace sbp {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// The dump of the graph, or the error.
std::string Read(const std::string& bytes) {
  const Result<Graph> graph = ReadTorch(bytes, "m.pt2");
  if (!graph.ok()) {
    EXPECT_EQ(graph.status().code(), Code::kBadInput);
    return graph.status().message();
  }
  EXPECT_EQ(Verify(*graph, "").message(), "");
  return Dump(*graph);
}
std::string Read(const json& program) { return Read(ArchiveOf(program)); }

json& NodesOf(json& program) { return program["graph_module"]["graph"]["nodes"]; }

TEST(TorchReaderTest, SizesStaySymbolicAndOpsHaveTheirOperandsNames) {
  const std::string dump = Read(LinearProgram());
  EXPECT_THAT(dump, HasSubstr("input x f32[?,3] symbols=[s0, _]"));
  EXPECT_THAT(dump, HasSubstr("parameter mlp.weight f32[4,3]"));
  EXPECT_THAT(dump, HasSubstr("aten::linear(x, mlp.weight) -> (linear)"));
  EXPECT_THAT(dump, HasSubstr("_operands=[\"input\", \"weight\"]"));
  EXPECT_THAT(dump, HasSubstr("_symbolic=[\"size[]\"]"));
}

TEST(TorchReaderTest, ModulesAreScopesAndTheModelsOwnLineIsTheSource) {
  const Result<Graph> graph = ReadTorch(ArchiveOf(LinearProgram()), "m.pt2");
  ASSERT_TRUE(graph.ok());
  const Op& linear = graph->ops.front();
  EXPECT_EQ(graph->scope_of(linear), "layers.0/mlp");
  ASSERT_EQ(linear.metadata.size(), 1);
  EXPECT_EQ(linear.metadata[0].second, "net.py:7");
}

TEST(TorchReaderTest, WhatReadsAnOperandLaterReadsWhatTheOpInPlaceMadeOfIt) {
  EXPECT_THAT(Read(LinearProgram()), HasSubstr("aten::add.Tensor(relu_, relu_) -> (add)"));
}

TEST(TorchReaderTest, AViewOfWhatChangedInPlaceIsNotReadLater) {
  json program = LinearProgram();
  NodesOf(program)[5]["inputs"][1]["arg"]["as_tensor"]["name"] = "a";
  EXPECT_THAT(Read(program), HasSubstr("shows memory that \"relu_\" changed in place"));
  program = LinearProgram();
  NodesOf(program)[4]["inputs"][0]["arg"]["as_tensor"]["name"] = "a";  // a part: the whole is not made anew
  EXPECT_THAT(Read(program), HasSubstr("\"linear\", which shows memory that \"relu_\" changed in place"));
}

TEST(TorchReaderTest, AnOpInPlaceOnAViewMakesTheWholeAnew) {
  json program = LinearProgram();
  json& nodes = NodesOf(program);
  json view = nodes[4];  // relu_
  view["target"] = "torch.ops.aten.alias.default";
  std::string shown = view["inputs"][0]["arg"]["as_tensor"]["name"];
  json& tensors = program["graph_module"]["graph"]["tensor_values"];
  const json meta = tensors[shown];
  json written = nodes[4];
  json made = json::array();
  for (int i = 0; i < 100; ++i) {
    view["inputs"][0]["arg"]["as_tensor"]["name"] = shown;
    shown = "alias" + std::to_string(i);
    view["name"] = view["outputs"][0]["as_tensor"]["name"] = shown;
    tensors[shown] = meta;
    made.push_back(view);
    if (i != 1 && i != 99) continue;
    json changed = nodes;
    written["inputs"][0]["arg"]["as_tensor"]["name"] = shown;
    changed.erase(4);
    changed.insert(changed.begin() + 4, made.begin(), made.end());
    changed.insert(changed.begin() + 4 + static_cast<int64_t>(made.size()), written);
    json whole = program;
    NodesOf(whole) = changed;
    EXPECT_THAT(Read(whole), HasSubstr(i == 1 ? "aten::alias(relu_) -> (relu_/alias0)" : "more than 64 views"));
  }
}

TEST(TorchReaderTest, ResultsThatNobodyReadsAreAbsentAndKeepTheirPlace) {
  EXPECT_THAT(Read(LinearProgram()), HasSubstr("aten::split.Tensor(linear) -> (a, _)"));
}

TEST(TorchReaderTest, GradientsAndUpdatesAreNamedByWhatTheyAreOf) {
  json program = LinearProgram();
  json& outputs = program["graph_module"]["signature"]["output_specs"];
  outputs = json::array({{{"gradient_to_parameter", {{"arg", {{"name", "add"}}}, {"parameter_name", "mlp.weight"}}}}});
  EXPECT_THAT(Read(program), HasSubstr("-> (grad/mlp.weight)"));
  program = LinearProgram();
  program["graph_module"]["signature"]["output_specs"] =
      json::array({{{"user_input_mutation", {{"arg", {{"name", "add"}}}, {"user_input_name", "x"}}}}});
  EXPECT_THAT(Read(program), HasSubstr("tie next/x"));
}

TEST(TorchReaderTest, AnInputThatIsAnOutputIsCopied) {
  json program = LinearProgram();
  program["graph_module"]["signature"]["output_specs"][0]["user_output"]["arg"]["as_tensor"]["name"] = "x";
  EXPECT_THAT(Read(program), HasSubstr("Identity(x) -> (x/output)"));
}

TEST(TorchReaderTest, RegionsAreInlinedAndControlFlowIsRefused) {
  json program = LinearProgram();
  json inner = program["graph_module"]["graph"];
  inner["inputs"] = json::array({{{"as_tensor", {{"name", "q"}}}}});
  inner["outputs"] = json::array({{{"as_tensor", {{"name", "relu_"}}}}});
  inner["nodes"] = json::array({inner["nodes"][4]});
  inner["nodes"][0]["target"] = "torch.ops.aten.relu.default";
  inner["nodes"][0]["inputs"][0]["arg"]["as_tensor"]["name"] = "q";
  json& region = NodesOf(program)[4];
  region["target"] = "torch.ops.higher_order.wrap_with_set_grad_enabled";
  const json flag = {{"name", ""}, {"arg", {{"as_bool", false}}}};
  const json body = {{"name", ""}, {"arg", {{"as_graph", {{"name", "g"}, {"graph", inner}}}}}};
  region["inputs"] = json::array({flag, body, region["inputs"][0]});
  EXPECT_THAT(Read(program), HasSubstr("aten::relu(linear) -> (relu_)"));
  // Nothing is learned through what is made without gradients.
  EXPECT_THAT(Read(program), HasSubstr("aten::detach(relu_) -> (relu_/detached)"));
  EXPECT_THAT(Read(program), HasSubstr("aten::add.Tensor(relu_/detached, linear) -> (add)"));
  region["inputs"][0]["arg"]["as_bool"] = true;
  EXPECT_THAT(Read(program), Not(HasSubstr("detached")));
  region["target"] = "torch.ops.higher_order.cond";
  EXPECT_THAT(Read(program), HasSubstr("control flow is not read"));
}

TEST(TorchReaderTest, WeightsAreReferredToWhereTheyStand) {
  const std::string values(64, '\1');
  const std::string bytes = ArchiveOf(
      LinearProgram(),
      {{"m/data/weights/weight_0", values}, {"m/data/weights/model_weights_config.json", WeightTable("weight_0", 2)}});
  const Result<Graph> graph = ReadTorch(bytes, "m.pt2");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  for (const Tensor& tensor : graph->tensors) {
    if (tensor.name != "mlp.weight") continue;
    ASSERT_TRUE(tensor.data.has_value());
    EXPECT_EQ(tensor.data->offset, static_cast<int64_t>(bytes.find(values)) + 8);
    EXPECT_EQ(tensor.data->length, 48);
  }
}

TEST(TorchReaderTest, AWeightThatDoesNotFitIsAnError) {
  const std::string bytes =
      ArchiveOf(LinearProgram(), {{"m/data/weights/weight_0", std::string(40, '\1')},
                                  {"m/data/weights/model_weights_config.json", WeightTable("weight_0")}});
  EXPECT_THAT(Read(bytes), HasSubstr("has 40 bytes; f32[4,3] from byte 0 on does not fit"));
}

TEST(TorchReaderTest, WhatIsMissingOrWrongIsNamed) {
  json program = LinearProgram();
  program["schema_version"]["major"] = 9;
  EXPECT_THAT(Read(program), HasSubstr("m.pt2: torch.export schema version 9; expected 8"));
  program = LinearProgram();
  program["graph_module"]["graph"]["tensor_values"]["x"]["dtype"] = 9;
  EXPECT_THAT(Read(program), HasSubstr("tensor \"x\" has torch's element type 9"));
  program = LinearProgram();
  program["graph_module"]["graph"]["tensor_values"]["x"]["sizes"][1]["as_int"] = -3;
  EXPECT_THAT(Read(program), HasSubstr("tensor \"x\" has the size -3"));
  program = LinearProgram();
  NodesOf(program)[3]["inputs"][1]["arg"]["as_sym_ints"][0]["as_name"] = "k";
  EXPECT_THAT(Read(program), HasSubstr("is the size \"k\", which nothing defines"));
  program = LinearProgram();
  NodesOf(program)[1].erase("inputs");
  EXPECT_THAT(Read(program), HasSubstr("torch.ops.aten.linear.default \"linear\" has no list \"inputs\""));
  program = LinearProgram();
  program["graph_module"].erase("signature");
  EXPECT_THAT(Read(program), HasSubstr("the module has no object \"signature\""));
}

TEST(TorchReaderTest, ArchivesThatAreCutOffAreErrors) {
  const std::string bytes = ArchiveOf(LinearProgram());
  for (const size_t size : {size_t{40}, bytes.size() / 2, bytes.size() - 1}) {
    EXPECT_THAT(Read(bytes.substr(0, size)), HasSubstr("m.pt2: ")) << size;
  }
  EXPECT_THAT(Read(*WriteZip({{"m/data.pkl", "x"}})), HasSubstr("without models/model.json"));
}

}  // namespace
}  // namespace sbp
