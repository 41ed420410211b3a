// Plans in forms of other programs, as files.
#pragma once

#include <string>

#include "base/status.h"
#include "export/exporter.h"

namespace sbp {

// Writes what an exporter made of a plan: one file to `out` ("-": stdout), several into the folder `out`, which is made
// where it is not there; all are written, or none (io/files.h). Errors (kUsage): several files to stdout;
// (kBadInput): `out` cannot be made or written.
Status WriteExport(const PlanExport& made, const std::string& out);

}  // namespace sbp
