// The collectives by name: a row each, and a file each in cost/collectives/, which says everything else of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sbp {

// X(KindWithoutK, name). In the order in which boxing tries them.
#define SBP_COLLECTIVES(X)           \
  X(AllGather, "all-gather")         \
  X(AllReduce, "all-reduce")         \
  X(ReduceScatter, "reduce-scatter") \
  X(AllToAll, "all-to-all")          \
  X(Slice, "slice")                  \
  X(Fill, "fill")                    \
  X(Pad, "pad")                      \
  X(SendRecv, "send-recv")

#define SBP_KIND(kind, name) k##kind,
enum class CollectiveKind : uint8_t { SBP_COLLECTIVES(SBP_KIND) };
#undef SBP_KIND

std::string_view CollectiveKindName(CollectiveKind kind);  // "all-gather", ...
std::optional<CollectiveKind> ParseCollectiveKind(std::string_view name);

}  // namespace sbp
