// Kernels against the library called directly, and against memory. One thread.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#ifdef SBP_HAVE_DNNL
#include <dnnl.h>
extern "C" void omp_set_num_threads(int n);
#endif

#include "kernel/kernel.h"

namespace sbp {
namespace {

// Tensors of small random floats, for one call.
class Tensors {
 public:
  TensorView Make(Shape shape, bool filled = true) {
    TensorView view = WholeView(DType::kF32, std::move(shape), nullptr);
    const size_t bytes = (static_cast<size_t>(view.bytes()) + 63) / 64 * 64;
    memory_.push_back(static_cast<std::byte*>(std::aligned_alloc(64, std::max<size_t>(bytes, 64))));
    view.data = memory_.back();
    std::mt19937 random(static_cast<unsigned>(memory_.size()));
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int64_t i = 0; i < view.elements(); ++i) view.as<float>()[i] = filled ? uniform(random) : 0;
    return view;
  }
  TensorView MakeInts(const std::vector<int64_t>& values) {
    TensorView view = Make({2 * static_cast<int64_t>(values.size())});
    view = WholeView(DType::kI64, {static_cast<int64_t>(values.size())}, view.data);
    for (size_t i = 0; i < values.size(); ++i) view.as<int64_t>()[i] = values[i];
    return view;
  }
  ~Tensors() {
    for (std::byte* data : memory_) std::free(data);
  }

 private:
  std::vector<std::byte*> memory_;
};

void Run(benchmark::State& state, const char* op, const Attributes& attributes, std::vector<TensorView> inputs,
         TensorView output) {
  Scratch scratch;
  KernelCall call;
  call.op_type = op;
  call.attributes = &attributes;
  call.inputs = std::move(inputs);
  call.outputs = {output};
  call.scratch = &scratch;
  const KernelRow* row = FindKernel(op, DType::kF32);
  for (auto _ : state) {
    if (!row->run(call).ok()) state.SkipWithError("the kernel failed");
    scratch.Reset();
    benchmark::DoNotOptimize(output.data);
  }
}

void CountFlops(benchmark::State& state, double flops) {
  state.counters["flops"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

void MatMul(benchmark::State& state) {
  const int64_t n = state.range(0);
  Tensors t;
  Run(state, "MatMul", {}, {t.Make({n, n}), t.Make({n, n})}, t.Make({n, n}));
  CountFlops(state, 2.0 * static_cast<double>(n * n * n));
}
BENCHMARK(MatMul)->Arg(64)->Arg(512)->Arg(1024);

// A convolution of 3x3 with 128 channels on 28x28.
constexpr int64_t kChannels = 128, kSide = 28;

void Conv(benchmark::State& state) {
  Attributes attributes;
  attributes.Set("pads", std::vector<int64_t>{1, 1, 1, 1});
  Tensors t;
  Run(state, "Conv", attributes, {t.Make({4, kChannels, kSide, kSide}), t.Make({kChannels, kChannels, 3, 3})},
      t.Make({4, kChannels, kSide, kSide}));
  CountFlops(state, 2.0 * 4 * kChannels * kChannels * kSide * kSide * 9);
}
BENCHMARK(Conv);

#ifdef SBP_HAVE_DNNL
void LibraryMatMul(benchmark::State& state) {
  const int64_t n = state.range(0);
  omp_set_num_threads(1);
  Tensors t;
  const TensorView a = t.Make({n, n}), b = t.Make({n, n}), c = t.Make({n, n});
  for (auto _ : state) {
    dnnl_sgemm('N', 'N', n, n, n, 1, a.as<float>(), n, b.as<float>(), n, 0, c.as<float>(), n);
    benchmark::DoNotOptimize(c.data);
  }
  CountFlops(state, 2.0 * static_cast<double>(n * n * n));
}
BENCHMARK(LibraryMatMul)->Arg(64)->Arg(512)->Arg(1024);

// The products of Conv alone, on columns that are there.
void LibraryConvProducts(benchmark::State& state) {
  omp_set_num_threads(1);
  Tensors t;
  const int64_t k = kChannels * 9, n = kSide * kSide;
  const TensorView weight = t.Make({kChannels, k}), columns = t.Make({k, n}), out = t.Make({kChannels, n});
  for (auto _ : state) {
    for (int i = 0; i < 4; ++i) {
      dnnl_sgemm('N', 'N', kChannels, n, k, 1, weight.as<float>(), k, columns.as<float>(), n, 0, out.as<float>(), n);
      benchmark::DoNotOptimize(out.data);
    }
  }
  CountFlops(state, 2.0 * 4 * kChannels * kChannels * kSide * kSide * 9);
}
BENCHMARK(LibraryConvProducts);
#endif

constexpr int64_t kLong = 1 << 24;

void CountBytes(benchmark::State& state, int64_t tensors) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * tensors * kLong * 4);
}

void Copy(benchmark::State& state) {
  Tensors t;
  const TensorView a = t.Make({kLong}), b = t.Make({kLong}, false);
  for (auto _ : state) {
    std::memcpy(b.data, a.data, static_cast<size_t>(a.bytes()));
    benchmark::DoNotOptimize(b.data);
  }
  CountBytes(state, 2);
}
BENCHMARK(Copy);

void Add(benchmark::State& state) {
  Tensors t;
  Run(state, "Add", {}, {t.Make({kLong}), t.Make({kLong})}, t.Make({kLong}, false));
  CountBytes(state, 3);
}
BENCHMARK(Add);

void Unary(benchmark::State& state, const char* op) {
  Tensors t;
  Run(state, op, {}, {t.Make({kLong})}, t.Make({kLong}, false));
  CountBytes(state, 2);
}
BENCHMARK_CAPTURE(Unary, Exp, "Exp");
BENCHMARK_CAPTURE(Unary, Tanh, "Tanh");
BENCHMARK_CAPTURE(Unary, Erf, "Erf");
BENCHMARK_CAPTURE(Unary, Sqrt, "Sqrt");

void ReduceSum(benchmark::State& state) {
  Tensors t;
  const bool inner = state.range(0) == 1;
  Run(state, "ReduceSum", {}, {t.Make({4096, 4096}), t.MakeInts({state.range(0)})},
      t.Make(inner ? Shape{4096, 1} : Shape{1, 4096}, false));
  CountBytes(state, 1);
}
BENCHMARK(ReduceSum)->Arg(0)->Arg(1);

void Transpose(benchmark::State& state) {
  Tensors t;
  Run(state, "Transpose", {}, {t.Make({4096, 4096})}, t.Make({4096, 4096}, false));
  CountBytes(state, 2);
}
BENCHMARK(Transpose);

}  // namespace
}  // namespace sbp
