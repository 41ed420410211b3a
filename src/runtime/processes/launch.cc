// How this process was started: the environment is read here and nowhere else.
#include "runtime/processes/launch.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <optional>

#include "base/text.h"
#include "runtime/processes/own_ranks.h"
#include "runtime/processes/tcp/socket.h"

namespace sbp {
namespace {

class Alone : public Launch {
 public:
  std::string_view name() const override { return "one process"; }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  Result<std::vector<std::string>> AllGather(std::string_view mine) override { return std::vector{std::string(mine)}; }
  Result<std::vector<std::string>> Gather(std::string_view mine) override { return AllGather(mine); }
  void Abort(const Status& failure) override {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = failure;
  }
  Status status() override {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  Status failure_elsewhere() override { return OkStatus(); }
  Status Finish(const Status& status, const LastWords&) override { return status; }

 private:
  std::mutex mutex_;
  Status failure_;
};

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// What MPI's launchers tell their processes.
bool LaunchedByMpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK", "MPI_LOCALRANKID"}) {
    if (!Variable(name).empty()) return true;
  }
  return false;
}

// A name may mean this machine alone here and not elsewhere: /etc/hosts often has it so for a machine's own.
Status CheckReach(const TcpPlace& place) {
  const std::optional<int64_t> here = ParseInt(Variable("LOCAL_WORLD_SIZE"));
  if (!here || *here >= place.size || !Socket::IsLoopback(place.host)) return OkStatus();
  return UsageError(StrCat("MASTER_ADDR is ", Quote(place.host), ", which only processes of this machine reach, but ",
                           place.size - *here, " of ", place.size, " run elsewhere; give the address of rank 0"));
}

// Run by ourselves (own_ranks.h): a secret, and a socket that rank 0 inherits.
void TakeSecret(TcpPlace& place) {
  place.secret = Variable("SBP_RUN_SECRET");
  if (!Variable(kOwnRanks).empty()) {
    place.name = "own ranks";
    place.only_port = true;
    const std::optional<int64_t> listener = ParseInt(Variable(kOwnListener));
    if (place.rank == 0 && listener) place.listener = static_cast<int>(*listener);
    return;
  }
  if (!place.secret.empty()) return;
  place.secret = StrCat("torchrun ", Variable("TORCHELASTIC_RUN_ID"));
  if (!Socket::IsLoopback(place.host)) {
    place.name = "torchrun without SBP_RUN_SECRET: whoever reaches its port can take part";
  }
}

Result<TcpPlace> TorchrunPlace() {
  TcpPlace place;
  place.host = Variable("MASTER_ADDR");
  struct Number {
    const char* name;
    int low, high;
    int* value;
  };
  const Number numbers[] = {{"WORLD_SIZE", 1, 1 << 20, &place.size},
                            {"RANK", 0, 1 << 20, &place.rank},
                            {"MASTER_PORT", 1, 65535 - kTcpPorts, &place.port}};
  for (const Number& number : numbers) {
    const std::string text = Variable(number.name);
    const std::optional<int64_t> value = ParseInt(text);
    if (!value || *value < number.low || *value > number.high) {
      return UsageError(StrCat(number.name, " is ", text.empty() ? "not set" : Quote(text), ", expected a number from ",
                               number.low, " to ", number.high,
                               "; torchrun sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT"));
    }
    *number.value = static_cast<int>(*value);
  }
  if (place.host.empty()) return UsageError("MASTER_ADDR is not set, though RANK and WORLD_SIZE are");
  if (place.rank >= place.size) {
    return UsageError(StrCat("RANK is ", place.rank, ", but WORLD_SIZE is ", place.size));
  }
  SBP_RETURN_IF_ERROR(CheckReach(place));
  TakeSecret(place);
  return place;
}

}  // namespace

std::unique_ptr<Launch> AloneLaunch() { return std::make_unique<Alone>(); }

bool HasLauncher() { return LaunchedByMpi() || !Variable("RANK").empty() || !Variable("WORLD_SIZE").empty(); }

Result<std::unique_ptr<Launch>> JoinLaunch(const RunIdentity& identity) {
  // torchrun's first: it may itself run under a launcher that sets MPI's.
  const auto is_set = [](const char* name) { return !Variable(name).empty(); };
  const char* const torchruns[] = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
  const bool by_torchrun = std::all_of(std::begin(torchruns), std::end(torchruns), is_set);
  if (!by_torchrun && LaunchedByMpi()) return MpiLaunch();
  if (Variable("RANK").empty() && Variable("WORLD_SIZE").empty()) return AloneLaunch();
  SBP_ASSIGN_OR_RETURN(TcpPlace place, TorchrunPlace());
  place.version = identity.version;
  place.plan = identity.plan;
  return TcpLaunch(place);
}

}  // namespace sbp
