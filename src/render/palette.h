// Colours with a meaning, the same in every picture: how far work is divided, and which collective moves data.
#pragma once

#include <string_view>

#include "cluster/collective_kind.h"
#include "cost/collective.h"
#include "graph/phases.h"
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

// Of frames, by how deep they lie; and the edge of kept tensors.
struct FramePaint {
  std::string_view fills[3];
  std::string_view line, text, strong;  // strong: in legends, and of edges
};
constexpr FramePaint PaintOf(Phase phase) {
  switch (phase) {
    case Phase::kBackward:
      return {{"#FBF6FD", "#F5ECF9", "#EEE1F4"}, "#C9AFD6", "#4F2A63", "#A673BE"};
    case Phase::kOptimizer:
      return {{"#FDF8F0", "#F8EEDD", "#F2E4CC"}, "#D6C09A", "#5C4213", "#C79A3F"};
    case Phase::kForward:
      break;
  }
  return {{"#F8FAFD", "#F1F5FA", "#EAF0F7"}, "#B9C3D3", "#33415C", "#7A93B8"};
}
inline constexpr std::string_view kKeptColour = "#8E3FB0";

inline Paint PaintOf(CollectiveKind kind) {
  const CollectiveColours& colours = RowOf(kind).colours;
  return {colours.fill, colours.line, colours.text};
}

}  // namespace sbp
