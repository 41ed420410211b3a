// Which cores a thread may run on.
#pragma once

#include <cstddef>
#include <vector>

namespace sbp {

// The cores that this process may use, ascending; empty where the system does not say.
std::vector<int> AllowedCores();

// The share of `cores` that belongs to `device` of `devices`: at least one each; empty where there are fewer cores than
// devices.
std::vector<int> CoresOfDevice(const std::vector<int>& cores, size_t devices, size_t device);

// Keeps the calling thread on these cores. Does nothing if there are none, or if the system refuses: it is for speed.
void PinThread(const std::vector<int>& cores);

}  // namespace sbp
