// The table of collectives, from the rows of cluster/collective_kind.h.
#include "cost/all_collectives.h"

#include <span>

#include "cluster/collective_kind.h"

namespace sbp {

std::span<const CollectiveRow> AllCollectives() {
#define SBP_ROW(kind, name) kind##Collective(),
  static const CollectiveRow rows[] = {SBP_COLLECTIVES(SBP_ROW)};
#undef SBP_ROW
  return rows;
}

const CollectiveRow& RowOf(CollectiveKind kind) { return AllCollectives()[static_cast<size_t>(kind)]; }

}  // namespace sbp
