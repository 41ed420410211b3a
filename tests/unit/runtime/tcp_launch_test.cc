// Processes that torchrun's variables bring together; here threads, and once real processes, of which one dies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <set>
#include <thread>

#include "runtime/launch.h"
#include "runtime/tcp/socket.h"
#include "unit/runtime/device_threads.h"

namespace sbp {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// A place to meet that other tests do not use at this time.
int SomePort() { return 20000 + static_cast<int>(getpid() % 1500) * 20; }

TcpPlace PlaceOf(int64_t rank, int size, int port) { return {static_cast<int>(rank), size, "localhost", port}; }

TEST(TcpLaunch, EveryRankGetsTheBytesOfAll) {
  constexpr int kSize = 4;
  const int port = SomePort();
  for (const Status& status : OnDevices(kSize, [&](int64_t rank) {
         SBP_ASSIGN_OR_RETURN(const auto launch, TcpLaunch(PlaceOf(rank, kSize, port)));
         EXPECT_EQ(launch->rank(), rank);
         EXPECT_EQ(launch->size(), kSize);
         for (int round = 0; round < 3; ++round) {
           const std::string mine(static_cast<size_t>(rank * 100'000 * round), static_cast<char>('a' + rank));
           SBP_ASSIGN_OR_RETURN(const std::vector<std::string> all, launch->AllGather(mine));
           EXPECT_EQ(all.size(), kSize);
           for (size_t r = 0; r < all.size(); ++r) {
             EXPECT_EQ(all[r], std::string(r * 100'000 * round, static_cast<char>('a' + r)));
           }
           SBP_ASSIGN_OR_RETURN(const std::vector<std::string> gathered, launch->Gather(mine));
           EXPECT_EQ(gathered.size(), rank == 0 ? kSize : 0U);
         }
         return launch->Finish(OkStatus(), {});
       })) {
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST(TcpLaunch, APortThatIsTakenIsPassedOver) {
  const int port = SomePort() + 20;
  const Result<Socket> other = Socket::Listen(port + 1);  // as torchrun's agent might
  ASSERT_TRUE(other.ok()) << other.status().message();
  for (const Status& status : OnDevices(2, [&](int64_t rank) {
         SBP_ASSIGN_OR_RETURN(const auto launch, TcpLaunch(PlaceOf(rank, 2, port)));
         SBP_RETURN_IF_ERROR(launch->AllGather("x").status());
         return launch->Finish(OkStatus(), {});
       })) {
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST(TcpLaunch, AFailureReachesEverybody) {
  constexpr int kSize = 3;
  const int port = SomePort() + 40;
  const Clock::time_point start = Clock::now();
  const std::vector<Status> results = OnDevices(kSize, [&](int64_t rank) {
    SBP_ASSIGN_OR_RETURN(const auto launch, TcpLaunch(PlaceOf(rank, kSize, port)));
    Status status;
    if (rank == 2) status = RunFailed("device 2: boom");
    if (rank != 2) {
      status = launch->AllGather("x").status();
      EXPECT_EQ(launch->failure_elsewhere().message(), "device 2: boom");
    }
    return launch->Finish(status, {});
  });
  for (const Status& status : results) {
    EXPECT_EQ(status.message(), "device 2: boom");
    EXPECT_EQ(status.code(), Code::kRunFailed);
  }
  EXPECT_LT(Clock::now() - start, milliseconds(5000));
}

// Some of the processes get a signal; the others say what became of the first. Their exit codes are 1 where they do.
// `bytes`: what rank 0 is sending when that happens.
void ExpectNamed(int port, int signal, const std::string& words, int size = 3, const std::set<int>& ranks = {1},
                 size_t bytes = 1) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    const auto launch = TcpLaunch(PlaceOf(rank, size, port));
    if (!launch.ok() || !(*launch)->AllGather("x").ok()) _exit(2);
    if (ranks.contains(rank)) {
      if (bytes > 1) (void)(*launch)->Gather("y");  // so that rank 0 gets as far as to send
      raise(signal);
    }
    const Status status = (*launch)->AllGather(std::string(rank == 0 ? bytes : 1, 'y')).status();
    (void)(*launch)->Finish(status, {});  // the news goes on
    _exit(status.message() == words ? 1 : 3);
  }
  const auto take = [&](int rank) {
    int status = 0;
    EXPECT_EQ(waitpid(children[rank], &status, 0), children[rank]);
    return status;
  };
  for (int rank = 0; rank < size; ++rank) {
    if (ranks.contains(rank)) continue;
    const int status = take(rank);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 1) << "rank " << rank;
  }
  for (const int rank : ranks) {
    kill(children[rank], SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(take(rank)));
  }
}

TEST(TcpLaunch, AProcessThatDiesIsNamed) { ExpectNamed(SomePort() + 60, SIGKILL, "rank 1 ended without a word"); }

// Its connection is open and says nothing.
TEST(TcpLaunch, AProcessThatIsStoppedIsNamed) {
  const Clock::time_point start = Clock::now();
  ExpectNamed(SomePort() + 80, SIGSTOP,
              "rank 1 has given no sign of life for 4 s: it is stopped, or its machine cannot be reached");
  EXPECT_LT(Clock::now() - start, milliseconds(8'000));
}

// Far more is on its way to them than connections hold, so that whoever sends it waits.
TEST(TcpLaunch, ProcessesThatStopWhileTheyAreSentToAreNamed) {
  const Clock::time_point start = Clock::now();
  ExpectNamed(SomePort() + 140, SIGSTOP,
              "rank 1 has given no sign of life for 4 s: it is stopped, or its machine cannot be reached", 5, {1, 3},
              64 << 20);
  EXPECT_LT(Clock::now() - start, milliseconds(10'000));
}

// Signs of life are given while the process is at work.
TEST(TcpLaunch, AProcessThatWorksLongIsWaitedFor) {
  const int port = SomePort() + 100;
  for (const Status& status : OnDevices(2, [&](int64_t rank) {
         SBP_ASSIGN_OR_RETURN(const auto launch, TcpLaunch(PlaceOf(rank, 2, port)));
         if (rank == 1) std::this_thread::sleep_for(milliseconds(5500));
         SBP_RETURN_IF_ERROR(launch->AllGather("x").status());
         return launch->Finish(OkStatus(), {});
       })) {
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

// The first two wait for the third, which starts late.
TEST(TcpLaunch, AProcessThatStartsLateIsWaitedFor) {
  const int port = SomePort() + 120;
  for (const Status& status : OnDevices(3, [&](int64_t rank) {
         if (rank == 2) std::this_thread::sleep_for(milliseconds(5500));
         SBP_ASSIGN_OR_RETURN(const auto launch, TcpLaunch(PlaceOf(rank, 3, port)));
         SBP_RETURN_IF_ERROR(launch->AllGather("x").status());
         return launch->Finish(OkStatus(), {});
       })) {
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST(JoinLaunch, TorchrunsVariablesAreChecked) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK", "MPI_LOCALRANKID"}) unsetenv(name);
  EXPECT_EQ(JoinLaunch().value()->name(), "one process");
  setenv("RANK", "3", 1);
  setenv("WORLD_SIZE", "2", 1);
  setenv("MASTER_PORT", "29500", 1);
  EXPECT_THAT(JoinLaunch().status().message(), ::testing::HasSubstr("MASTER_ADDR is not set"));
  setenv("MASTER_ADDR", "localhost", 1);
  EXPECT_EQ(JoinLaunch().status().message(), "RANK is 3, but WORLD_SIZE is 2");
  setenv("PMIX_RANK", "0", 1);  // of a launcher that torchrun runs under
  EXPECT_EQ(JoinLaunch().status().message(), "RANK is 3, but WORLD_SIZE is 2");
  unsetenv("PMIX_RANK");
  setenv("MASTER_PORT", "port", 1);
  EXPECT_THAT(JoinLaunch().status().message(), ::testing::HasSubstr("MASTER_PORT is \"port\", expected a number"));
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) unsetenv(name);
}

}  // namespace
}  // namespace sbp
