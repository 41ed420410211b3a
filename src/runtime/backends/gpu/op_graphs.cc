#include "runtime/backends/gpu/op_graphs.h"

#include <algorithm>

#include "base/status.h"
#include "kernel/view.h"
#include "runtime/execute/local_program.h"

namespace sbp {
namespace {

constexpr size_t kLeastKernels = 2;
constexpr int kStarts = 3;       // without a graph before one is made, the first of which counts for nothing
constexpr int kGraphStarts = 3;  // with it, before it is judged
constexpr int kMostPlaces = 16;  // register copies and the like; an op that is always elsewhere keeps no graphs

// Does the host have no part in it?
bool IsOnDeviceAlone(const LocalProgram& program) {
  size_t kernels = 0;
  for (const LocalStep& step : program.steps) {
    if (step.on_host) return false;
    kernels += step.kernel != nullptr && step.kernel->may_decline() ? kLeastKernels : 1;  // a library starts several
  }
  return kernels >= kLeastKernels && !program.data_dependent;
}

}  // namespace

Status OpGraphs::Run(const void* op, const LocalProgram& program, std::span<const TensorView> operands,
                     std::span<TensorView> results, const std::function<Status()>& work) {
  if (!IsOnDeviceAlone(program)) return work();
  std::vector<const void*> key{op, &program};
  for (const TensorView& operand : operands) key.push_back(operand.data);
  for (const TensorView& result : results) key.push_back(result.data);
  auto found = entries_.find(key);
  if (found == entries_.end()) {
    if (places_[op] == kMostPlaces) return work();
    ++places_[op];
    found = entries_.try_emplace(std::move(key)).first;
  }
  Entry& entry = found->second;
  if (entry.uses_graph) return RunGraph(entry, results);
  if (entry.settled) return work();
  if (entry.starts < kStarts) return RunPlain(entry, work);
  SBP_RETURN_IF_ERROR(Capture(entry, results, work));
  return entry.uses_graph ? RunGraph(entry, results) : work();
}

Status OpGraphs::RunPlain(Entry& entry, const std::function<Status()>& work) {
  const double start = clock_();
  SBP_RETURN_IF_ERROR(work());
  const double seconds = clock_() - start;
  if (entry.starts == 1 || (entry.starts > 1 && seconds < entry.seconds)) entry.seconds = seconds;
  ++entry.starts;
  return OkStatus();
}

// A failure on the way (something that no graph can hold) leaves nothing done: then there is no graph. What fails
// without it too will say so.
Status OpGraphs::Capture(Entry& entry, std::span<TensorView> results, const std::function<Status()>& work) {
  entry.settled = !stream_.BeginGraph().ok();
  if (entry.settled) return OkStatus();
  const Status put = work();
  Result<std::unique_ptr<gpu::Graph>> graph = stream_.EndGraph();
  entry.settled = !put.ok() || !graph.ok();
  if (entry.settled) return OkStatus();
  entry.graph = std::move(graph).value();
  entry.results.assign(results.begin(), results.end());
  entry.uses_graph = true;
  return OkStatus();
}

Status OpGraphs::RunGraph(Entry& entry, std::span<TensorView> results) {
  const double start = entry.settled ? 0 : clock_();
  SBP_RETURN_IF_ERROR(stream_.Launch(*entry.graph));
  std::copy(entry.results.begin(), entry.results.end(), results.begin());
  ++launches_;
  if (entry.settled) return OkStatus();
  const double seconds = clock_() - start;
  if (entry.graph_starts == 0 || seconds < entry.graph_seconds) entry.graph_seconds = seconds;
  if (++entry.graph_starts < kGraphStarts) return OkStatus();
  entry.settled = true;
  entry.uses_graph = entry.graph_seconds < entry.seconds;
  if (!entry.uses_graph) entry.graph.reset();  // CUDA keeps what the stream is at until it is done
  return OkStatus();
}

}  // namespace sbp
