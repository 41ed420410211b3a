// The kinds of our documents: one row each.
#pragma once

#include <span>
#include <string_view>

#include "io/documents.h"

namespace sbp {

struct KindRow {
  DocumentKind kind;
  std::string_view name;     // the document's first field
  std::string_view article;  // "a graph", for messages
};
std::span<const KindRow> AllKinds();
// Not for kOnnx.
const KindRow& RowOf(DocumentKind kind);

}  // namespace sbp
