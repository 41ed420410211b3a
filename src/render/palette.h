// Colours with a meaning, the same in every picture: how far work is divided, and which collective moves data.
#pragma once

#include <string_view>

#include "cluster/cluster.h"
#include "render/facts.h"

namespace sbp {

struct Paint {
  std::string_view fill, line, text;
};

constexpr Paint PaintOf(Sharing sharing) {
  switch (sharing) {
    case Sharing::kAllAxes:
      return {"#E2F3E7", "#2F8052", "#16341F"};
    case Sharing::kSomeAxes:
      return {"#FFF3CF", "#B98A12", "#40310A"};
    case Sharing::kReplicated:
      return {"#ECEDF0", "#7F8590", "#2B2E34"};
    case Sharing::kUnknown:
      break;
  }
  return {"#E9F0FA", "#5E7AA8", "#1B2A44"};
}

constexpr Paint PaintOf(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllGather:
      return {"#2B6CD4", "#1B4A98", "#FFFFFF"};
    case CollectiveKind::kAllReduce:
      return {"#CC3333", "#8F1F1F", "#FFFFFF"};
    case CollectiveKind::kReduceScatter:
      return {"#D96F0E", "#994C05", "#FFFFFF"};
    case CollectiveKind::kAllToAll:
      return {"#8440BD", "#592785", "#FFFFFF"};
    case CollectiveKind::kSendRecv:
      return {"#0F7F78", "#08514D", "#FFFFFF"};
    case CollectiveKind::kSlice:
      return {"#FFFFFF", "#9BA1AC", "#4A4F59"};
    case CollectiveKind::kFill:
      return {"#FFFFFF", "#C9A36B", "#4A4F59"};
    case CollectiveKind::kPad:
      return {"#FFFFFF", "#6BA9A3", "#4A4F59"};
  }
  return {"#FFFFFF", "#9BA1AC", "#4A4F59"};
}

}  // namespace sbp
