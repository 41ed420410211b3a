// The fused attention of GPUs' libraries against the op's expansion on the CPU, in f32, and what is declined.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/text.h"
#include "runtime/data/parts.h"
#include "runtime/run/compare.h"
#include "support/gpu_device.h"
#include "unit/runtime/graphs.h"
#include "unit/runtime/one_op.h"

namespace sbp {
namespace {

constexpr int64_t kEveryDevice = 1000;

struct Case {
  std::vector<std::string> operands;  // of the 16-bit type where none is given: "T[2, 4]"
  std::string attributes;
  std::string mesh = "x=1";
  std::string signature;
  int64_t fused = kEveryDevice;  // on so many devices, the first ones
};

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

class AttentionTest : public testing::TestWithParam<DType> {
 protected:
  OneOp OpOf(const Case& c, const std::string& type) const {
    OneOp op{"Attention", {}, c.attributes, c.mesh, c.signature};
    for (const std::string& operand : c.operands) op.operands.push_back(Replaced(operand, "T", type));
    return op;
  }

  // The same numbers, rounded to `dtype` first where they are to be of another one.
  std::vector<double> Numbers(const TensorType& type) {
    std::vector<double> values;
    std::uniform_int_distribution<int> eighths(-16, 16);
    for (int64_t i = 0; i < type.num_elements(); ++i) {
      const int n = eighths(random_);
      if (type.dtype == DType::kBool) {
        values.push_back(n > -8);
      } else {
        values.push_back(n / 8.0);
      }
    }
    return values;
  }

  // The whole result in f32, by the CPU.
  static Value Expected(const Graph& graph, const std::vector<Value>& operands) {
    LocalCompiler compiler(TestRules(), Mesh());
    Signature whole;
    whole.inputs.resize(operands.size());
    whole.outputs.resize(1);
    const PreparedOp op = PrepareOp(graph, graph.ops[0], whole, 0, &compiler).value();
    std::vector<TensorView> views;
    for (const Value& operand : operands) views.push_back(operand.view);
    const TensorType& type = graph.tensor(graph.ops[0].outputs[0]).type;
    Value result = MakeTensor(type.dtype, type.shape).value();
    std::vector<TensorView> results{result.view};
    const Status status = OpRunner(compiler, {{}}).Run(op, views, results);
    EXPECT_TRUE(status.ok()) << status.message();
    return result;
  }

  static Value PartOf(const Value& whole, const NdSbp& layout, const Mesh& mesh, const std::vector<int64_t>& at) {
    Value part;
    part.view = PartView(whole.view.dtype, whole.view.shape, layout, mesh, at, nullptr);
    part.memory = AllocateBytes(part.view.bytes());
    part.view.data = part.memory.get();
    ChangeLocally(whole.view, NdSbp(mesh.num_axes()), layout, at, part.view);
    return part;
  }

  TensorView OnDevice(const Value& part) {
    TensorView view = part.view;
    if (view.present()) view.data = gpu_.Put(part.view.data, part.view.bytes());
    return view;
  }

  void Check(const Case& c, const std::function<void(size_t, std::vector<double>&)>& change = nullptr) {
    SCOPED_TRACE(StrCat(Join(c.operands, ", "), " ", c.attributes, " ", c.signature));
    const std::string name(DTypeName(GetParam()));
    const Graph graph = GraphOf(OpOf(c, name)), wide = GraphOf(OpOf(c, "f32"));
    std::vector<Value> operands, wide_operands;
    for (size_t i = 0; i < c.operands.size(); ++i) {
      operands.emplace_back();
      wide_operands.emplace_back();
      if (c.operands[i].empty()) continue;
      const TensorType type = ParseTensorType(Replaced(c.operands[i], "T", name)).value();
      std::vector<double> values = Numbers(type);
      if (change) change(i, values);
      operands[i] = TestTensor(type.dtype, type.shape, values);
      wide_operands[i] = TestTensor(type.dtype == GetParam() ? DType::kF32 : type.dtype, type.shape, values);
    }
    const Value expected = Expected(wide, wide_operands);
    const Mesh mesh = ParseMesh(c.mesh).value();
    const Signature signature = c.signature.empty() ? WholeSignature(operands.size(), mesh)
                                                    : ParseSignature(c.signature, mesh.num_axes()).value();
    for (int64_t d = 0; d < mesh.num_devices(); ++d) {
      const std::vector<int64_t> at = mesh.Coordinates(d);
      KernelCall call;
      call.attributes = graph.ops[0].attributes.get();
      call.stream = gpu_.stream.get();
      for (size_t i = 0; i < operands.size(); ++i) {
        call.inputs.push_back(operands[i].present() ? OnDevice(PartOf(operands[i], signature.inputs[i], mesh, at))
                                                    : TensorView());
      }
      const Value part = PartOf(expected, signature.outputs[0], mesh, at);
      Value zeros = MakeTensor(GetParam(), part.view.shape).value();
      zeros.view.ranges = part.view.ranges;
      zeros.view.whole = part.view.whole;
      call.outputs.push_back(OnDevice(zeros));
      const KernelRow* const row = gpu_.kernels->Find("Attention", GetParam());
      ASSERT_NE(row, nullptr);
      const Result<bool> declines = row->declines(call);
      ASSERT_TRUE(declines.ok()) << declines.status().message();
      const Status status = row->run(call);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(call.declined, *declines);
      // A GPU's library may lack more than the host's device does.
      if (d >= c.fused || gpu_.kernels == &HostKernels()) {
        ASSERT_EQ(call.declined, d >= c.fused) << "device " << d;
      }
      if (!call.declined) ExpectNear(call.outputs[0], part, zeros);
      gpu_.Reset();
    }
  }

 private:
  static Signature WholeSignature(size_t operands, const Mesh& mesh) {
    Signature signature;
    signature.inputs.assign(operands, NdSbp(mesh.num_axes()));
    signature.outputs.assign(1, NdSbp(mesh.num_axes()));
    return signature;
  }

  void ExpectNear(const TensorView& on_device, const Value& expected, Value& actual) {
    gpu_.Take(on_device.data, actual.view.data, actual.view.bytes());
    const double tolerance = GetParam() == DType::kF16 ? 2e-3 : 1.6e-2;
    const std::vector<double> numbers = NumbersOf(actual).value();
    const std::vector<double> wanted = NumbersOf(expected).value();
    for (size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_NEAR(numbers[i], wanted[i], tolerance * std::max(1.0, std::abs(wanted[i]))) << "element " << i;
    }
  }

  TestGpu gpu_ = OpenTestGpu();
  std::mt19937_64 random_{5};
};

TEST_P(AttentionTest, HeadsApartAndPacked) {
  Check({{"T[2, 4, 16, 8]", "T[2, 4, 24, 8]", "T[2, 4, 24, 16]"}, ""});
  Check({{"T[2, 4, 16, 8]", "T[2, 2, 24, 8]", "T[2, 2, 24, 8]"}, "\"scale\": 0.25"});
  Check({{"T[2, 16, 32]", "T[2, 24, 16]", "T[2, 24, 32]"}, "\"q_num_heads\": 4, \"kv_num_heads\": 2"});
}

TEST_P(AttentionTest, MasksOfEveryForm) {
  Check({{"T[2, 4, 16, 8]", "T[2, 2, 16, 8]", "T[2, 2, 16, 8]"}, "\"is_causal\": 1"});
  Check({{"T[2, 4, 8, 8]", "T[2, 2, 24, 8]", "T[2, 2, 24, 8]"}, "\"is_causal\": 1"});
  for (const char* mask :
       {"[8, 24]", "[1, 8, 24]", "[4, 8, 24]", "[2, 1, 8, 24]", "[1, 4, 8, 24]", "[2, 4, 8, 24]", "[2, 1, 1, 24]"}) {
    for (const char* type : {"T", "bool"}) {
      Check({{"T[2, 4, 8, 8]", "T[2, 4, 24, 8]", "T[2, 4, 24, 8]", StrCat(type, mask)}, ""});
      Check({{"T[2, 4, 8, 8]", "T[2, 2, 24, 8]", "T[2, 2, 24, 8]", StrCat(type, mask)}, "\"is_causal\": 1"});
    }
  }
}

// Queries that see nothing give zeros, by the mask alone or together with the order.
TEST_P(AttentionTest, RowsWithoutAKey) {
  const auto hide_rows = [](size_t operand, std::vector<double>& values) {
    if (operand != 3) return;
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t query = i / 24 % 8, key = i % 24;
      if (query == 3 || (query == 5 && key <= 5)) values[i] = -HUGE_VAL;
    }
  };
  for (const char* mask : {"T[8, 24]", "T[2, 4, 8, 24]", "T[4, 8, 24]", "T[2, 1, 8, 24]"}) {
    Check({{"T[2, 4, 8, 8]", "T[2, 2, 24, 8]", "T[2, 2, 24, 8]", mask}, ""}, hide_rows);
    Check({{"T[2, 4, 8, 8]", "T[2, 2, 24, 8]", "T[2, 2, 24, 8]", mask}, "\"is_causal\": 1"}, hide_rows);
    Check({{"T[2, 8, 32]", "T[2, 24, 16]", "T[2, 24, 16]", mask}, "\"q_num_heads\": 4, \"kv_num_heads\": 2"},
          hide_rows);
  }
}

// Long enough for whole blocks of a kernel's keys to be hidden; the lowest number counts for more than -inf.
TEST_P(AttentionTest, HiddenKeysBeforeThoseThatAreSeen) {
  const double lowest = GetParam() == DType::kF16 ? -65504 : -3.38953139e38;
  for (const double hidden : {-HUGE_VAL, lowest}) {
    Check({{"T[1, 1, 4, 8]", "T[1, 1, 512, 8]", "T[1, 1, 512, 8]", "T[4, 512]"}, ""},
          [&](size_t operand, std::vector<double>& values) {
            for (size_t i = 0; operand == 3 && i < values.size(); ++i) {
              if (i % 512 < 256) values[i] = hidden;
            }
          });
  }
  Check({{"T[1, 1, 2, 8]", "T[1, 1, 16, 8]", "T[1, 1, 16, 8]", "T[2, 16]"}, ""},
        [&](size_t operand, std::vector<double>& values) {
          for (size_t i = 0; operand == 3 && i < values.size(); ++i) values[i] = i % 16 < 4 ? lowest : -HUGE_VAL;
        });
}

TEST_P(AttentionTest, PartsOfADevice) {
  const std::vector<std::string> apart{"T[4, 4, 16, 8]", "T[4, 2, 16, 8]", "T[4, 2, 16, 8]"};
  const std::vector<std::string> packed{"T[4, 16, 32]", "T[4, 16, 16]", "T[4, 16, 16]"};
  const std::string heads = "\"q_num_heads\": 4, \"kv_num_heads\": 2, \"is_causal\": 1";
  Check({apart, "\"is_causal\": 1", "x=2", "S(0), S(0), S(0) -> S(0)"});
  Check({apart, "\"is_causal\": 1", "x=2", "S(1), S(1), S(1) -> S(1)"});
  Check({apart, "", "x=2", "S(2), B, B -> S(2)"});
  Check({packed, heads, "x=2", "S(2), S(2), S(2) -> S(2)"});
  std::vector<std::string> masked = apart;
  masked.push_back("T[4, 4, 16, 16]");
  Check({masked, "\"is_causal\": 1", "x=2", "S(1), S(1), S(1), S(1) -> S(1)"});
  Check({masked, "", "x=2", "S(2), B, B, S(2) -> S(2)"});
}

TEST_P(AttentionTest, DeclinesWhatTheLibraryDoesNotHave) {
  const std::vector<std::string> plain{"T[2, 4, 16, 8]", "T[2, 2, 16, 8]", "T[2, 2, 16, 8]"};
  Check({plain, "\"softcap\": 2.0", "x=1", "", 0});
  Check({plain, "\"left_window_size\": 3", "x=1", "", 0});
  Check({{"T[2, 4, 16, 6]", "T[2, 2, 16, 6]", "T[2, 2, 16, 6]"}, "", "x=1", "", 0});
  Check({{"T[2, 4, 16, 8]", "T[2, 2, 16, 8]", "T[2, 2, 16, 8]", "T[16, 8]"}, "", "x=1", "", 0});
  // The second device's queries see more keys than the first's.
  Check({plain, "\"is_causal\": 1", "x=2", "S(2), B, B -> S(2)", 1});
}

INSTANTIATE_TEST_SUITE_P(Types, AttentionTest, testing::Values(DType::kF16, DType::kBF16),
                         [](const auto& info) { return std::string(DTypeName(info.param)); });

}  // namespace
}  // namespace sbp
