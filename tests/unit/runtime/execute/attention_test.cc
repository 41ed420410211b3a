// The CPU's kernels of attention against the ops' expansions, over more rows and keys than a tile has.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/text.h"
#include "decompose/decompose.h"
#include "graph/builder.h"
#include "kernel/convert.h"
#include "runtime/execute/interpreter.h"
#include "runtime/run/tensor_store.h"
#include "unit/runtime/graphs.h"

namespace sbp {
namespace {

struct Case {
  std::string q, k, v, mask, lengths;  // types; "": absent
  std::vector<std::pair<std::string, AttributeValue>> attributes;
  std::vector<double> length_values = {};
  bool hides_rows = false;  // the mask hides every third row of queries
  std::string sink = "";
};

const Case kCases[] = {
    {"T[1,2,1,3,5]", "T[1,2,7,5]", "T[1,2,7,3]", "", "", {{"scale", 0.5}}},
    {"T[2,1,3,67,9]", "T[2,1,131,9]", "T[2,1,131,5]", "", "", {{"scale", 0.3}}},
    {"T[1,2,1,300,8]", "T[1,2,300,8]", "T[1,2,300,8]", "", "", {{"is_causal", int64_t{1}}, {"scale", 0.3}}},
    {"T[1,1,2,129,4]", "T[1,1,260,4]", "T[1,1,260,7]", "", "", {{"is_causal", int64_t{1}}, {"past", int64_t{131}}}},
    {"T[1,1,2,65,4]", "T[1,1,257,4]", "T[1,1,257,7]", "bool[1,1,1,65,257]", "", {{"scale", -1.5}}, {}, true},
    {"T[2,2,2,65,4]", "T[2,2,129,4]", "T[2,2,129,7]", "T[2,1,1,65,129]", "", {{"softcap", 2.0}}, {}, true},
    {"T[1,2,2,70,4]", "T[1,2,140,4]", "T[1,2,140,7]", "T[1,2,2,1,140]", "", {}, {}},
    {"T[1,1,1,200,6]",
     "T[1,1,200,6]",
     "T[1,1,200,6]",
     "",
     "",
     {{"left_window_size", int64_t{3}}, {"right_window_size", int64_t{40}}}},
    // The first queries of a sequence that is shorter than they are see nothing.
    {"T[3,1,2,70,4]", "T[3,1,150,4]", "T[3,1,150,4]", "", "i64[3]", {{"is_causal", int64_t{1}}}, {150, 20, 0}},
    {"T[1,2,3,70,4]", "T[1,2,150,4]", "T[1,2,150,4]", "", "", {{"is_causal", int64_t{1}}}, {}, false, "T[2,3]"},
    {"T[1,2,3,70,4]", "T[1,2,150,4]", "T[1,2,150,4]", "T[1,1,1,70,150]", "", {}, {}, true, "T[1,1]"},
};

std::string Replaced(std::string text, std::string_view type) {
  return text.starts_with("T") ? StrCat(type, text.substr(1)) : text;
}

class FlashTest : public testing::TestWithParam<const char*> {
 protected:
  Value Numbers(const TensorType& type) {
    std::vector<double> values;
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < type.num_elements(); ++i) values.push_back(normal(random_));
    return TestTensor(type.dtype, type.shape, values);
  }

  Value Mask(const TensorType& type, bool hides_rows) {
    std::vector<double> values;
    const int64_t keys = type.shape[4], queries = type.shape[3];
    for (int64_t i = 0; i < type.num_elements(); ++i) {
      const bool hidden = (hides_rows && i / keys % queries % 3 == 1) || random_() % 4 == 0;
      const double shown = type.dtype == DType::kBool ? 1 : static_cast<double>(random_() % 8) / 4;
      values.push_back(!hidden ? shown : type.dtype == DType::kBool ? 0 : -HUGE_VAL);
    }
    return TestTensor(type.dtype, type.shape, values);
  }

  static std::vector<double> Doubles(const Value& value) {
    Value wide = MakeTensor(DType::kF64, value.view.shape).value();
    Convert(value.view.dtype, value.view.data, ElementBytes(value.view.dtype), DType::kF64, wide.view.data, 8,
            value.view.elements());
    return std::vector<double>(wide.view.as<double>(), wide.view.as<double>() + wide.view.elements());
  }

  static std::vector<Value> RunGraph(const Graph& graph, std::vector<Value> inputs) {
    LocalCompiler compiler(TestRules(), Mesh());
    Interpreter interpreter(
        compiler, {.parameter = [](const Graph& of, TensorId id) { return MakeTensor(*of.tensor(id).literal); },
                   .seen = nullptr});
    Result<std::vector<Value>> results = interpreter.Run(graph, std::move(inputs));
    EXPECT_TRUE(results.ok()) << results.status().message();
    return results.ok() ? *std::move(results) : std::vector<Value>();
  }

  // One op on these operands (absent ones not present) by its kernel, compared with its expansion. The results.
  std::vector<Value> Check(const std::string& op, const std::vector<Value>& operands, const Attributes& attributes,
                           size_t results, double tolerance) {
    OpQuery query{.type = op, .attributes = &attributes};
    query.wanted.assign(results, true);
    GraphBuilder builder("one");
    std::vector<std::string> inputs, outputs;
    std::vector<Value> given;
    for (const Value& operand : operands) {
      const bool present = operand.view.present();
      const TensorType type{operand.view.dtype, operand.view.shape};
      query.operands.push_back({present, present ? type : TensorType(), nullptr});
      inputs.push_back(present ? StrCat("x", inputs.size()) : "");
      if (!present) continue;
      builder.AddInput(inputs.back(), type);
      given.push_back(operand);
    }
    const RuleInstanceRef instance = TestRules().Instantiate(query).value();
    for (size_t r = 0; r < results; ++r) {
      outputs.push_back(StrCat("y", r));
      builder.DescribeTensor(outputs.back(), instance->results[r]);
      builder.AddOutput(outputs.back());
    }
    builder.AddOp(op, "op", inputs, outputs, attributes);
    std::vector<Value> own = RunGraph(builder.Build("one").value(), given);
    const std::vector<Value> expanded = RunGraph(ExpandOp(query, TestRules()).value(), given);
    for (size_t r = 0; r < own.size() && r < expanded.size(); ++r) {
      const std::vector<double> a = Doubles(own[r]), b = Doubles(expanded[r]);
      double largest = 1, worst = 0;
      for (size_t i = 0; i < a.size(); ++i) {
        if (std::isinf(b[i]) && a[i] == b[i]) continue;  // of a row without a key
        EXPECT_TRUE(std::isfinite(a[i])) << op << " result " << r << " at " << i;
        largest = std::max(largest, std::abs(b[i]));
        worst = std::max(worst, std::abs(a[i] - b[i]));
      }
      EXPECT_LE(worst, tolerance * largest) << op << " result " << r;
    }
    return own;
  }

  std::mt19937_64 random_{7};
};

TEST_P(FlashTest, KernelsComputeWhatExpansionsDo) {
  const std::string type = GetParam();
  const double tolerance = type == "f64" ? 1e-13 : type == "f32" ? 4e-6 : 0.05;
  for (const Case& c : kCases) {
    SCOPED_TRACE(StrCat(c.q, " ", c.k, " ", c.mask, c.lengths));
    const auto type_of = [&](const std::string& text) { return ParseTensorType(Replaced(text, type)).value(); };
    std::vector<Value> operands{Numbers(type_of(c.q)), Numbers(type_of(c.k)), Numbers(type_of(c.v)), Value(), Value()};
    if (!c.mask.empty()) operands[3] = Mask(type_of(c.mask), c.hides_rows);
    if (!c.lengths.empty()) operands[4] = TestTensor(DType::kI64, type_of(c.lengths).shape, c.length_values);
    Attributes attributes;
    for (const auto& [name, value] : c.attributes) attributes.Set(name, value);
    Attributes forward = attributes;
    if (type == "f64") forward.Set("stash_type", int64_t{11});
    std::vector<Value> with_sink = operands;
    if (!c.sink.empty()) with_sink.push_back(Numbers(type_of(c.sink)));
    std::vector<Value> results = Check("sbp::FlashAttention", with_sink, forward, 2, tolerance);
    ASSERT_EQ(results.size(), 2u);
    const TensorType of_y{results[0].view.dtype, results[0].view.shape};
    operands.insert(operands.end(), {results[0], results[1], Numbers(of_y)});
    operands.push_back(Numbers({results[1].view.dtype, results[1].view.shape}));
    Check("sbp::FlashAttentionGrad", operands, attributes, 3, tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, FlashTest, testing::Values("f32", "f64", "bf16", "f16"));

// Zeros, and cotangents of 0: not a number nowhere.
TEST_F(FlashTest, RowsWithoutAKeyGiveZeros) {
  const Value q = Numbers({DType::kF32, {1, 1, 1, 4, 3}}), k = Numbers({DType::kF32, {1, 1, 5, 3}});
  const Value none = TestTensor(DType::kI64, {1}, {0});
  const Attributes attributes;
  const std::vector<Value> forward = Check("sbp::FlashAttention", {q, k, k, Value(), none}, attributes, 2, 0);
  for (const double y : Doubles(forward[0])) EXPECT_EQ(y, 0);
  for (const double log : Doubles(forward[1])) EXPECT_EQ(log, -HUGE_VAL);
  const std::vector<Value> operands{q, k, k, Value(), none, forward[0], forward[1], q};
  for (const Value& cotangent : Check("sbp::FlashAttentionGrad", operands, attributes, 3, 0)) {
    for (const double d : Doubles(cotangent)) EXPECT_EQ(d, 0);
  }
}

}  // namespace
}  // namespace sbp
