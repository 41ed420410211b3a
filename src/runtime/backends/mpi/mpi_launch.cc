// The processes that mpirun started, as what they tell each other besides tensors.
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "runtime/backends/mpi/mpi_session.h"
#include "runtime/exchange/communicator.h"
#include "runtime/processes/launch.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

// The others wait while rank 0 runs the reference; a rank that dies is noticed without any time being over.
constexpr std::chrono::hours kWhileOthersRun{24};

class Ranks : public Launch {
 public:
  Ranks(std::unique_ptr<MpiSession> session, DeviceCommunicators handles)
      : session_(std::move(session)), handles_(std::move(handles)) {}

  std::string_view name() const override { return "mpirun"; }
  int rank() const override { return session_->rank(); }
  int size() const override { return session_->size(); }
  Result<std::vector<std::string>> AllGather(std::string_view mine) override {
    return handles_.all->AllGatherBytes(mine);
  }
  Result<std::vector<std::string>> Gather(std::string_view mine) override { return handles_.all->GatherBytes(mine); }
  void Abort(const Status& failure) override { handles_.all->Abort(failure); }
  Status status() override { return handles_.all->status(); }
  Status failure_elsewhere() override { return handles_.all->failure_elsewhere(); }
  Status Finish(const Status& status, const LastWords& last_words) override {
    return session_->Finish(status, kWhileOthersRun, last_words);
  }

 private:
  const std::unique_ptr<MpiSession> session_;
  const DeviceCommunicators handles_;
};

}  // namespace

Result<std::unique_ptr<Launch>> MpiLaunch() {
  SBP_ASSIGN_OR_RETURN(std::unique_ptr<MpiSession> session, MpiSession::Start(nullptr, nullptr));
  SBP_ASSIGN_OR_RETURN(const Mesh line, ParseMesh(std::to_string(session->size())));
  SBP_ASSIGN_OR_RETURN(DeviceCommunicators handles, session->MakeCommunicators(line, {.timeout = kWhileOthersRun}));
  return std::unique_ptr<Launch>(std::make_unique<Ranks>(std::move(session), std::move(handles)));
}

}  // namespace sbp
