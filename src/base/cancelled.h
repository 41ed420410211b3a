// Ending what takes long.
#pragma once

#include <functional>

#include "base/status.h"

namespace sbp {

// An error (kRunFailed) where `cancelled`, which may be null, says that a run is to end.
inline Status RefuseCancelled(const std::function<bool()>& cancelled) {
  return cancelled && cancelled() ? RunFailed("the run was interrupted") : OkStatus();
}

}  // namespace sbp
