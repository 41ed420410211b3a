// A device and collectives that are memory and threads of this process: for tests, which alone link them.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "gpu/collectives.h"
#include "gpu/gpu.h"

namespace sbp::gpu {

std::unique_ptr<Device> OpenHostDevice(int ordinal);

// Where threads of this process meet. A rank that has not come within a minute fails the group.
class HostGroups {
 public:
  HostGroups();
  ~HostGroups();
  std::string MakeId();
  Result<std::shared_ptr<Collectives>> Join(const std::string& id, int rank, int size);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sbp::gpu
