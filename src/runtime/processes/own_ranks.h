// Own ranks: this program starts itself once for each device of a plan, in the place of mpirun or torchrun, on this
// machine. The processes meet on loopback, at a socket that the first inherits, with a secret made for this run.
#pragma once

#include "base/status.h"

namespace sbp {

// Variables that say so to the processes, besides torchrun's.
inline constexpr char kOwnRanks[] = "SBP_OWN_RANKS", kOwnListener[] = "SBP_OWN_LISTENER";

// Runs this process's command `count` times over and waits for all. Standard output and input are rank 0's; what the
// others say on standard error comes line by line, by rank. They end with this process, whatever ends it; signals that
// ask it to end go to all of them, and where one ends badly the others are given some seconds to say so.
// Returns the exit code of rank 0, else that of the first that failed; 5 where a signal ended one, which is said by
// name. Does not return when a signal asked this process to end. Error (kRunFailed): processes or sockets are not to be
// had.
Result<int> RunOwnRanks(int count);

}  // namespace sbp
