// KINDCollective() of each row: cost/collectives/KIND.cc defines it.
#pragma once

#include "cost/collective.h"

namespace sbp {

#define SBP_DECLARE(kind, name) CollectiveRow kind##Collective();
SBP_COLLECTIVES(SBP_DECLARE)
#undef SBP_DECLARE

}  // namespace sbp
