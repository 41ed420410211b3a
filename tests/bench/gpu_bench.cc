// What the runtime adds to CUDA and NCCL, on real GPUs. Prints one JSON object a line.
//
//   mpirun -n N gpu-bench collectives [RANKS_PER_GPU]     our collectives against a bare loop of NCCL's
//   gpu-bench tasks                                       seconds a task of a chain of small ones
//   gpu-bench attention                                   the library's fused kernel against the op's expansion
//
// Exit code 5 where there is no GPU.
#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>

#include "base/text.h"
#include "bench_plans.h"
#include "runtime/backends/gpu/gpu_backend.h"
#include "runtime/backends/gpu/gpu_communicator.h"
#include "runtime/run/plan_run.h"

namespace sbp {
namespace {

using Clock = std::chrono::steady_clock;

Status NcclStatus(ncclResult_t result) {
  return result == ncclSuccess ? OkStatus() : RunFailed(ncclGetErrorString(result));
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// One rank: its handle of ours, NCCL's own of the same ranks, and buffers that both use.
class Rank {
 public:
  Status Setup(const BackendOptions& options, int size) {
    SBP_ASSIGN_OR_RETURN(backend_, StartBackend("cuda", options));
    SBP_ASSIGN_OR_RETURN(const Mesh mesh, ParseMesh(StrCat(size)));
    SBP_RETURN_IF_ERROR(backend_->Claim(mesh).status());
    SBP_ASSIGN_OR_RETURN(handles_, backend_->Connect(mesh));
    gpu_ = static_cast<GpuBackend&>(*backend_).gpus()[0];
    stream_ = gpu_->communication.get();
    SBP_ASSIGN_OR_RETURN(source_, gpu_->device->Allocate(kMost));
    SBP_ASSIGN_OR_RETURN(target_, gpu_->device->Allocate(kMost));
    SBP_RETURN_IF_ERROR(stream_->Zero(source_.get(), kMost));
    return ConnectBare();
  }

  int rank() const { return handles_[0].all->rank(); }
  int size() const { return handles_[0].all->size(); }
  bool leads() const { return backend_->leads(); }
  const std::string& devices() const { return devices_; }

  // Seconds of one call, of a loop that ends when the device has done all of it.
  Result<double> Time(const std::function<Status()>& call, int calls) {
    SBP_RETURN_IF_ERROR(stream_->Synchronize());
    SBP_RETURN_IF_ERROR(ours().Barrier());
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < calls; ++i) SBP_RETURN_IF_ERROR(call());
    SBP_RETURN_IF_ERROR(stream_->Synchronize());
    return std::chrono::duration<double>(Clock::now() - start).count() / calls;
  }

  static constexpr int64_t kMost = int64_t{256} << 20;
  Communicator& ours() { return *handles_[0].all; }
  TensorView View(const gpu::Buffer& buffer, int64_t elements, Range range) const {
    TensorView view = WholeView(DType::kF32, {range.size()}, buffer.get());
    view.whole = {elements};
    view.ranges = {range};
    return view;
  }
  Range PartOf(int64_t elements, int r) const { return {elements / size() * r, elements / size() * (r + 1)}; }

  // Of `bytes` as a whole tensor.
  Status Ours(std::string_view what, int64_t bytes) {
    const int64_t n = bytes / 4 / size() * size();
    const Range all{0, n}, mine = PartOf(n, rank());
    std::vector<Box> parts, columns, rows, whole(static_cast<size_t>(size()), Box{all});
    for (int r = 0; r < size(); ++r) parts.push_back({PartOf(n, r)});
    if (what == "all-reduce") return ours().AllReduce(ReduceKind::kSum, View(source_, n, all), View(target_, n, all));
    if (what == "all-gather") return ours().AllGather(View(source_, n, mine), View(target_, n, all), parts);
    if (what == "reduce-scatter") {
      return ours().ReduceScatter(ReduceKind::kSum, View(source_, n, all), View(target_, n, mine), parts);
    }
    // all-to-all: rows of a square to columns; what is sent has to be packed.
    const int64_t side = n / size() / size() * size();
    const auto view = [&](const gpu::Buffer& buffer, const Box& box) {
      TensorView v = WholeView(DType::kF32, {box[0].size(), box[1].size()}, buffer.get());
      v.whole = {size(), side};
      v.ranges = box;
      return v;
    };
    for (int r = 0; r < size(); ++r) {
      rows.push_back({{r, r + 1}, {0, side}});
      columns.push_back({{0, size()}, PartOf(side, r)});
    }
    return ours().AllToAll(view(source_, rows[rank()]), view(target_, columns[rank()]), rows, columns);
  }

  Status Bare(std::string_view what, int64_t bytes) {
    const auto n = static_cast<size_t>(bytes / 4 / size() * size()), part = n / static_cast<size_t>(size());
    const auto cuda = static_cast<cudaStream_t>(stream_->native());
    const void* from = source_.get();
    void* to = target_.get();
    if (what == "all-reduce") return NcclStatus(ncclAllReduce(from, to, n, ncclFloat32, ncclSum, bare_, cuda));
    if (what == "all-gather") return NcclStatus(ncclAllGather(from, to, part, ncclFloat32, bare_, cuda));
    if (what == "reduce-scatter") {
      return NcclStatus(ncclReduceScatter(from, to, part, ncclFloat32, ncclSum, bare_, cuda));
    }
    const size_t piece = part / static_cast<size_t>(size());
    SBP_RETURN_IF_ERROR(NcclStatus(ncclGroupStart()));
    for (int r = 0; r < size(); ++r) {
      const size_t offset = static_cast<size_t>(r) * piece * 4;
      SBP_RETURN_IF_ERROR(NcclStatus(ncclSend(source_.get() + offset, piece, ncclFloat32, r, bare_, cuda)));
      SBP_RETURN_IF_ERROR(NcclStatus(ncclRecv(target_.get() + offset, piece, ncclFloat32, r, bare_, cuda)));
    }
    return NcclStatus(ncclGroupEnd());
  }

  Status Finish(const Status& status) { return backend_->Finish(status, {}); }

 private:
  // NCCL's id goes to the others by a collective of ours.
  Status ConnectBare() {
    devices_ = backend_->devices();
    ncclUniqueId id{};
    if (leads()) SBP_RETURN_IF_ERROR(NcclStatus(ncclGetUniqueId(&id)));
    const auto bytes = static_cast<int64_t>(sizeof id);
    TensorView mine = WholeView(DType::kU8, {bytes}, source_.get()), first = mine;
    first.data = target_.get();
    std::vector<Box> from(static_cast<size_t>(size()), Box{{0, 0}}), to(static_cast<size_t>(size()), Box{{0, bytes}});
    from[0] = {{0, bytes}};
    mine.ranges = from[rank()];
    mine.shape = {mine.ranges[0].size()};
    SBP_RETURN_IF_ERROR(stream_->UploadNow(reinterpret_cast<const std::byte*>(&id), source_.get(), bytes));
    SBP_RETURN_IF_ERROR(ours().Exchange(mine, first, from, to));
    SBP_RETURN_IF_ERROR(stream_->Download(target_.get(), reinterpret_cast<std::byte*>(&id), bytes));
    SBP_RETURN_IF_ERROR(stream_->Synchronize());
    return NcclStatus(ncclCommInitRank(&bare_, size(), id, rank()));
  }

  std::unique_ptr<Backend> backend_;
  MeshCommunicators handles_;
  GpuDevice* gpu_ = nullptr;
  gpu::Stream* stream_ = nullptr;
  gpu::Buffer source_, target_;
  ncclComm_t bare_ = nullptr;
  std::string devices_;
};

// Ours and the bare loop in turn, the median of each.
// Ranks that share a GPU are outside of what NCCL supports: small sizes alone.
Status BenchCollectives(Rank& rank, bool shares_gpu) {
  constexpr int64_t kMostShared = int64_t{1} << 20;
  constexpr int kRepeats = 9;
  for (const std::string_view what : {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"}) {
    for (const int64_t bytes : {int64_t{1} << 16, int64_t{1} << 20, int64_t{1} << 24, int64_t{1} << 28}) {
      if (shares_gpu && bytes > kMostShared) continue;
      const int calls = bytes > (1 << 20) ? 5 : 50;
      std::vector<double> ours, bare;
      for (int i = 0; i <= kRepeats; ++i) {
        SBP_ASSIGN_OR_RETURN(const double own, rank.Time([&] { return rank.Ours(what, bytes); }, calls));
        SBP_ASSIGN_OR_RETURN(const double theirs, rank.Time([&] { return rank.Bare(what, bytes); }, calls));
        if (i == 0) continue;  // buffers and connections are made
        ours.push_back(own);
        bare.push_back(theirs);
      }
      if (!rank.leads()) continue;
      std::cout << StrCat("{\"bench\": \"", what, "\", \"bytes\": ", bytes, ", \"ranks\": ", rank.size(),
                          ", \"seconds\": ", Median(ours), ", \"bare_seconds\": ", Median(bare),
                          ", \"ratio\": ", Median(bare) / Median(ours), "}")
                << std::endl;
    }
  }
  return OkStatus();
}

Result<RunReport> RunOnce(const Plan& plan, const RuleSet& rules, const PlanRunOptions& options,
                          const BackendOptions& on) {
  SBP_ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend, StartBackend("cuda", on));
  TensorStore store(plan.graph, plan.graph, 0, DataReader());
  Result<PlanRun> run = RunPlanOn(plan, rules, store, *backend, options);
  SBP_RETURN_IF_ERROR(backend->Finish(run.status(), {}));
  return std::move(run->report);
}

// From the first to the last of many small tasks: the host's part where it is slower than the device, else the
// device's.
Status BenchTasks(std::string_view op, bool use_graphs) {
  constexpr int kOps = 200, kRepeats = 5;
  constexpr uint32_t kMicroBatches = 50;
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, RuleSet::Builtin());
  const Plan plan = TinyPlan(rules, "1", kOps, op);
  std::vector<double> seconds;
  for (int i = 0; i < kRepeats; ++i) {
    SBP_ASSIGN_OR_RETURN(
        const RunReport report,
        RunOnce(plan, rules, {.micro_batches = kMicroBatches, .reference = false}, {.use_graphs = use_graphs}));
    seconds.push_back(report.measured_seconds / (kOps * kMicroBatches));
  }
  std::cout << StrCat("{\"bench\": \"task\", \"op\": \"", op, "\", \"graphs\": ", use_graphs ? "true" : "false",
                      ", \"seconds\": ", Median(seconds), "}")
            << std::endl;
  return OkStatus();
}

// One attention as the library's fused kernel (where it declines, both are the expansion) and as its expansion, in
// turn: medians of warm steps.
Status BenchAttention(DType dtype) {
  constexpr int64_t kPositions = 4096;
  constexpr int kRounds = 5;
  constexpr uint32_t kSteps = 10;
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, RuleSet::Builtin());
  std::array<std::vector<double>, 2> seconds;
  for (int i = 0; i < kRounds; ++i) {
    for (const bool expanded : {false, true}) {
      const Plan plan = AttentionPlan(rules, dtype, kPositions, expanded);
      SBP_ASSIGN_OR_RETURN(const RunReport report, RunOnce(plan, rules, {.reference = false, .repeats = kSteps}, {}));
      seconds[expanded ? 1 : 0].push_back(report.comparison->measured.median);
    }
  }
  const double fused = Median(seconds[0]), expanded = Median(seconds[1]);
  std::cout << StrCat("{\"bench\": \"attention against its expansion\", \"dtype\": \"", DTypeName(dtype),
                      "\", \"shape\": \"16x", kPositions, "x128\", \"seconds\": ", fused,
                      ", \"bare_seconds\": ", expanded, ", \"ratio\": ", expanded / fused, "}")
            << std::endl;
  return OkStatus();
}

Status Run(const std::vector<std::string>& words) {
  if (words.size() == 1 && words[0] == "attention") {
    SBP_RETURN_IF_ERROR(BenchAttention(DType::kF16));
    return BenchAttention(DType::kBF16);
  }
  if (words.size() == 1 && words[0] == "tasks") {
    SBP_RETURN_IF_ERROR(BenchTasks("Relu", true));      // one kernel
    SBP_RETURN_IF_ERROR(BenchTasks("Softmax", false));  // several
    return BenchTasks("Softmax", true);
  }
  if (words.empty() || words[0] != "collectives")
    return UsageError("gpu-bench collectives [RANKS_PER_GPU] | tasks | attention");
  const char* ranks = std::getenv("OMPI_COMM_WORLD_SIZE");
  BackendOptions options;
  if (words.size() > 1) options.ranks_per_gpu = std::atoi(words[1].c_str());
  Rank rank;
  SBP_RETURN_IF_ERROR(rank.Setup(options, ranks != nullptr ? std::atoi(ranks) : 1));
  if (rank.leads()) {
    std::cout << StrCat("{\"bench\": \"devices\", \"what\": \"", rank.devices(), "\"}") << std::endl;
  }
  return rank.Finish(BenchCollectives(rank, options.ranks_per_gpu > 1));
}

}  // namespace
}  // namespace sbp

int main(int argc, char** argv) {
  const sbp::Status status = sbp::Run({argv + 1, argv + argc});
  if (!status.ok() && !status.message().empty()) std::cerr << "error: " << status.message() << "\n";
  return status.ok() ? 0 : static_cast<int>(status.code());
}
