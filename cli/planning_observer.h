// What the command line sees of a planning run: progress, the time of each stage, and dumps.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/planning.h"
#include "pipeline/request.h"

namespace sbp {

// The folder of --dump-dir, if it is given. Error (kBadInput): it cannot be made or written.
Status MakeDumpDir(const std::string& path);

// Seconds are added to `timings`, which must outlive it; dumps go to NN-STAGE.txt in dump_dir, "": to none.
StageObserver MakeObserver(const std::string& dump_dir, Timings& timings);

}  // namespace sbp
