#include "runtime/backends/mpi/mpi_session.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <thread>
#include <vector>

#include "base/text.h"
#include "runtime/backends/mpi/mpi_communicator.h"
#include "runtime/backends/mpi/world.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kGrace{2};  // after a failure: for every rank to learn of it and to say so
constexpr std::chrono::milliseconds kLastWord{500};

class Session : public MpiSession {
 public:
  Session() : world_(std::make_shared<World>()) { MPI_Comm_dup(MPI_COMM_WORLD, &end_); }
  ~Session() override {
    if (!finished_) MPI_Abort(MPI_COMM_WORLD, static_cast<int>(Code::kRunFailed));
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const override { return world_->rank(); }
  int size() const override { return world_->size(); }
  std::string LibraryName() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return "an unknown MPI";
    const std::string_view name(text, static_cast<size_t>(length));
    return std::string(Trim(name.substr(0, name.find_first_of(",\n"))));
  }

  Result<DeviceCommunicators> MakeCommunicators(const Mesh& mesh, const CommunicatorOptions& options) override {
    if (mesh.num_devices() != size()) {
      return UsageError(StrCat("the mesh ", ToString(mesh), " has ", mesh.num_devices(), " devices, but ", size(),
                               " MPI ranks were launched"));
    }
    DeviceCommunicators result;
    for (int axis = 0; axis < mesh.num_axes(); ++axis) {
      for (const std::vector<int64_t>& positions : mesh.Groups(axis)) {
        if (std::find(positions.begin(), positions.end(), rank()) == positions.end()) continue;
        result.axes.push_back(Split({positions.begin(), positions.end()}, options));
      }
    }
    std::vector<int> everybody(static_cast<size_t>(size()));
    std::iota(everybody.begin(), everybody.end(), 0);
    result.all = Split(everybody, options);
    return result;
  }

  Status Finish(const Status& status, std::chrono::milliseconds patience,
                const std::function<void(const Status& failure)>& last_words) override {
    world_->Finishing();
    if (!status.ok()) world_->Abort(status);
    Clock::time_point deadline = Clock::now() + patience;
    bool failed = false;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(end_, &request);
    for (int done = 0; done == 0;) {
      if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || Clock::now() > deadline) {
        finished_ = true;
        Status failure = status.ok() ? world_->status() : status;
        if (failure.ok()) failure = RunFailed(StrCat("rank ", rank(), " waited in vain for the others to end"));
        if (last_words) last_words(failure);
        MPI_Abort(MPI_COMM_WORLD, static_cast<int>(failure.code()));
      }
      if (done != 0) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (failed || world_->status().ok()) continue;
      failed = true;
      deadline = std::min(deadline, Clock::now() + kGrace);
    }
    Status known = status.ok() ? world_->status() : status;
    world_->EndPulse();
    MPI_Finalize();
    finished_ = true;
    // mpirun ends the others as soon as one has ended with a failure: rank 0 has to say first what it was.
    if (!known.ok() && rank() != 0) std::this_thread::sleep_for(kLastWord);
    return known;
  }

 private:
  // The group of these ranks, which all call this; groups that do not overlap at once.
  std::unique_ptr<Communicator> Split(std::vector<int> members, const CommunicatorOptions& options) {
    MPI_Comm group = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, members[0], rank(), &group);
    return std::make_unique<MpiCommunicator>(world_, group, std::move(members), options);
  }

  const std::shared_ptr<World> world_;
  MPI_Comm end_ = MPI_COMM_NULL;
  bool finished_ = false;
};

}  // namespace

Result<std::unique_ptr<MpiSession>> MpiSession::Start(int* argc, char*** argv) {
  int provided = MPI_THREAD_SINGLE;
  SBP_RETURN_IF_ERROR(MpiError(MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread"));
  if (provided < MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    return UsageError("this MPI library does not serve several threads (MPI_THREAD_MULTIPLE)");
  }
  return std::unique_ptr<MpiSession>(std::make_unique<Session>());
}

}  // namespace sbp
