// OpGraphs: what an op's program puts into a GPU's stream, kept as one graph for when the op runs again on the same
// memory, as it does in the micro-batches and steps that follow: one launch instead of one for each kernel.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "gpu/gpu.h"
#include "kernel/view.h"
#include "runtime/execute/device_runtime.h"
#include "runtime/execute/local_program.h"

namespace sbp {

// Of one stream, used by one thread. Whether a graph pays is measured, by the host's time to start the op with it and
// without: it is dropped where it does not.
class OpGraphs : public ProgramReplay {
 public:
  using Clock = std::function<double()>;  // seconds
  explicit OpGraphs(gpu::Stream& stream, Clock clock = SteadyClock) : stream_(stream), clock_(std::move(clock)) {}

  static double SteadyClock() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  Status Run(const void* op, const LocalProgram& program, std::span<const TensorView> operands,
             std::span<TensorView> results, const std::function<Status()>& work) override;
  void Clear() override {
    entries_.clear();
    places_.clear();
  }

  // Of graphs, so far.
  int64_t launches() const { return launches_; }

 private:
  struct Entry {
    double seconds = 0, graph_seconds = 0;  // the shortest start without and with the graph
    int starts = 0, graph_starts = 0;
    bool settled = false;  // no graph, or it is known to pay
    bool uses_graph = false;
    std::unique_ptr<gpu::Graph> graph;
    std::vector<TensorView> results;
  };
  Status RunPlain(Entry& entry, const std::function<Status()>& work);
  Status Capture(Entry& entry, std::span<TensorView> results, const std::function<Status()>& work);
  Status RunGraph(Entry& entry, std::span<TensorView> results);

  gpu::Stream& stream_;
  const Clock clock_;
  // By op, program and the addresses of operands and results.
  std::map<std::vector<const void*>, Entry> entries_;
  std::map<const void*, int> places_;  // how many entries each op has
  int64_t launches_ = 0;
};

}  // namespace sbp
