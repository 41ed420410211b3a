// Kernels against the reference interpreter: every row of instances.txt whose op has a kernel, unsharded, and for
// every candidate on small meshes part by part, parts put together again.
#include "kernel/kernel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <random>
#include <set>

#include "base/text.h"
#include "decompose/primitives.h"
#include "reference/interpreter.h"
#include "support/rule_cases.h"

namespace sbp::reference {
namespace {

// Through a stored type: the operand's values as the kernel sees them.
template <typename T>
void Write(const std::vector<double>& values, std::byte* out) {
  for (size_t i = 0; i < values.size(); ++i) {
    const T v = static_cast<T>(values[i]);
    std::memcpy(out + i * sizeof(T), &v, sizeof v);
  }
}
template <typename T>
void Read(const std::byte* in, std::vector<double>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    T v;
    std::memcpy(&v, in + i * sizeof(T), sizeof v);
    values[i] = static_cast<double>(v);
  }
}

template <typename F>
void WithType(DType type, F f) {
  switch (type) {
    case DType::kF32:
      return f(float{});
    case DType::kF64:
      return f(double{});
    case DType::kI32:
      return f(int32_t{});
    case DType::kI64:
      return f(int64_t{});
    case DType::kU8:
      return f(uint8_t{});
    case DType::kBool:
      return f(uint8_t{});
    default:
      ADD_FAILURE() << "no rows of type " << DTypeName(type) << " so far";
  }
}

// Memory of one tensor, aligned.
class Buffer {
 public:
  explicit Buffer(int64_t bytes) : bytes_(static_cast<size_t>(bytes) + 64) {}
  std::byte* data() {
    const auto at = reinterpret_cast<uintptr_t>(bytes_.data());
    return bytes_.data() + (64 - at % 64) % 64;
  }

 private:
  std::vector<std::byte> bytes_;
};

TensorView ViewOf(DType type, const Piece& piece, std::vector<Buffer>& memory) {
  TensorView view;
  view.dtype = type;
  view.shape = piece.local();
  view.whole = piece.global;
  view.ranges = piece.ranges;
  memory.emplace_back(TensorView::StorageBytes(type, Elements(view.shape)));
  view.data = memory.back().data();
  return view;
}

// The kernel in the place of the reference's.
std::vector<Array> RunKernel(const KernelRow& row, const Call& call, Scratch& scratch) {
  std::vector<Buffer> memory;
  memory.reserve(call.inputs.size() + call.result_types.size());
  KernelCall run;
  run.op_type = row.op;
  run.attributes = call.attributes;
  run.seed = 7;
  run.scratch = &scratch;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    run.inputs.emplace_back();
    if (!call.has(i)) continue;
    run.inputs.back() = ViewOf(call.in(i).dtype, call.input_pieces[i], memory);
    WithType(call.in(i).dtype, [&]<typename T>(T) { Write<T>(call.in(i).values, run.inputs.back().data); });
  }
  for (size_t r = 0; r < call.result_types.size(); ++r)
    run.outputs.push_back(ViewOf(call.result_types[r], call.result_pieces[r], memory));
  const Status status = row.run(run);
  EXPECT_TRUE(status.ok()) << status.message();
  scratch.Reset();
  std::vector<Array> results;
  for (const TensorView& view : run.outputs) {
    results.emplace_back(view.dtype, view.shape);
    WithType(view.dtype, [&]<typename T>(T) { Read<T>(view.data, results.back().values); });
  }
  return results;
}

// What the kernel of a random op computes cannot be the reference's: there the whole is judged by itself.
bool IsRandom(std::string_view op) {
  const PrimitiveRow* primitive = FindPrimitive(op);
  return primitive != nullptr && primitive->kind == PrimitiveClass::kRandom;
}

// The type that decides which kernel runs.
DType TypeOf(const RuleCase& c, const RuleInstance& instance) {
  return c.operands.empty() ? instance.results[0].dtype : c.operands[0].type.dtype;
}

// Parts of unsigned numbers are unsigned too.
Domain DomainOf(const RuleCase::Operand& operand) {
  Domain domain = operand.domain;
  if (IsInteger(operand.type.dtype) && !IsSigned(operand.type.dtype)) domain.low = 0;
  return domain;
}

class Runner {
 public:
  explicit Runner(const RuleSet& rules) : rules_(rules) {}

  void Run(const RuleCase& c) {
    SCOPED_TRACE(StrCat("instances.txt:", c.line, ": ", c.text));
    const auto instance = rules_.Instantiate(QueryOf(c));
    ASSERT_TRUE(instance.ok()) << instance.status().message();
    const DType type = TypeOf(c, **instance);
    const KernelRow* row = FindKernel(c.op, type);
    // Ops that expand have kernels for some types.
    if (row == nullptr && FindPrimitive(c.op) == nullptr) return;
    ASSERT_NE(row, nullptr) << "no kernel for " << DTypeName(type);
    tried.insert(c.op);
    std::mt19937_64 random(c.line);
    std::vector<Array> whole;
    for (const auto& o : c.operands) {
      whole.push_back(o.present ? MakeData(o, random) : Array());
      if (whole.back().dtype != DType::kF32) continue;
      for (double& v : whole.back().values) v = static_cast<float>(v);
    }
    const Call call = WholeCall(c, **instance, whole);
    const std::vector<Array> computed = RunKernel(*row, call, scratch_);
    const std::vector<Array> expected = IsRandom(c.op) ? computed : Compute(FindKernel(c.op), call);
    const Mesh one = ParseMesh("1").value();
    for (size_t r = 0; r < expected.size(); ++r)
      EXPECT_EQ(CompareParts({computed[r]}, expected[r], NdSbp({Sbp::Broadcast()}), one, 2e-6), "") << "result " << r;
    for (const char* mesh_text : {"2", "3", "4", "a=2,b=2"}) {
      const Mesh mesh = ParseMesh(mesh_text).value();
      for (const Candidate& candidate : MakeCandidates(*instance, mesh).candidates)
        RunCandidate(c, *row, **instance, candidate, mesh, whole, expected, random);
    }
  }

  int executed = 0;
  std::set<std::string> tried;

 private:
  void RunCandidate(const RuleCase& c, const KernelRow& row, const RuleInstance& instance, const Candidate& candidate,
                    const Mesh& mesh, const std::vector<Array>& whole, const std::vector<Array>& expected,
                    std::mt19937_64& random) {
    SCOPED_TRACE(StrCat("mesh ", ToString(mesh), ": ", ToString(candidate.signature)));
    ++executed;
    const Signature& signature = candidate.signature;
    std::vector<std::vector<Array>> parts(whole.size());  // operand, device
    std::vector<HaloWidths> halos;
    for (size_t i = 0; i < whole.size(); ++i) {
      halos.push_back(HaloOf(instance.map, candidate, i, {}));
      if (c.operands[i].present)
        parts[i] = Shard(whole[i], signature.inputs[i], mesh, random, DomainOf(c.operands[i]), halos[i]);
    }
    std::vector<std::vector<Array>> results(expected.size());  // result, device
    for (int64_t device = 0; device < mesh.num_devices(); ++device) {
      Call call = WholeCall(c, instance, whole);
      for (size_t i = 0; i < whole.size(); ++i) {
        if (!c.operands[i].present) continue;
        call.inputs[i] = &parts[i][device];
        call.input_pieces[i] = PieceOf(whole[i].shape, signature.inputs[i], mesh, device, halos[i]);
      }
      for (size_t r = 0; r < expected.size(); ++r)
        call.result_pieces[r] = PieceOf(expected[r].shape, signature.outputs[r], mesh, device);
      const std::vector<Array> local = RunKernel(row, call, scratch_);
      for (size_t r = 0; r < expected.size(); ++r) results[r].push_back(local[r]);
    }
    for (size_t r = 0; r < expected.size(); ++r)
      EXPECT_EQ(CompareParts(results[r], expected[r], signature.outputs[r], mesh, 1e-5), "") << "result " << r;
  }

  const RuleSet& rules_;
  Scratch scratch_;
};

TEST(KernelDifferential, EveryPartEqualsTheReference) {
  const auto rules = RuleSet::Builtin();
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  Runner runner(*rules);
  for (const RuleCase& c : ReadRuleCases(std::string(SBP_SOURCE_DIR) + "/rules/instances.txt")) {
    if (FindPrimitive(c.op) != nullptr && FindPrimitive(c.op)->kind == PrimitiveClass::kControl) continue;
    if (FindKernel(c.op) == nullptr) continue;  // rows for `rules verify` alone
    runner.Run(c);
  }
  for (const KernelRow& row : AllKernels()) {
    // Ops whose results' sizes depend on data have no rows, and n-grams no reference; tests/unit/kernel has them.
    if (row.op == "NonZero" || row.op == "Unique" || row.op == "NonMaxSuppression") continue;
    if (row.op == "TfIdfVectorizer") continue;
    EXPECT_TRUE(runner.tried.count(std::string(row.op))) << row.op << " has a kernel but no row";
  }
  std::cout << runner.executed << " candidates of " << runner.tried.size() << " ops executed\n";
}

}  // namespace
}  // namespace sbp::reference
