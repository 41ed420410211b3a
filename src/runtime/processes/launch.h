// Launch: the processes of one run that somebody started together, and what they tell each other besides tensors. One
// implementation each for mpirun, for the variables that torchrun sets, and for a process alone.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sbp {

class Launch {
 public:
  virtual ~Launch() = default;

  virtual std::string_view name() const = 0;  // "mpirun", "torchrun", "one process"
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // The bytes of every process, by rank. Called by all, in one order, by one thread at a time; waits for the others as
  // long as they live. Error: the run's failure.
  virtual Result<std::vector<std::string>> AllGather(std::string_view mine) = 0;
  // The same, for rank 0 alone; the others get nothing.
  virtual Result<std::vector<std::string>> Gather(std::string_view mine) = 0;

  // The run has failed: tells every other process, once. Thread-safe, like the next two.
  virtual void Abort(const Status& failure) = 0;
  // The first failure that this process knows of, and that another process told. Both look for news.
  virtual Status status() = 0;
  virtual Status failure_elsewhere() = 0;

  // As Backend::Finish.
  using LastWords = std::function<void(const Status& failure)>;
  virtual Status Finish(const Status& status, const LastWords& last_words) = 0;
};

// What the environment says of how this process was started: with the variables of torchrun (RANK, WORLD_SIZE,
// MASTER_ADDR, MASTER_PORT); by mpirun of Open MPI, MPICH or one with PMI; else alone. Error (kUsage): some of
// torchrun's variables and not all, or values that are no numbers; launched by MPI and built without.
struct RunIdentity {
  std::string version;  // of sbp-plan
  std::string plan;     // what tells this plan from others; "": not looked at
};
Result<std::unique_ptr<Launch>> JoinLaunch(const RunIdentity& identity = {});
// Has a launcher started this process, as one of several or of one?
bool HasLauncher();

// Rows of JoinLaunch.
std::unique_ptr<Launch> AloneLaunch();
Result<std::unique_ptr<Launch>> MpiLaunch();

// Of processes that reach each other by TCP. Rank 0 serves the others, on one address and to none but these
// (tcp/greeting.h).
struct TcpPlace {
  int rank = 0, size = 1;
  std::string host;  // of rank 0, as the others reach it
  // torchrun's agent may hold the port itself for its own store: rank 0 takes the first free one of the next
  // kTcpPorts, and the others try these in turn until one answers as rank 0 of a run of this size does.
  int port = 0;
  // Who knows it is of this run. Under torchrun what SBP_RUN_SECRET holds at every process; without it, what torchrun
  // calls the run (TORCHELASTIC_RUN_ID), which keeps two runs apart and is no secret.
  std::string secret;
  std::string version, plan;  // as RunIdentity's
  std::string name = "torchrun";
  int listener = -1;       // of rank 0: a socket that listens already
  bool only_port = false;  // rank 0 has `port` itself, and no other one
};
inline constexpr int kTcpPorts = 16;
// Waits for the others, for a minute. Error (kRunFailed): who did not come, or was refused and why; no port is free.
Result<std::unique_ptr<Launch>> TcpLaunch(const TcpPlace& place);

}  // namespace sbp
