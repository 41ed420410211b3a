// GPU kernels against the CPU's: every row of instances.txt whose op has a GPU kernel, in every element type of the
// row, whole and for every candidate on small meshes part by part. Runs on a GPU where there is one.
#include <gtest/gtest.h>

#include <iostream>
#include <set>

#include "base/text.h"
#include "support/gpu_compare.h"
#include "support/rule_cases.h"

namespace sbp::reference {
namespace {

constexpr DType kEveryType[] = {
    DType::kF32,      DType::kF64,        DType::kF16,    DType::kBF16,       DType::kI8,
    DType::kI16,      DType::kI32,        DType::kI64,    DType::kU8,         DType::kU16,
    DType::kU32,      DType::kU64,        DType::kBool,   DType::kC64,        DType::kC128,
    DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ, DType::kF8E8M0,
    DType::kF4E2M1,   DType::kI4,         DType::kU4,     DType::kI2,         DType::kU2};

// The row with another type in the place of that of its operand `like`: where data, not indices or sizes, have it.
std::optional<RuleCase> Retyped(const RuleCase& c, DType type) {
  RuleCase other = c;
  if (c.op.rfind("Random", 0) == 0) {
    other.attributes.Set("dtype", static_cast<int64_t>(type));
    return other;
  }
  const size_t like = c.op == "Where" ? 1 : 0;
  if (c.operands.size() <= like) return std::nullopt;
  const DType old = c.operands[like].type.dtype;
  if (old == type) return other;
  if (c.operands[like].value) return std::nullopt;
  for (size_t i = like; i < other.operands.size(); ++i) {
    RuleCase::Operand& o = other.operands[i];
    if (!o.present || o.type.dtype != old || o.value) continue;
    if (i > like && (o.bound > 0 || !o.data.empty()) && c.operands[like].bound == 0) continue;  // indices
    o.type.dtype = type;
  }
  return other;
}

TensorView ViewOf(DType type, const Piece& piece) {
  TensorView view;
  view.dtype = type;
  view.shape = piece.local();
  view.whole = piece.global;
  view.ranges = piece.ranges;
  return view;
}

class Runner {
 public:
  explicit Runner(const RuleSet& rules) : rules_(rules) {}

  void Run(const RuleCase& c, DType type) {
    const auto instance = rules_.Instantiate(QueryOf(c));
    if (!instance.ok()) return;  // not among the op's types
    const DType deciding = c.operands.empty() ? (*instance)->results[0].dtype : c.operands[0].type.dtype;
    if (FindKernel(c.op, deciding) == nullptr || compare_.kernels().Find(c.op, deciding) == nullptr) return;
    SCOPED_TRACE(StrCat("instances.txt:", c.line, ": ", c.text, " as ", DTypeName(type)));
    tried.insert({c.op, deciding});
    std::mt19937_64 random(c.line);
    std::vector<Array> whole;
    for (const auto& o : c.operands) whole.push_back(o.present ? MakeData(o, random) : Array());
    if ((c.op == "Div" || c.op == "Mod") && !IsFloat(deciding)) {
      for (double& v : whole[1].values) v = v == 0 ? 3 : v;
    }
    for (const bool on_host : {false, true}) RunCall(c, WholeCall(c, **instance, whole), on_host);
    const bool common = type == DType::kF32 || type == DType::kI64;
    for (const char* mesh_text : {"2", "3", "a=2,b=2"}) {
      if (!common && mesh_text[0] != '3') continue;
      const Mesh mesh = ParseMesh(mesh_text).value();
      for (const Candidate& candidate : MakeCandidates(*instance, mesh).candidates)
        RunCandidate(c, **instance, candidate, mesh, whole, random);
      if (testing::Test::HasFailure()) return;
    }
  }

  int executed = 0;
  std::set<std::pair<std::string, DType>> tried;

 private:
  void RunCall(const RuleCase& c, const Call& call, bool on_host) {
    std::vector<GpuOperand> inputs;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      inputs.emplace_back();
      if (!call.has(i)) continue;
      inputs.back() = {ViewOf(call.in(i).dtype, call.input_pieces[i]), call.in(i).values};
    }
    std::vector<TensorView> outputs;
    for (size_t r = 0; r < call.result_types.size(); ++r)
      outputs.push_back(ViewOf(call.result_types[r], call.result_pieces[r]));
    compare_.Run(c.op, *call.attributes, inputs, outputs, on_host);
    ++executed;
  }

  void RunCandidate(const RuleCase& c, const RuleInstance& instance, const Candidate& candidate, const Mesh& mesh,
                    const std::vector<Array>& whole, std::mt19937_64& random) {
    SCOPED_TRACE(StrCat("mesh ", ToString(mesh), ": ", ToString(candidate.signature)));
    const Signature& signature = candidate.signature;
    std::vector<std::vector<Array>> parts(whole.size());  // operand, device
    std::vector<HaloWidths> halos;
    for (size_t i = 0; i < whole.size(); ++i) {
      halos.push_back(HaloOf(instance.map, candidate, i, {}));
      if (c.operands[i].present)
        parts[i] = Shard(whole[i], signature.inputs[i], mesh, random, c.operands[i].domain, halos[i]);
    }
    for (int64_t device = 0; device < mesh.num_devices(); ++device) {
      Call call = WholeCall(c, instance, whole);
      for (size_t i = 0; i < whole.size(); ++i) {
        if (!c.operands[i].present) continue;
        call.inputs[i] = &parts[i][device];
        call.input_pieces[i] = PieceOf(whole[i].shape, signature.inputs[i], mesh, device, halos[i]);
      }
      for (size_t r = 0; r < instance.results.size(); ++r)
        call.result_pieces[r] = PieceOf(instance.results[r].shape, signature.outputs[r], mesh, device);
      RunCall(c, call, device % 2 == 0);
    }
  }

  const RuleSet& rules_;
  GpuCompare compare_;
};

TEST(GpuKernelDifferential, EveryPartEqualsTheCpus) {
  const auto rules = RuleSet::Builtin();
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  Runner runner(*rules);
  for (const RuleCase& c : ReadRuleCases(std::string(SBP_SOURCE_DIR) + "/rules/instances.txt")) {
    for (const DType type : kEveryType) {
      const auto retyped = Retyped(c, type);
      if (retyped) runner.Run(*retyped, type);
    }
  }
  const GpuKernels& kernels = *OpenTestGpu().kernels;
  for (const KernelRow& row : kernels.rows) {
    if (row.may_decline()) continue;  // no kernel of the CPU: tests/unit/kernel_gpu compares it with the expansion
    for (const DType type : kEveryType) {
      // What the rules do not let these be asked for: tests/unit/kernel_gpu has them.
      if (row.op == "ConstantOfShape" || row.op == "Range" || (IsComplex(type) && row.types.has(DType::kF32))) continue;
      EXPECT_TRUE(!row.types.has(type) || runner.tried.count({std::string(row.op), type}) == 1)
          << row.op << " has a kernel for " << DTypeName(type) << " but no row";
    }
  }
  std::cout << runner.executed << " calls of " << runner.tried.size() << " ops and types executed\n";
}

}  // namespace
}  // namespace sbp::reference
