// Fit: the constants of a cluster from samples, and how well they say them back.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cluster/cluster.h"

namespace sbp {

// How far a prediction is from the samples behind it.
struct Residual {
  std::string what;  // "roofline, MatMul f32", "samples, left out one by one", "latency and bandwidth"
  size_t samples = 0;
  double median = 0, worst = 0;  // |predicted / measured - 1|
};

struct Fit {
  Cluster cluster;
  std::vector<Residual> residuals;
};

// Fills device and links of `cluster`, whose name, description, numbers of devices, memory and overlap are given:
//   launch            median seconds of streaming ops (Identity, Add, Mul, Sub) that touch less than 16 kB
//   memory_bandwidth  best bytes / seconds of those that touch 1 MB or more (of all of them where none is so
//                     large); memory_efficiency: the median over the best
//   flops             per element type the best flops / seconds of products (MatMul, Gemm, Conv);
//                     compute_efficiency: the median over the best, of those with a tenth of the largest's work or more
//   links             launch + steps x latency + wire bytes / bandwidth of all-gather and reduce-scatter whose parts
//                     are one run each, by least squares of relative errors
// The samples become the cluster's own; they count before the constants wherever there are some. Error (kRunFailed):
// no sample of a product or of memory.
Result<Fit> FitCluster(Cluster cluster, std::vector<OpSample> ops, std::vector<CollectiveSample> collectives,
                       const std::string& source);

}  // namespace sbp
