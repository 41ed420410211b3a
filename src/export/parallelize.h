// A program for PyTorch that people maintain: parallelize_module and fully_shard, where the plan folds to them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "export/exporter.h"
#include "plan/plan.h"

namespace sbp {

std::string_view ParallelizeText();  // parallelize.py: what stands behind the plan's own lines, embedded in the build

// The program. What it cannot say is an error (kBadInput), by tensor and reason, or with options.lossy left out and put
// into the report, as is in any case how what runs differs from the plan.
Result<std::string> ParallelizeProgram(const Plan& plan, const ExportOptions& options,
                                       std::vector<std::string>& report);

}  // namespace sbp
