// Ctrl-C: the first one asks the running stage to stop, the second one ends the process.
#pragma once

namespace sbp {

void InstallInterruptHandler();
bool Interrupted();

}  // namespace sbp
