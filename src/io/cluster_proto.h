// Cluster <-> message.
#pragma once

#include <string_view>

#include "base/status.h"
#include "cluster/cluster.h"
#include "schemas/cluster.pb.h"

namespace sbp {

void ClusterToMessage(const Cluster& cluster, sbp_plan::v1::Cluster& message);
// The cluster, verified. Errors name the field.
Result<Cluster> ClusterFromMessage(const sbp_plan::v1::Cluster& message, std::string_view where);

}  // namespace sbp
