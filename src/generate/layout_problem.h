// A family of generate.h that is no graph: layout problems of the IOPDDL contest's form (search/iopddl.h), of the kind
// that its solvers leave the widest gaps on. Training steps of convolution-like models whose widths change along the
// way, with skips across; every op chooses by itself, no edge says that two ops choose alike, so that nearly all tables
// are dense; and a limit on memory that lets few tensors be larger than their smallest part.
//
// A mesh of 1 to 3 axes; each axis splits one dimension of a tensor or none, each its own or several the same. An op
// chooses per axis among its dimensions, "whole", and for a product "contract": both operands are split along what is
// summed, and the result is reduced. An edge costs what brings the tensor from how it was written to how it is read, in
// bytes moved per device: over an axis of n devices (n - 1) / n of what a device has after gathering, or before
// exchanging; slower axes count more.
#pragma once

#include "base/status.h"
#include "generate/options.h"
#include "search/cost_network.h"

namespace sbp {

// `options.ops` nodes or a few more. Errors (kUsage): devices that are no power of two or too few for the axes; tables
// of more entries together than a file of 2 GB holds.
Result<CostNetwork> GenerateLayoutProblem(const GenerateOptions& options);

}  // namespace sbp
