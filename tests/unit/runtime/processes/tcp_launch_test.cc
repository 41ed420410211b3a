// Processes that torchrun's variables bring together; here threads, and once real processes, of which one dies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <set>
#include <thread>

#include "runtime/processes/launch.h"
#include "runtime/processes/tcp/greeting.h"
#include "runtime/processes/tcp/mac.h"
#include "runtime/processes/tcp/socket.h"
#include "unit/runtime/device_threads.h"

namespace sbp {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// A place to meet that other tests do not use at this time, nor those of processes started with this one.
int SomePort() { return 20000 + static_cast<int>(getpid() % 80) * 360; }

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
  const Result<Socket> other = Socket::Listen("localhost", port + 1);  // as torchrun's agent might
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

// A connection to the first of the ports that answers.
Result<Socket> Visit(int port) {
  const Clock::time_point deadline = Clock::now() + milliseconds(5000);
  Result<Socket> socket = Socket::Connect("localhost", port + 1, milliseconds(1000));
  while (!socket.ok() && Clock::now() < deadline) {
    std::this_thread::sleep_for(milliseconds(5));
    socket = Socket::Connect("localhost", port + 1, milliseconds(1000));
  }
  return socket;
}

// Silent ones, garbage, the first bytes of a message and no more, messages that would be endless, greetings with codes
// that are guessed, connections that are closed at once: more of them than are heard at a time.
void Attack(int port, std::vector<Socket>& guests) {
  for (int i = 0; i < 150; ++i) {
    Result<Socket> guest = Visit(port);
    if (!guest.ok()) return;
    guest->set_patience(milliseconds(200));
    const uint64_t endless[] = {0x0000000153425031, uint64_t{1} << 62};  // a header of ours, kind 1
    switch (i % 6) {
      case 1:
        (void)send(guest->descriptor(), "GET / HTTP/1.1\r\nHost: rank0\r\n\r\n", 32, MSG_NOSIGNAL);
        break;
      case 2:
        (void)send(guest->descriptor(), endless, 10, MSG_NOSIGNAL);
        break;
      case 3:
        (void)send(guest->descriptor(), endless, sizeof endless, MSG_NOSIGNAL);
        break;
      case 4:
        (void)guest->Send(static_cast<uint32_t>(TcpKind::kHello),
                          PackStrings({"1", "3", "", "", std::string(16, 'n'), std::string(32, 'c')}));
        break;
      case 5:
        guest->Close();
        continue;
      default:
        break;
    }
    guests.push_back(std::move(*guest));
  }
}

TEST(TcpLaunch, StrangersDisturbNobody) {
  constexpr int kSize = 3;
  const int port = SomePort() + 160;
  std::vector<Socket> guests;
  std::atomic<bool> on{false};
  const Clock::time_point start = Clock::now();
  for (const Status& status : OnDevices(kSize + 1, [&](int64_t rank) {
         if (rank == kSize) {  // while the run starts: ranks 1 and 2 come afterwards; and while it is on
           Attack(port, guests);
           on = true;
           std::this_thread::sleep_for(milliseconds(300));
           EXPECT_FALSE(Socket::Connect("localhost", port + 1, milliseconds(1000)).ok()) << "nobody listens any more";
           return OkStatus();
         }
         while (rank > 0 && !on) std::this_thread::sleep_for(milliseconds(1));
         TcpPlace place = PlaceOf(rank, kSize, port);
         place.secret = "known to three";
         SBP_ASSIGN_OR_RETURN(const auto launch, TcpLaunch(place));
         SBP_RETURN_IF_ERROR(launch->AllGather("x").status());
         std::this_thread::sleep_for(milliseconds(500));
         SBP_RETURN_IF_ERROR(launch->AllGather("y").status());
         return launch->Finish(OkStatus(), {});
       })) {
    EXPECT_TRUE(status.ok()) << status.message();
  }
  EXPECT_LT(Clock::now() - start, milliseconds(20'000));
}

// What rank 1 of two hears, and what rank 0 does.
std::vector<Status> Meet(int port, const std::function<void(TcpPlace&)>& change) {
  return OnDevices(2, [&](int64_t rank) {
    TcpPlace place = PlaceOf(rank, 2, port);
    place.secret = "s";
    place.version = "1.0";
    place.plan = "plan.json, 12ab";
    if (rank == 1) change(place);
    return TcpLaunch(place).status();
  });
}

TEST(TcpLaunch, AnotherPlanVersionOrSizeIsRefusedByName) {
  const std::pair<std::function<void(TcpPlace&)>, const char*> changes[] = {
      {[](TcpPlace& place) { place.version = "0.9"; }, "rank 1 is refused: it is sbp-plan 0.9, and rank 0 is 1.0"},
      {[](TcpPlace& place) { place.plan = "other.json, 34cd"; },
       "rank 1 is refused: it runs another plan (other.json, 34cd) than rank 0 (plan.json, 12ab)"},
      {[](TcpPlace& place) { place.size = 3; },
       "rank 1 is refused: it was started for a run of 3 processes, and rank 0 for one of 2"},
      {[](TcpPlace& place) { place.rank = 2; }, "rank 2 is refused: there is no such rank among 2"}};
  int port = SomePort() + 180;
  for (const auto& [change, words] : changes) {
    for (const Status& status : Meet(++port, change)) EXPECT_EQ(status.message(), words);
  }
}

TEST(TcpLaunch, ARankThatIsThereAlreadyIsRefusedByName) {
  const int port = SomePort() + 200;
  std::atomic<bool> there{false}, refused{false};
  const std::vector<Status> results = OnDevices(4, [&](int64_t device) {
    while (device >= 2 && !there) std::this_thread::sleep_for(milliseconds(1));
    if (device == 2) std::this_thread::sleep_for(milliseconds(100));
    while (device == 3 && !refused) std::this_thread::sleep_for(milliseconds(1));
    if (device == 1) there = true;
    const int64_t rank = device == 3 ? 2 : std::min<int64_t>(device, 1);  // devices 1 and 2 are both rank 1
    const auto launch = TcpLaunch(PlaceOf(rank, 3, port));
    if (!launch.ok()) {
      refused = true;
      return launch.status();
    }
    SBP_RETURN_IF_ERROR((*launch)->AllGather("x").status());
    return (*launch)->Finish(OkStatus(), {});
  });
  int refusals = 0;
  for (const Status& status : results) {
    if (!status.ok()) {
      EXPECT_EQ(status.message(), "rank 1 is refused: another process is rank 1");
    }
    refusals += status.ok() ? 0 : 1;
  }
  EXPECT_EQ(refusals, 1);
}

TEST(Socket, ListensWhereTheHostIsReached) {
  const Result<Socket> socket = Socket::Listen("127.0.0.1", 0);
  ASSERT_TRUE(socket.ok()) << socket.status().message();
  sockaddr_in own{};
  socklen_t size = sizeof own;
  ASSERT_EQ(getsockname(socket->descriptor(), reinterpret_cast<sockaddr*>(&own), &size), 0);
  EXPECT_EQ(ntohl(own.sin_addr.s_addr), INADDR_LOOPBACK) << "not on every interface";
  EXPECT_GT(socket->port(), 0);
  EXPECT_TRUE(Socket::IsLoopback("localhost"));
  EXPECT_FALSE(Socket::IsLoopback("192.0.2.1"));
}

// FIPS 180-4's and RFC 4231's examples.
TEST(Mac, IsHmacSha256) {
  EXPECT_EQ(HexOf(Sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HexOf(Sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(HexOf(HmacSha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(HexOf(HmacSha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(JoinLaunch, ANameOfThisMachineAloneDoesForNoOther) {
  for (const auto& [name, value] : {std::pair{"RANK", "0"},
                                    {"WORLD_SIZE", "4"},
                                    {"LOCAL_WORLD_SIZE", "2"},
                                    {"MASTER_ADDR", "localhost"},
                                    {"MASTER_PORT", "29500"}})
    setenv(name, value, 1);
  EXPECT_THAT(JoinLaunch().status().message(), ::testing::HasSubstr("but 2 of 4 run elsewhere"));
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) unsetenv(name);
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
