// Machine: what constants that are measured here were measured on.
#pragma once

#include <cstdint>
#include <string>

namespace sbp {

struct Machine {
  std::string description;   // "host box, AMD EPYC 7B13 (2 cores)": what the origin of a constant says
  int64_t memory_bytes = 0;  // that one device may take
};

// This host, its memory shared by `devices` devices.
Machine ThisHost(int64_t devices);

std::string HostName();

// That this process may use; at least one.
int64_t NumCores();

}  // namespace sbp
