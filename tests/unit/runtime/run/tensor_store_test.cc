// Where the values of inputs and parameters come from, and a graph in another float type.
#include "runtime/run/tensor_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/text.h"
#include "unit/runtime/graphs.h"

namespace sbp {
namespace {

using ::testing::ElementsAre;

const char* const kTwoInputs = R"(
    "inputs": [{"name": "tokens", "type": "i64[5]"}, {"name": "x", "type": "f32[3]"}],
    "parameters": [{"name": "table", "type": "f32[7,3]"}, {"name": "c", "type": "f32[3]", "literal": {"floats": [1, 2, 3]}},
                   {"name": "w", "type": "f32[2]", "data": {"location": "w.bin", "offset": 8}}],
    "ops": [{"name": "g", "type": "Gather", "inputs": ["table", "tokens"], "outputs": ["e"]},
            {"name": "a", "type": "Add", "inputs": ["x", "c"], "outputs": ["y"]},
            {"name": "n", "type": "Neg", "inputs": ["w"], "outputs": ["v"]}],
    "outputs": ["e", "y", "v"])";

struct Store {
  Graph graph;
  TensorStore store;
  explicit Store(uint64_t seed, DataReader reader = nullptr)
      : graph(MakeTestGraph(kTwoInputs)), store(graph, graph, seed, std::move(reader)) {}
  std::string Text(std::string_view name, uint32_t micro_batch = 0) {
    const Result<Value> value = store.Get(NameIndex(graph).tensor(name), micro_batch);
    return value.ok() ? ToText(*value) : value.status().message();
  }
};

TEST(TensorStore, RandomValuesFollowSeedNameAndMicroBatch) {
  Store a(1), b(1), c(2);
  for (const char* name : {"tokens", "x", "table"}) {
    EXPECT_EQ(a.Text(name), b.Text(name)) << name;
    EXPECT_NE(a.Text(name), c.Text(name)) << name;
  }
  EXPECT_NE(a.Text("x"), a.Text("x", 1));
  EXPECT_EQ(a.Text("x", 1), b.Text("x", 1));
  EXPECT_EQ(a.Text("table"), a.Text("table", 1));  // weights stay
  EXPECT_THAT(a.store.random_inputs(), ElementsAre("tokens", "x"));
  EXPECT_EQ(a.store.random_parameters(), 1);
}

TEST(TensorStore, LiteralsAndFilesComeFirst) {
  std::string asked;
  Store store(1, [&](const DataReference& place, int64_t bytes) -> Result<std::string> {
    asked = StrCat(place.location, " at ", place.offset, ": ", bytes);
    const float values[] = {0.5F, -2};
    return std::string(reinterpret_cast<const char*>(values), sizeof(values));
  });
  EXPECT_EQ(store.Text("c"), "f32[3] 1 2 3");
  EXPECT_EQ(store.Text("w"), "f32[2] 0.5 -2");
  EXPECT_EQ(asked, "w.bin at 8: 8");
  EXPECT_EQ(store.store.random_parameters(), 0);
  Store absent(1, [](const DataReference&, int64_t) -> Result<std::string> { return BadInput("not there"); });
  EXPECT_NE(absent.Text("w"), "f32[2] 0.5 -2");
  EXPECT_EQ(absent.store.random_parameters(), 1);
}

// A master: the file has the weight in the narrow type.
TEST(TensorStore, ValuesThatAreStoredNarrowAreWidened) {
  const Graph graph = MakeTestGraph(R"(
    "parameters": [{"name": "w", "type": "f32[2]", "data": {"location": "w.bin", "offset": 8, "stored": "bf16"}}],
    "ops": [{"name": "n", "type": "Neg", "inputs": ["w"], "outputs": ["v"]}], "outputs": ["v"])");
  int64_t asked = 0;
  TensorStore store(graph, graph, 1, [&](const DataReference&, int64_t bytes) -> Result<std::string> {
    asked = bytes;
    return std::string("@@@?");  // 0x4040, 0x3f40
  });
  const Result<Value> value = store.Get(NameIndex(graph).tensor("w"), 0);
  ASSERT_TRUE(value.ok()) << value.status().message();
  EXPECT_EQ(ToText(*value), "f32[2] 3 0.75");
  EXPECT_EQ(asked, 4);
}

// NumPy has no arrays of 4 and 2 bits.
TEST(TensorStore, BytesAreTakenForNarrowIntegersThatHoldThem) {
  const auto taken = [](DType from, std::string bytes, DType to) {
    const Result<Value> value = ValueFromData({"x", {from, {2, 2}}, std::move(bytes), {}}, {to, {2, 2}});
    return value.ok() ? ToText(*value) : value.status().message();
  };
  EXPECT_EQ(taken(DType::kI8, std::string("\xf8\x07\x00\xff", 4), DType::kI4), "i4[2,2] -8 7 0 -1");
  EXPECT_EQ(taken(DType::kU8, std::string("\x0f\x07\x00\x01", 4), DType::kU4), "u4[2,2] 15 7 0 1");
  EXPECT_EQ(taken(DType::kI8, std::string("\x03\x02\x00\x01", 4), DType::kU2), "u2[2,2] 3 2 0 1");
  EXPECT_EQ(taken(DType::kI8, std::string("\x01\x07\x08\x01", 4), DType::kI4), "holds 8 at [1, 0]; i4 is from -8 to 7");
  EXPECT_EQ(taken(DType::kI8, std::string("\x01\xff\x00\x01", 4), DType::kU4),
            "holds -1 at [0, 1]; u4 is from 0 to 15");
  EXPECT_EQ(taken(DType::kI16, std::string(8, '\0'), DType::kI4), "is i16[2,2]; the model wants i4[2,2]");
}

TEST(TensorStore, GivenValues) {
  Store store(1);
  ASSERT_TRUE(store.store.Give({DataFromValue("x", TestTensor(DType::kF64, {3}, {1, 2.5, 3}))}).ok());
  EXPECT_EQ(store.Text("x"), "f32[3] 1 2.5 3");
  EXPECT_EQ(store.Text("x", 1), "f32[3] 1 2.5 3");
  ASSERT_TRUE(store.store.Give({DataFromValue("c", TestTensor(DType::kF32, {3}, {9, 9, 9}))}).ok());
  EXPECT_EQ(store.Text("c"), "f32[3] 9 9 9");
  EXPECT_TRUE(store.store.random_inputs().empty());

  const auto error = [&](const std::string& name, const Value& value) {
    return store.store.Give({DataFromValue(name, value)}).message();
  };
  EXPECT_EQ(error("token", TestTensor(DType::kI64, {5}, {0, 0, 0, 0, 0})),
            "no input or parameter is named \"token\" (did you mean \"tokens\"?)");
  EXPECT_NE(error("y", TestTensor(DType::kF32, {3}, {0, 0, 0})).find("is named \"y\""), std::string::npos);
  EXPECT_EQ(error("x", TestTensor(DType::kF32, {4}, {0, 0, 0, 0})), "\"x\": is f32[4]; the model wants f32[3]");
  EXPECT_EQ(error("tokens", TestTensor(DType::kF32, {5}, {0, 0, 0, 0, 0})),
            "\"tokens\": is f32[5]; the model wants i64[5]");
  TensorData cut = DataFromValue("x", TestTensor(DType::kF32, {3}, {0, 0, 0}));
  cut.bytes.resize(8);
  EXPECT_EQ(store.store.Give({cut}).message(), "\"x\": has 8 bytes of values for f32[3]");
}

TEST(TensorStore, BitsOfBf16MayComeAsIntegers) {
  const Value bits = TestTensor(DType::kU16, {2}, {0x3f80, 0xc000});
  const auto value = ValueFromData(DataFromValue("x", bits), {DType::kBF16, {2}});
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(ToText(*value), "bf16[2] 1 -2");
  EXPECT_FALSE(ValueFromData(DataFromValue("x", bits), {DType::kF16, {2}}).ok());
}

std::vector<double> Numbers(const Value& value) {
  const Value wide = CastTo(value, DType::kF64).value();
  return {wide.view.as<double>(), wide.view.as<double>() + wide.view.elements()};
}

// Random values of tensor "t" of this type in a graph of these ops (which make "y").
std::vector<double> Drawn(const std::string& role, const std::string& type, const std::string& others,
                          const std::string& ops) {
  const Graph graph = MakeTestGraph(StrCat("\"", role, "\": [{\"name\": \"t\", \"type\": \"", type, "\"}], \"",
                                           role == "inputs" ? "parameters" : "inputs", "\": [", others, "], \"ops\": [",
                                           ops, "], \"outputs\": [\"y\"]"));
  TensorStore store(graph, graph, 3, nullptr);
  return Numbers(store.Get(NameIndex(graph).tensor("t")).value());
}

MATCHER_P2(AllWithin, low, high, "") {
  return std::all_of(arg.begin(), arg.end(), [&](double v) { return v >= low && v <= high; });
}
double Deviation(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v * v;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST(Roles, IndicesStayWithinTheirDimension) {
  const std::vector<double> rows = Drawn("inputs", "i64[400]", R"({"name": "d", "type": "f32[7,9]"})",
                                         R"({"type": "Gather", "inputs": ["d", "t"], "outputs": ["y"]})");
  EXPECT_THAT(rows, AllWithin(0.0, 6.0));
  EXPECT_EQ(*std::max_element(rows.begin(), rows.end()), 6);  // and use all of it
  EXPECT_EQ(*std::min_element(rows.begin(), rows.end()), 0);
  EXPECT_THAT(Drawn("inputs", "i32[400]", R"({"name": "d", "type": "f32[7,3]"})",
                    R"({"type": "Cast", "inputs": ["t"], "outputs": ["u"], "attributes": {"to": 7}},
                       {"type": "Gather", "inputs": ["d", "u"], "outputs": ["y"], "attributes": {"axis": -1}})"),
              AllWithin(0.0, 2.0));
  EXPECT_THAT(Drawn("inputs", "i64[50]", R"({"name": "d", "type": "f32[50,4]"})",
                    R"({"type": "SoftmaxCrossEntropyLoss", "inputs": ["d", "t"], "outputs": ["y"]})"),
              AllWithin(0.0, 3.0));
  EXPECT_THAT(Drawn("inputs", "i64[50,2]", R"({"name": "d", "type": "f32[5,2,3]"})",
                    R"({"type": "GatherND", "inputs": ["d", "t"], "outputs": ["y"]})"),
              AllWithin(0.0, 1.0));
}

TEST(Roles, MasksAreOnes) {
  EXPECT_THAT(Drawn("inputs", "i64[50]", R"({"name": "d", "type": "i64[50]"})",
                    R"({"type": "Greater", "inputs": ["t", "d"], "outputs": ["y"]})"),
              AllWithin(1.0, 1.0));
  EXPECT_THAT(Drawn("inputs", "bool[50]", R"({"name": "d", "type": "f32[50]"})",
                    R"({"type": "Where", "inputs": ["t", "d", "d"], "outputs": ["y"]})"),
              AllWithin(1.0, 1.0));
}

TEST(Roles, WeightsAreScaledByTheirFanIn) {
  const auto weight = [](const std::string& type, const std::string& x, const std::string& op) {
    return Deviation(Drawn("parameters", type, StrCat(R"({"name": "x", "type": ")", x, "\"}"), op));
  };
  EXPECT_NEAR(weight("f32[400,9]", "f32[2,400]", R"({"type": "MatMul", "inputs": ["x", "t"], "outputs": ["y"]})"), 0.05,
              0.003);
  EXPECT_NEAR(weight("f32[9,400]", "f32[2,400]",
                     R"({"type": "Gemm", "inputs": ["x", "t"], "outputs": ["y"], "attributes": {"transB": 1}})"),
              0.05, 0.003);
  EXPECT_NEAR(weight("f32[32,16,5,5]", "f32[1,16,8,8]", R"({"type": "Conv", "inputs": ["x", "t"], "outputs": ["y"]})"),
              0.05, 0.003);
}

TEST(Roles, VariancesArePositiveAndScalesNearOne) {
  const std::string others = R"({"name": "x", "type": "f32[1,99,2]"}, {"name": "s", "type": "f32[99]"})";
  const auto normalized = [&](const std::string& operands) {
    return Drawn("parameters", "f32[99]", others,
                 StrCat(R"({"type": "BatchNormalization", "inputs": [)", operands, R"(], "outputs": ["y"]})"));
  };
  EXPECT_THAT(normalized(R"("x", "s", "s", "s", "t")"), AllWithin(0.5, 1.5));
  EXPECT_THAT(normalized(R"("x", "t", "s", "s", "s")"), AllWithin(0.3, 1.7));
  EXPECT_THAT(normalized(R"("x", "s", "t", "s", "s")"), AllWithin(-0.7, 0.7));
}

TEST(Roles, EachTypeGetsItsNumbers) {
  Distribution normal;
  normal.kind = Distribution::Kind::kNormal;
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    Value value = MakeTensor(dtype, {20000}).value();  // more than one chunk
    ASSERT_TRUE(FillRandom(normal, 5, value.view).ok());
    EXPECT_NEAR(Deviation(Numbers(value)), 1, 0.05) << DTypeName(dtype);
  }
  Distribution whole;
  whole.low = -2;
  whole.high = 1;
  Value i4 = MakeTensor(DType::kI4, {999}).value();
  ASSERT_TRUE(FillRandom(whole, 5, i4.view).ok());
  EXPECT_THAT(Numbers(i4), AllWithin(-2.0, 1.0));
  // Positions decide: a longer tensor begins with the same numbers.
  Value longer = MakeTensor(DType::kI4, {2000}).value();
  ASSERT_TRUE(FillRandom(whole, 5, longer.view).ok());
  const std::vector<double> head = Numbers(i4), all = Numbers(longer);
  EXPECT_TRUE(std::equal(head.begin(), head.end(), all.begin()));
}

TEST(Retyped, ChangesFloatsEverywhere) {
  const Graph graph = Retyped(ReadTestGraph(R"(
      "inputs": [{"name": "x", "type": "f32[2]"}, {"name": "n", "type": "i64[]"}, {"name": "c", "type": "bool[]"}],
      "parameters": [{"name": "k", "type": "bf16[1]", "literal": {"floats": [2]}}],
      "ops": [{"name": "cast", "type": "Cast", "inputs": ["x"], "outputs": ["h"], "attributes": {"to": 10}},
              {"name": "count", "type": "Cast", "inputs": ["x"], "outputs": ["i"], "attributes": {"to": 7}},
              {"name": "narrow", "type": "Cast", "inputs": ["x"], "outputs": ["q"], "attributes": {"to": 17}},
              {"name": "norm", "type": "LayerNormalization", "inputs": ["h", "k"], "outputs": ["y"],
               "attributes": {"stash_type": 1, "axis": -1}},
              {"name": "default norm", "type": "LayerNormalization", "inputs": ["h", "k"], "outputs": ["y2"],
               "attributes": {"axis": -1}},
              {"name": "if", "type": "If", "inputs": ["c"], "outputs": ["z"], "captures": ["x", "x"], "attributes": {
                "then_branch": {"graph": {"inputs": [{"name": "x", "type": "f32[2]"}],
                  "ops": [{"name": "r", "type": "Cast", "inputs": ["x"], "outputs": ["r"], "attributes": {"to": 1}}],
                  "outputs": ["r"]}},
                "else_branch": {"graph": {"inputs": [{"name": "x", "type": "f32[2]"}],
                  "ops": [{"name": "r", "type": "Neg", "inputs": ["x"], "outputs": ["r"]}], "outputs": ["r"]}}}}],
      "outputs": ["y", "i", "q", "z"])"),
                              RuleSet::Builtin().value(), DType::kF64);
  const NameIndex names(graph);
  const auto type = [&](std::string_view name) { return ToString(graph.tensor(names.tensor(name)).type); };
  const auto attributes = [&](std::string_view name) { return graph.op(names.op(name)).attributes; };
  EXPECT_EQ(type("x"), "f64[2]");
  EXPECT_EQ(type("n"), "i64[]");
  EXPECT_EQ(type("k"), "f64[1]");
  EXPECT_EQ(graph.tensor(names.tensor("k")).literal->type.dtype, DType::kF64);
  EXPECT_EQ(attributes("cast")->Int("to", 0), 11);
  EXPECT_EQ(attributes("count")->Int("to", 0), 7);
  EXPECT_EQ(attributes("narrow")->Int("to", 0), 17);  // a storage type
  EXPECT_EQ(attributes("norm")->Int("stash_type", 0), 11);
  EXPECT_EQ(attributes("norm")->Int("axis", 0), -1);
  EXPECT_EQ(attributes("default norm")->Int("stash_type", 0), 11);  // its schema's default is f32
  const auto branch = std::get<std::shared_ptr<const Graph>>(*attributes("if")->Find("then_branch"));
  EXPECT_EQ(ToString(branch->tensor(branch->inputs[0]).type), "f64[2]");
  EXPECT_EQ(branch->ops[0].attributes->Int("to", 0), 11);
}

}  // namespace
}  // namespace sbp
