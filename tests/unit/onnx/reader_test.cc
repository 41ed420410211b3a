#include "onnx/reader.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "onnx/wire.h"
#include "unit/onnx/model_text.h"

namespace sbp {
namespace {

using testing::HasSubstr;

// The dump of the graph, or the error.
std::string Read(const std::string& bytes) {
  const Result<Graph> graph = ReadOnnx(bytes, "m.onnx");
  if (!graph.ok()) {
    EXPECT_EQ(graph.status().code(), Code::kBadInput);
    return graph.status().message();
  }
  EXPECT_EQ(Verify(*graph, "").message(), "");
  return Dump(*graph);
}

TEST(ReaderTest, OpenDimensionsGetTheNameOfInputAndAxis) {
  const std::string dims[] = {"dim_param: 'n'", "", "dim_param: '?'", "dim_value: -1", "dim_param: '-1'",
                              "dim_value: 3"};
  const std::string graph = InputText("x", {std::begin(dims), std::end(dims)}) +
                            "node { op_type: 'Relu' input: 'x' output: 'y' } " + OutputText("y");
  EXPECT_THAT(Read(ModelBytes(graph)), HasSubstr("input x f32[?,?,?,?,?,3] symbols=[n, x[1], x[2], x[3], x[4], _]"));
}

TEST(ReaderTest, InputsHaveNames) {
  const std::string graph = InputText("", {"dim_value: 2"}) + "node { op_type: 'Relu' input: 'x' output: 'y' } ";
  EXPECT_THAT(Read(ModelBytes(graph + OutputText("y"))), HasSubstr("a graph input without a name"));
}

TEST(ReaderTest, InitializersAmongTheInputsAreParameters) {
  const std::string graph = InputText("x", {"dim_value: 2"}) + InputText("w", {"dim_value: 2"}) +
                            "initializer { name: 'w' dims: 2 data_type: 1 float_data: [1, 2] } "
                            "node { op_type: 'Add' input: ['x', 'w'] output: 'y' } " +
                            OutputText("y");
  const std::string dump = Read(ModelBytes(graph));
  EXPECT_THAT(dump, HasSubstr("parameter w f32[2] value=[1, 2]"));
  EXPECT_THAT(dump, HasSubstr("inputs (x)"));
}

TEST(ReaderTest, NodeNamesBecomeUniqueAndAbsentOperandsStay) {
  const std::string graph = InputText("x", {"dim_value: 2"}) +
                            "node { op_type: 'Clip' name: 'a' input: ['x', '', 'x'] output: 'y' } "
                            "node { op_type: 'Relu' name: 'a' input: 'y' output: 'z' } "
                            "node { op_type: 'Print' domain: 'acme' input: 'z' } " +
                            OutputText("z");
  const std::string dump = Read(ModelBytes(graph));
  EXPECT_THAT(dump, HasSubstr("op a Clip(x, _, x) -> (y)"));
  EXPECT_THAT(dump, HasSubstr("op a_0 Relu(y) -> (z)"));
  EXPECT_THAT(dump, HasSubstr("acme::Print(z) -> ()"));
}

TEST(ReaderTest, ConstantNodesAreParameters) {
  const std::string graph =
      "node { op_type: 'Constant' output: 'a' attribute { name: 'value_ints' ints: [1, 2] type: 7 } } "
      "node { op_type: 'Constant' output: 'b' attribute { name: 'value_float' f: 0.5 type: 1 } } "
      "node { op_type: 'Constant' output: 'c' attribute { name: 'value' t { data_type: 9 raw_data: '\\001' } } } "
      "node { op_type: 'Constant' output: 'd' attribute { name: 'sparse_value' sparse_tensor { dims: [2, 2] "
      "  values { dims: 1 data_type: 7 int64_data: 9 } indices { dims: [1, 2] data_type: 7 int64_data: [1, 0] } } } } "
      "node { op_type: 'Constant' output: 'e' attribute { name: 'value_string' s: 'hi' type: 3 } } " +
      OutputText("a");
  const std::string dump = Read(ModelBytes(graph));
  for (const std::string_view line :
       {"parameter a i64[2] value=[1, 2]", "parameter b f32[] value=0.5", "parameter c bool[] value=1",
        "parameter d i64[2,2] value=[0, 0, 9, 0]", "parameter e string[] value=\"hi\""}) {
    EXPECT_THAT(dump, HasSubstr(line));
  }
}

TEST(ReaderTest, WeightsStayInTheFile) {
  const std::string payload(8192 * 4, 'x');
  const std::string graph =
      "initializer { name: 'w' dims: 8192 data_type: 1 raw_data: '" + payload +
      "' } initializer { name: 'e' dims: [1024, 1024] data_type: 16 data_location: 1 "
      "external_data { key: 'location' value: 'weights.bin' } external_data { key: 'offset' value: '64' } "
      "external_data { key: 'length' value: '2097152' } } " +
      OutputText("w") + OutputText("e");
  const std::string bytes = ModelBytes(graph);
  const Result<Graph> read = ReadOnnx(bytes, "m");
  ASSERT_TRUE(read.ok()) << read.status().message();
  const Tensor& w = read->tensor(read->outputs[0]);
  ASSERT_TRUE(w.data.has_value());
  EXPECT_EQ(w.data->location, "");
  EXPECT_EQ(bytes.substr(static_cast<size_t>(w.data->offset), static_cast<size_t>(w.data->length)), payload);
  EXPECT_EQ(w.literal, nullptr);
  const Tensor& e = read->tensor(read->outputs[1]);
  ASSERT_TRUE(e.data.has_value());
  EXPECT_EQ(*e.data, (DataReference{"weights.bin", 64, 2097152}));
}

// A payload above what is copied, of few enough elements for a literal: read from its place in the file.
TEST(ReaderTest, LiteralsAreReadFromTheFile) {
  std::string list;
  for (int i = 0; i < 4096; ++i) list += StrCat(i == 0 ? "" : ", ", i * 1000);
  const std::string graph =
      "initializer { name: 'w' dims: 4096 data_type: 7 int64_data: [" + list + "] } " + OutputText("w");
  const Result<Graph> read = ReadOnnx(ModelBytes(graph), "m");
  ASSERT_TRUE(read.ok()) << read.status().message();
  const LiteralRef literal = read->tensor(read->outputs[0]).literal;
  ASSERT_NE(literal, nullptr);
  EXPECT_EQ(literal->ints[4095], 4095000);
}

TEST(ReaderTest, FunctionsAreInlined) {
  // Outer(a) = Inner(a) + a, Inner by overload "v2" with an attribute that is passed on and one with a default.
  const std::string functions = R"(
    opset_import { version: 20 } opset_import { domain: 'f' version: 1 }
    functions { name: 'Outer' domain: 'f' input: 'a' output: 'r' attribute: 'slope' opset_import { version: 20 }
      node { op_type: 'Inner' domain: 'f' overload: 'v2' input: 'a' output: 't'
             attribute { name: 'alpha' ref_attr_name: 'slope' type: 1 } }
      node { op_type: 'Add' name: 'sum' input: ['t', 'a'] output: 'r' } }
    functions { name: 'Inner' domain: 'f' overload: 'v1' input: 'a' output: 'r' opset_import { version: 20 }
      node { op_type: 'Relu' input: 'a' output: 'r' } }
    functions { name: 'Inner' domain: 'f' overload: 'v2' input: 'a' output: 'r' attribute: 'alpha'
      attribute_proto { name: 'axis' i: 3 type: 2 } opset_import { version: 20 }
      node { op_type: 'LeakyRelu' input: 'a' output: 't' attribute { name: 'alpha' ref_attr_name: 'alpha' type: 1 } }
      node { op_type: 'Softmax' input: 't' output: 'r' attribute { name: 'axis' ref_attr_name: 'axis' type: 2 } } })";
  const std::string graph = InputText("x", {"dim_value: 2"}) +
                            "node { op_type: 'Outer' domain: 'f' name: '/m/call' input: 'x' output: 'y' "
                            "attribute { name: 'slope' f: 0.25 type: 1 } } "
                            "node { op_type: 'Outer' domain: 'f' name: '/m/call' input: 'y' output: 'z' } " +
                            OutputText("z");
  const std::string dump = Read(ModelBytes(graph, functions));
  EXPECT_THAT(dump, HasSubstr("LeakyRelu(x) -> (/m/call/Inner/t) alpha=0.25"));
  EXPECT_THAT(dump, HasSubstr("Softmax(/m/call/Inner/t) -> (/m/call/t) axis=3"));
  EXPECT_THAT(dump, HasSubstr("op /m/call/sum Add(/m/call/t, x) -> (y)"));
  EXPECT_THAT(dump, HasSubstr("op /m/call_1/sum Add(/m/call_1/t, y) -> (z)"));
  EXPECT_THAT(dump, HasSubstr("LeakyRelu(y) -> (/m/call_1/Inner/t)"));
}

TEST(ReaderTest, FunctionsThatCallThemselves) {
  const std::string functions = R"(opset_import { version: 20 }
    functions { name: 'F' domain: 'f' input: 'a' output: 'r' node { op_type: 'F' domain: 'f' input: 'a' output: 'r' } })";
  const std::string graph =
      InputText("x", {}) + "node { op_type: 'F' domain: 'f' input: 'x' output: 'y' } " + OutputText("y");
  EXPECT_THAT(Read(ModelBytes(graph, functions)), HasSubstr("deep"));
}

TEST(ReaderTest, FunctionsThatMultiply) {
  std::string functions = "opset_import { version: 20 } ";
  for (int level = 0; level < 40; ++level) {
    const std::string next = StrCat("F", level + 1);
    functions += StrCat("functions { name: 'F", level, "' domain: 'f' input: 'a' output: 'r' node { op_type: '", next,
                        "' domain: 'f' input: 'a' output: 't' } node { op_type: '", next,
                        "' domain: 'f' input: 't' output: 'r' } } ");
  }
  const std::string graph =
      InputText("x", {}) + "node { op_type: 'F0' domain: 'f' input: 'x' output: 'y' } " + OutputText("y");
  EXPECT_THAT(Read(ModelBytes(graph, functions)), HasSubstr("too many operators"));
}

TEST(ReaderTest, SubgraphsCapture) {
  const std::string branch =
      "node { op_type: 'Add' input: ['x', 'w'] output: 't' } "
      "node { op_type: 'If' input: 'c' output: 'r' attribute { name: 'then_branch' type: 5 g { output { name: 'w' } } "
      "} "
      "  attribute { name: 'else_branch' type: 5 g { node { op_type: 'Relu' input: 't' output: 'q' } output { name: "
      "'q' } } } } "
      "output { name: 'r' }";
  const std::string graph = InputText("x", {"dim_value: 2"}) + InputText("c", {}, 9) +
                            "initializer { name: 'w' dims: 2 data_type: 1 float_data: [1, 2] } "
                            "node { op_type: 'If' name: 'if' input: 'c' output: 'y' "
                            "attribute { name: 'then_branch' type: 5 g { " +
                            branch +
                            " } } "
                            "attribute { name: 'else_branch' type: 5 g { output { name: 'x' } } } } " +
                            OutputText("y");
  const Result<Graph> read = ReadOnnx(ModelBytes(graph), "m");
  ASSERT_TRUE(read.ok()) << read.status().message();
  const Op& op = read->ops[0];
  std::vector<std::string> captures;
  for (const TensorId id : op.captures) captures.push_back(read->tensor(id).name);
  EXPECT_EQ(Join(captures, " "), "x x w c");  // else_branch's first, then then_branch's
  const auto& then_branch = std::get<std::shared_ptr<const Graph>>(*op.attributes->Find("then_branch"));
  EXPECT_EQ(then_branch->inputs.size(), 3u);
  const Op& inner = then_branch->ops[1];
  EXPECT_EQ(inner.captures.size(), 2u);  // else: t; then: w
  EXPECT_EQ(then_branch->tensor(inner.captures[0]).name, "t");
}

TEST(ReaderTest, NewerFieldsSurvive) {
  const std::string graph =
      InputText("x", {"dim_value: 2"}) +
      "initializer { name: 'w' dims: 3 data_type: 22 raw_data: '\\361\\007' } "
      "initializer { name: 'v' dims: 5 data_type: 25 raw_data: '\\344\\001' } "
      "quantization_annotation { tensor_name: 'x' quant_parameter_tensor_names { key: 'SCALE_TENSOR' value: 's' } } "
      "node { op_type: 'Relu' input: 'x' output: 'y' metadata_props { key: 'k' value: 'v' } "
      "device_configurations { configuration_id: 'tp' sharding_spec { tensor_name: 'x' device: [0, 1] } } } " +
      OutputText("y") + OutputText("w") + OutputText("v");
  const Result<Graph> read =
      ReadOnnx(ModelBytes(graph, "opset_import { version: 99 } configuration { name: 'tp' num_devices: 2 }"), "m");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->tensor(read->outputs[1]).literal->ints, (std::vector<int64_t>{1, -1, 7}));
  EXPECT_EQ(read->tensor(read->outputs[2]).literal->ints, (std::vector<int64_t>{0, 1, 2, 3, 1}));
  ASSERT_EQ(read->ops[0].metadata.size(), 2u);
  EXPECT_THAT(read->ops[0].metadata[1].second, HasSubstr("configuration_id: \"tp\""));
  const std::string dump = Dump(*read);
  EXPECT_THAT(dump, HasSubstr("onnx.quantization_annotation"));
  EXPECT_THAT(dump, HasSubstr("onnx.device_configuration"));
}

TEST(ReaderTest, Errors) {
  struct ReaderRow {
    std::string graph;
    std::string expected;
  };
  const std::string x = InputText("x", {"dim_value: 2"});
  const ReaderRow rows[] = {
      {x + "node { op_type: 'Relu' input: 'z' output: 'y' } " + OutputText("y"), "reads \"z\", which nothing defines"},
      {x + "node { op_type: 'Relu' input: 'x' output: 'y' } node { op_type: 'Abs' input: 'x' output: 'y' } ",
       "\"y\" is defined twice"},
      {x + "node { op_type: 'Relu' input: 'b' output: 'a' } node { op_type: 'Relu' input: 'a' output: 'b' } ", "cycle"},
      {x + "node { input: 'x' output: 'y' } ", "without an operator type"},
      {"initializer { name: 'w' dims: -2 data_type: 1 } ", "a dimension of size -2"},
      {"initializer { name: 'w' dims: [4611686018427387904, 16] data_type: 1 } ", "too large"},
      {"initializer { name: 'w' dims: 2 data_type: 1 raw_data: 'abc' } ",
       "needs 8 entries of raw_data (bytes), and has 3"},
      {"initializer { name: 'w' dims: 3 data_type: 7 int64_data: [1, 2] } ",
       "needs 3 entries of int64_data, and has 2"},
      {"initializer { name: 'w' dims: 2 data_type: 77 } ", "element type 77 is unknown"},
      {"initializer { name: 'w' dims: 2 data_type: 1 data_location: 1 } ", "external data without a location"},
  };
  for (const ReaderRow& row : rows) EXPECT_THAT(Read(ModelBytes(row.graph)), HasSubstr(row.expected));
  EXPECT_THAT(Read(ModelBytes(x + "node { op_type: 'GRU' input: 'x' output: 'y' } ", "opset_import { version: 6 }")),
              HasSubstr("GRU of opset 6 is too old"));
  EXPECT_THAT(Read(ModelBytes(x + "node { op_type: 'Relu' input: 'x' output: 'y' } ", "")), HasSubstr("opset_import"));
  EXPECT_THAT(Read("no model"), HasSubstr("m.onnx: not an ONNX model"));
  EXPECT_THAT(Read(""), HasSubstr("without a graph"));
}

// Small values in external data are read where they are at hand, and only those.
TEST(ReaderTest, ExternalValues) {
  const auto tensor = [](std::string_view name, int64_t size, int dtype, std::string_view more) {
    return StrCat("initializer { name: '", name, "' dims: ", size, " data_type: ", dtype, " data_location: 1 ",
                  "external_data { key: 'location' value: 'm.data' } ", more, "} output { name: '", name, "' } ");
  };
  const std::string graph = tensor("shape", 2, 7, "external_data { key: 'offset' value: '8' } ") +
                            tensor("large", 2000, 1, "") + tensor("text", 1, 8, "") +
                            tensor("other", 2, 7, "external_data { key: 'length' value: '4' } ");
  int asked = 0;
  const auto read = [&](bool there) {
    return ReadOnnx(ModelBytes(graph), "m", [&, there](const DataReference& place, int64_t bytes) {
      ++asked;
      EXPECT_EQ(place, (DataReference{"m.data", 8, -1}));
      EXPECT_EQ(bytes, 16);
      return there ? std::optional(std::string("\4\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0", 16)) : std::nullopt;
    });
  };
  const Result<Graph> found = read(true);
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_NE(found->tensor(found->outputs[0]).literal, nullptr);
  EXPECT_EQ(found->tensor(found->outputs[0]).literal->ints, (std::vector<int64_t>{4, 7}));
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(found->tensor(found->outputs[i]).literal, nullptr);
  EXPECT_EQ(asked, 1);
  const Result<Graph> absent = read(false);
  ASSERT_TRUE(absent.ok());
  EXPECT_EQ(absent->tensor(absent->outputs[0]).literal, nullptr);
}

// Indices too many to keep: what they say is kept where it is a grid, from the file and from beside it.
TEST(ReaderTest, LargeIndicesOnAGrid) {
  constexpr int64_t kRows = 60, kColumns = 100;
  std::string bytes, escaped;
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    const int64_t value = 7 + i / kColumns * 300 + i % kColumns;
    for (int byte = 0; byte < 8; ++byte) bytes.push_back(static_cast<char>(value >> (8 * byte) & 0xff));
  }
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    for (const int shift : {6, 3, 0}) {
      if (shift == 6) escaped.push_back('\\');
      escaped.push_back(static_cast<char>('0' + (byte >> shift & 7)));
    }
  }
  const std::string start = StrCat("dims: ", kRows, " dims: ", kColumns, " data_type: 7 ");
  const Result<Graph> graph =
      ReadOnnx(ModelBytes(StrCat("initializer { name: 'inside' ", start, "raw_data: '", escaped,
                                 "' } initializer { name: 'beside' ", start,
                                 "data_location: 1 external_data { key: 'location' value: 'm.data' } } ",
                                 "output { name: 'inside' } output { name: 'beside' } ")),
               "m", [&](const DataReference&, int64_t size) {
                 EXPECT_EQ(size, static_cast<int64_t>(bytes.size()));
                 return std::optional(bytes);
               });
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  for (const TensorId output : graph->outputs) {
    const Tensor& tensor = graph->tensor(output);
    EXPECT_EQ(tensor.literal, nullptr) << tensor.name;
    ASSERT_NE(tensor.strided, nullptr) << tensor.name;
    EXPECT_EQ(*tensor.strided, (StridedInts{7, {300, 1}})) << tensor.name;
  }
}

// Whatever a file was cut or changed to: a graph or an error, no crash.
TEST(ReaderTest, DamagedFiles) {
  const std::string good =
      ModelBytes(InputText("x", {"dim_param: 'n'"}) +
                 "initializer { name: 'w' dims: 2 data_type: 1 float_data: [1, 2] } "
                 "node { op_type: 'If' input: 'x' output: 'y' attribute { name: 'then_branch' type: 5 "
                 "g { node { op_type: 'Add' input: ['x', 'w'] output: 't' } output { name: 't' } } } } " +
                 OutputText("y"));
  for (size_t length = 0; length < good.size(); ++length) {
    const Result<Graph> graph = ReadOnnx(std::string_view(good).substr(0, length), "m");
    if (!graph.ok()) {
      EXPECT_EQ(graph.status().code(), Code::kBadInput);
    }
  }
  uint64_t seed = 1;
  for (int round = 0; round < 20000; ++round) {
    std::string bad = good;
    for (int changes = 0; changes < 3; ++changes) {
      seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
      bad[(seed >> 33) % bad.size()] = static_cast<char>(seed >> 24);
    }
    const Result<Graph> graph = ReadOnnx(bad, "m");
    if (!graph.ok()) {
      EXPECT_EQ(graph.status().code(), Code::kBadInput);
    }
    (void)LooksLikeOnnx(bad);
  }
}

TEST(ReaderTest, DeepNestingIsAnError) {
  sbp_onnx::Model model;
  model.set_ir_version(8);
  sbp_onnx::Graph* graph = model.mutable_graph();
  for (int i = 0; i < 300; ++i) {
    sbp_onnx::Node* node = graph->add_node();
    node->set_op_type("If");
    graph = node->add_attribute()->mutable_g();
  }
  EXPECT_THAT(Read(model.SerializeAsString()), HasSubstr("m.onnx: "));
}

TEST(LooksLikeOnnxTest, Rows) {
  EXPECT_TRUE(LooksLikeOnnx(ModelBytes("name: 'g'")));
  const std::string bytes = ModelBytes(InputText("x", {"dim_value: 2"}));
  EXPECT_TRUE(LooksLikeOnnx(std::string_view(bytes).substr(0, bytes.size() - 8)));  // cut off
  for (const std::string_view text :
       {"", "{\"format\": \"sbp_plan.graph.v1\"}", "format: \"sbp_plan.graph.v1\"", "\x08\x08", "PK\x03\x04"}) {
    EXPECT_FALSE(LooksLikeOnnx(text)) << text;
  }
  EXPECT_FALSE(LooksLikeOnnx("\x0a\x11sbp_plan.graph.v1\x3a\x02\x08\x01"));  // field 1 of type bytes
}

TEST(WireTest, SmallModelsAreNotCopied) {
  const Result<std::optional<std::string>> same =
      onnx::LeavePayloadsInFile(ModelBytes(InputText("x", {"dim_value: 2"})));
  ASSERT_TRUE(same.ok());
  EXPECT_FALSE(same->has_value());
}

}  // namespace
}  // namespace sbp
