// The mpi backend: every rank is one device, rank 0 leads.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "runtime/backends/backend.h"
#include "runtime/backends/mpi/mpi_session.h"
#include "runtime/exchange/communicator.h"
#include "runtime/processes/machine.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

// The others wait while rank 0 runs the reference; a rank that dies is noticed without any time being over.
constexpr std::chrono::hours kPatience{24};

class MpiBackend : public Backend {
 public:
  explicit MpiBackend(std::unique_ptr<MpiSession> session) : session_(std::move(session)) {}

  std::string_view name() const override { return "mpi"; }
  int num_processes() const override { return session_->size(); }
  bool leads() const override { return session_->rank() == 0; }

  Result<std::vector<int64_t>> Claim(const Mesh& mesh) override {
    if (mesh.num_devices() != session_->size()) {
      const bool alone = session_->size() == 1;
      return UsageError(StrCat("the plan is for ", mesh.num_devices(), " devices (mesh ", ToString(mesh), "), but ",
                               session_->size(), alone ? " MPI rank was" : " MPI ranks were",
                               " launched; start it as: mpirun -n ", mesh.num_devices(), " sbp-plan run ..."));
    }
    return std::vector<int64_t>{session_->rank()};
  }

  Result<MeshCommunicators> Connect(const Mesh& mesh) override {
    MeshCommunicators handles;
    SBP_ASSIGN_OR_RETURN(handles.emplace_back(), session_->MakeCommunicators(mesh, {}));
    SBP_ASSIGN_OR_RETURN(gather_, session_->MakeCommunicators(mesh, {.timeout = kPatience}));
    return handles;
  }

  Result<std::vector<std::string>> Gather(std::string_view mine) override { return gather_.all->GatherBytes(mine); }

  Result<bool> Any(bool mine) override {
    SBP_ASSIGN_OR_RETURN(const std::vector<std::string> all, gather_.all->AllGatherBytes(mine ? "1" : "0"));
    return std::find(all.begin(), all.end(), "1") != all.end();
  }
  Result<std::string> Share(std::string mine) override {
    SBP_ASSIGN_OR_RETURN(std::vector<std::string> all, gather_.all->AllGatherBytes(leads() ? mine : ""));
    return std::move(all[0]);
  }
  Result<int64_t> CountDevices() override { return session_->size(); }
  Result<std::vector<std::string>> Hosts() override {
    SBP_ASSIGN_OR_RETURN(const Mesh line, ParseMesh(std::to_string(session_->size())));
    SBP_ASSIGN_OR_RETURN(const DeviceCommunicators all, session_->MakeCommunicators(line, {}));
    return all.all->AllGatherBytes(HostName());
  }
  Result<Machine> DescribeMachine(int64_t devices) override {
    Machine machine = ThisHost(devices);
    machine.description += StrCat(", ", session_->LibraryName());
    return machine;
  }

  Status Finish(const Status& status, const LastWords& last_words) override {
    const Status result = session_->Finish(status, kPatience, last_words);
    return leads() || result.ok() ? result : Status(result.code(), "");
  }

 private:
  const std::unique_ptr<MpiSession> session_;
  DeviceCommunicators gather_;
};

}  // namespace

Result<std::unique_ptr<Backend>> StartMpiBackend(const BackendOptions&) {
  SBP_ASSIGN_OR_RETURN(std::unique_ptr<MpiSession> session, MpiSession::Start(nullptr, nullptr));
  return std::unique_ptr<Backend>(std::make_unique<MpiBackend>(std::move(session)));
}

}  // namespace sbp
