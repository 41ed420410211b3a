// How the processes of a run find rank 0, and how it tells them from strangers.
//
// Rank 0 listens on the one address by which this machine reaches TcpPlace::host (loopback where that is loopback).
// Whoever connects gets a number that was never used before, and has to answer it with a code that only who knows the
// run's key can make; rank 0 answers likewise, so that nobody else can pose as it. The key never crosses the network.
// Who cannot answer, sends anything else, too much, or nothing for two seconds is dropped: few are heard at once, none
// is waited for. Who can, but has another plan or version of the program, or a rank that is taken, is refused by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "runtime/processes/launch.h"
#include "runtime/processes/tcp/socket.h"

namespace sbp {

// Kinds of messages, here and when the run is on.
enum class TcpKind : uint32_t {
  kChallenge,  // from rank 0: a number
  kHello,      // to rank 0: who comes, to what, with a code
  kWelcome,    // from rank 0: a code
  kRefused,    // from rank 0: why, and a code
  kGive,       // to rank 0: bytes of a gather
  kAll,        // from rank 0: those of everybody
  kFailure,    // an exit code, then the message
  kBye,        // the process has come to its end
  kBeat,       // a sign of life
};

// Several byte strings as one.
std::string PackStrings(const std::vector<std::string>& parts);
std::vector<std::string> UnpackStrings(std::string_view bytes);

std::string FailureBytes(const Status& failure);  // of a kFailure

// The connections by peer: rank 0 gets one to each other rank, the others one to rank 0.
using TcpConnections = std::vector<std::pair<int, Socket>>;
// Of rank 0, and of another one. Errors (kRunFailed): who did not come within a minute, and how many strangers did; who
// was refused and why; no port is free.
Result<TcpConnections> AcceptRanks(const TcpPlace& place);
Result<TcpConnections> ConnectToFirstRank(const TcpPlace& place);

}  // namespace sbp
