// The kernels of attention against the expansions of their ops, and the memory that each takes besides operands and
// results. One thread. Arguments: positions, and whether it is causal.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/text.h"
#include "graph/builder.h"
#include "kernel/kernel.h"
#include "rule/rule_set.h"
#include "runtime/execute/local_program.h"
#include "runtime/execute/op_runner.h"
#include "runtime/run/tensor_store.h"

namespace sbp {
namespace {

constexpr int64_t kHeads = 8, kSize = 64;

// The built-in rules, and the ops under another name, which no kernel has.
const RuleSet& BenchRules() {
  static const RuleSet* rules = [] {
    auto* all = new RuleSet(RuleSet::Builtin().value());
    for (const std::string op : {"FlashAttention", "FlashAttentionGrad"}) {
      std::string text = all->Find("sbp::" + op)->overloads.front().text;
      text.replace(text.find("sbp::" + op), 3, "own");
      if (!all->Add(text, op).ok()) std::abort();
    }
    return all;
  }();
  return *rules;
}

Value RandomTensor(const Shape& shape, std::mt19937& random) {
  Value value = MakeTensor(DType::kF32, shape).value();
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int64_t i = 0; i < value.view.elements(); ++i) value.view.as<float>()[i] = uniform(random);
  return value;
}

// Memory that the kernel itself takes while it runs.
int64_t ScratchOf(const LocalProgram& program, const std::vector<TensorView>& operands,
                  const std::vector<TensorView>& results) {
  if (program.steps.size() != 1) return 0;
  Scratch scratch;
  KernelCall call;
  call.attributes = program.steps[0].attributes.get();
  call.inputs = operands;
  call.outputs = results;
  call.scratch = &scratch;
  if (!program.steps[0].kernel->run(call).ok()) std::abort();
  return scratch.capacity();
}

void RunOp(benchmark::State& state, const std::string& op, const std::vector<Shape>& operands,
           const std::vector<Shape>& results) {
  std::mt19937 random(1);
  GraphBuilder builder("one");
  std::vector<std::string> inputs, outputs;
  std::vector<Value> values;
  std::vector<TensorView> given, made;
  for (const Shape& shape : operands) {
    inputs.push_back(shape.empty() ? "" : StrCat("x", inputs.size()));
    values.push_back(shape.empty() ? Value() : RandomTensor(shape, random));
    given.push_back(values.back().view);
    if (!shape.empty()) builder.AddInput(inputs.back(), {DType::kF32, shape});
  }
  for (const Shape& shape : results) {
    outputs.push_back(StrCat("y", outputs.size()));
    builder.DescribeTensor(outputs.back(), {DType::kF32, shape});
    values.push_back(MakeTensor(DType::kF32, shape).value());
    made.push_back(values.back().view);
    builder.AddOutput(outputs.back());
  }
  Attributes attributes;
  attributes.Set("scale", 0.125);
  attributes.Set("is_causal", state.range(1));
  builder.AddOp(op, "op", inputs, outputs, attributes);
  const Graph graph = builder.Build("one").value();
  LocalCompiler compiler(BenchRules(), Mesh());
  Signature whole;
  whole.inputs.resize(operands.size());
  whole.outputs.resize(results.size());
  const PreparedOp prepared = PrepareOp(graph, graph.ops[0], whole, 0, &compiler).value();
  OpRunner runner(compiler, {{}});
  for (auto _ : state) {
    if (!runner.Run(prepared, given, made).ok()) state.SkipWithError("it failed");
    benchmark::DoNotOptimize(made[0].data);
  }
  const int64_t scratch = ScratchOf(*prepared.program, given, made);
  state.counters["bytes"] = static_cast<double>(prepared.program->workspace_bytes + scratch);
}

void FlashAttention(benchmark::State& state, const std::string& name) {
  const int64_t n = state.range(0);
  const Shape heads{1, kHeads, 1, n, kSize}, keys{1, kHeads, n, kSize};
  RunOp(state, name, {heads, keys, keys}, {heads, {1, kHeads, 1, n}});
}
#define SBP_POSITIONS Args({128, 0})->Args({1024, 0})->Args({1024, 1})->Args({4096, 1})->Unit(benchmark::kMillisecond)
BENCHMARK_CAPTURE(FlashAttention, kernel, "sbp::FlashAttention")->SBP_POSITIONS;
BENCHMARK_CAPTURE(FlashAttention, expansion, "own::FlashAttention")->SBP_POSITIONS;

void FlashAttentionGrad(benchmark::State& state, const std::string& name) {
  const int64_t n = state.range(0);
  const Shape heads{1, kHeads, 1, n, kSize}, keys{1, kHeads, n, kSize}, logs{1, kHeads, 1, n};
  RunOp(state, name, {heads, keys, keys, {}, {}, heads, logs, heads}, {heads, keys, keys});
}
BENCHMARK_CAPTURE(FlashAttentionGrad, kernel, "sbp::FlashAttentionGrad")->SBP_POSITIONS;
BENCHMARK_CAPTURE(FlashAttentionGrad, expansion, "own::FlashAttentionGrad")->SBP_POSITIONS;

}  // namespace
}  // namespace sbp
