// Backend: where the devices of a plan run: one file and one row of all_backends.cc each. What runs there (ShardedRun)
// and when (RunActors) is the same for all that move data.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/actors/actor_engine.h"
#include "runtime/actors/actor_graph.h"
#include "runtime/exchange/communicator.h"
#include "runtime/execute/device_runtime.h"
#include "runtime/processes/launch.h"
#include "runtime/processes/machine.h"
#include "sbp/mesh.h"

namespace sbp {

// What users may ask of a backend; those that it does not concern do not look.
struct BackendOptions {
  int ranks_per_gpu = 1;    // so many processes share a GPU
  bool allow_tf32 = false;  // products of f32 on GPUs may round their operands to tf32
  bool use_graphs = true;   // ops of several kernels on GPUs become CUDA graphs where that is measured to pay
  int64_t patience = 300;   // seconds that a GPU may be silent before the run is ended: longer than any one task
  RunIdentity identity;     // what all processes must have alike
};

// What a device says of its memory: what each phase of a run took, in order.
struct DeviceMemory {
  struct Phase {
    std::string name;
    int64_t bytes = 0;  // negative: more was free afterwards
  };
  std::vector<Phase> phases;  // empty: the devices are threads
  int64_t total_bytes = 0, free_bytes = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;  // its row's

  // Virtual time alone: nothing is computed, and nothing below but Claim and Finish is called.
  virtual bool is_virtual() const { return false; }

  // Processes that run this plan together, all of which call what follows in one order. One of them leads: it has all
  // results in the end, runs the reference, prints and writes files.
  virtual int num_processes() const { return 1; }
  virtual bool leads() const { return true; }

  // A process may run several plans, one after the other: each begins with these two.
  //
  // The positions of the mesh that run in this process, ascending. Errors: more devices than there are (kRunFailed);
  // another number of processes than devices (kUsage).
  virtual Result<std::vector<int64_t>> Claim(const Mesh& mesh) = 0;
  // Handles for the devices that Claim gave.
  virtual Result<MeshCommunicators> Connect(const Mesh& mesh) = 0;
  // The devices behind these handles, in their order; they live as long as the backend. Empty: each is HostRuntime().
  virtual std::vector<DeviceRuntime*> runtimes() { return {}; }
  // Runs an actor graph on these devices: all of it is done when this returns, and spans are when it was.
  virtual EngineResult RunActors(const ActorGraph& graph, TaskRunner& runner, const EngineOptions& options) {
    return sbp::RunActors(graph, runner, options);
  }
  // What the devices are, after Connect: "NVIDIA H100 80GB HBM3 (CUDA 13.0, ...), 4 devices, mpirun"; "": threads.
  virtual std::string devices() { return ""; }
  // Of this process's first device, since the mark before; the first two are made by Connect.
  virtual Status MarkMemory(std::string_view /*phase*/) { return OkStatus(); }
  virtual DeviceMemory memory() const { return {}; }
  // Is it so in any process? All come here before any goes on. After Connect.
  virtual Result<bool> Any(bool mine) { return mine; }
  // The bytes of every process at the one that leads, in the order of their devices; nothing elsewhere. After Connect.
  virtual Result<std::vector<std::string>> Gather(std::string_view mine) { return std::vector{std::string(mine)}; }

  // What the process that leads says, at every process. After Connect.
  virtual Result<std::string> Share(std::string mine) { return mine; }
  // So many devices there are here, where nobody says: cores, ranks, GPUs.
  virtual Result<int64_t> CountDevices() { return NumCores(); }
  // What calibration measures here; `devices` are those of this host.
  virtual Result<Machine> DescribeMachine(int64_t devices) { return ThisHost(devices); }
  // The host of each process, by rank. Called by all.
  virtual Result<std::vector<std::string>> Hosts() { return std::vector{HostName()}; }

  // The last call: how this process fared. Waits for the others, however long they take. Returns the failure of any of
  // them, with a message at the process that leads alone. Where it cannot return, because another process does not end,
  // `last_words` is called before this one does.
  using LastWords = std::function<void(const Status& failure)>;
  virtual Status Finish(const Status& status, const LastWords& /*last_words*/) { return status; }
};

struct BackendRow {
  std::string_view name;    // as in --backend
  std::string_view doc;     // "threads are the devices"
  bool own_ranks = false;   // without a launcher, a run of several devices starts a process for each (own_ranks.h)
  bool has_gpus = false;    // the options of GPUs concern it
  bool is_virtual = false;  // as its backends say
  // Once a process. Error (kUsage): not in this build, with what to install.
  Result<std::unique_ptr<Backend>> (*start)(const BackendOptions& options) = nullptr;
};
std::span<const BackendRow> AllBackends();  // the first one is the default
// Null: no row has this name.
inline const BackendRow* FindBackend(std::string_view name) {
  for (const BackendRow& row : AllBackends()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// Error (kUsage): no row has this name; the row's own.
Result<std::unique_ptr<Backend>> StartBackend(std::string_view name, const BackendOptions& options = {});

// Rows.
Result<std::unique_ptr<Backend>> StartThreadBackend(const BackendOptions& options);
Result<std::unique_ptr<Backend>> StartFakeBackend(const BackendOptions& options);
Result<std::unique_ptr<Backend>> StartMpiBackend(const BackendOptions& options);
Result<std::unique_ptr<Backend>> StartCudaBackend(const BackendOptions& options);

}  // namespace sbp
