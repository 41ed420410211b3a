// Launched on four ranks. Without arguments: every boxing step over MPI leaves the same bytes as over threads. With the
// name of a fault: one rank fails, dies or lags, and the exit code and messages are judged by mpi_faults.py.
#include <gtest/gtest.h>

#include <csignal>
#include <iostream>
#include <thread>

#include "base/text.h"
#include "runtime/backends/mpi/mpi_session.h"
#include "unit/runtime/boxing_steps.h"

namespace sbp {
namespace {

using std::chrono::milliseconds;

// gtest's checks run on every rank; the first one that fails tells the others.
Status CompareWithThreads(MpiSession& session, const char* mesh_text) {
  SBP_ASSIGN_OR_RETURN(const Mesh mesh, ParseMesh(mesh_text));
  SBP_ASSIGN_OR_RETURN(DeviceCommunicators communicators, session.MakeCommunicators(mesh, {}));
  BoxingSteps over_mpi(mesh, 7), over_threads(mesh, 7);
  over_mpi.AddAll();
  over_threads.AddAll();
  SBP_RETURN_IF_ERROR(over_mpi.RunDevice(session.rank(), communicators));
  over_threads.RunOnThreads();
  if (::testing::Test::HasFailure()) return Defect("threads failed");
  if (over_mpi.TargetBytes(session.rank()) != over_threads.TargetBytes(session.rank())) {
    return Defect(std::string("other bytes than threads on ") + mesh_text);
  }
  const std::string mine(static_cast<size_t>(session.rank()), 'x');
  SBP_ASSIGN_OR_RETURN(const std::vector<std::string> all, communicators.all->AllGatherBytes(mine));
  for (size_t r = 0; r < all.size(); ++r) {
    if (all[r] != std::string(r, 'x')) return Defect("wrong bytes gathered");
  }
  return communicators.all->Barrier();
}

Status RunAll(MpiSession& session) {
  for (const char* mesh : {"4", "2,2"}) SBP_RETURN_IF_ERROR(CompareWithThreads(session, mesh));
  return OkStatus();
}

// Groups of two: a failure must reach the ranks of the other group as well.
Status RunFault(MpiSession& session, const std::string& fault) {
  SBP_ASSIGN_OR_RETURN(const Mesh mesh, ParseMesh("2,2"));
  SBP_ASSIGN_OR_RETURN(DeviceCommunicators communicators,
                       session.MakeCommunicators(mesh, {.timeout = milliseconds(fault == "lag" ? 500 : 60'000)}));
  SBP_RETURN_IF_ERROR(communicators.all->Barrier());
  if (session.rank() == 2) {
    if (fault == "kill") std::raise(SIGKILL);
    if (fault == "stop") std::raise(SIGSTOP);
    if (fault == "abort") {
      const Status failure(Code::kRunFailed, "device 2, MatMul \"fc\": boom");
      communicators.all->Abort(failure);
      return failure;
    }
    if (fault == "lag") std::this_thread::sleep_for(milliseconds(1500));
  }
  while (true) {
    for (const auto& axis : communicators.axes) SBP_RETURN_IF_ERROR(axis->Barrier());
    if (fault == "none") return OkStatus();
  }
}

}  // namespace
}  // namespace sbp

int main(int argc, char** argv) {
  sbp::Result<std::unique_ptr<sbp::MpiSession>> session = sbp::MpiSession::Start(&argc, &argv);
  if (!session.ok()) {
    std::cerr << session.status().message() + "\n";
    return static_cast<int>(session.status().code());
  }
  ::testing::InitGoogleTest(&argc, argv);
  const sbp::Status status = argc > 1 ? sbp::RunFault(**session, argv[1]) : sbp::RunAll(**session);
  // One write: the launcher joins the lines of all ranks.
  if (!status.ok()) std::cerr << sbp::StrCat("rank ", (*session)->rank(), ": ", status.message(), "\n");
  return static_cast<int>((*session)->Finish(status, std::chrono::milliseconds(20'000)).code());
}
