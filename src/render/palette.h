// Colours with a meaning, the same in every picture: how far work is divided, and which collective moves data.
#pragma once

#include <string_view>

#include "cluster/collective_kind.h"
#include "cost/collective.h"
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

inline Paint PaintOf(CollectiveKind kind) {
  const CollectiveColours& colours = RowOf(kind).colours;
  return {colours.fill, colours.line, colours.text};
}

}  // namespace sbp
