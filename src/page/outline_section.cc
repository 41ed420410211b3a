// The tree of scopes, repeated layers and ranges.
#include <cstdint>
#include <utility>

#include "page/sections.h"
#include "render/outline_tree.h"

namespace sbp {

Json OutlineSection(const PageFacts& facts) {
  Json kinds = Json::array(), labels = Json::array(), paths = Json::array(), parents = Json::array(),
       items = Json::array();
  for (const OutlineNode& node : facts.outline.nodes) {
    kinds.push_back(static_cast<int>(node.kind));
    labels.push_back(node.label);
    paths.push_back(node.path);
    parents.push_back(node.parent);
    Json list = Json::array();
    for (const OutlineItem& item : node.items) {
      list.push_back(item.is_op ? int64_t{item.index} : -1 - int64_t{item.index});
    }
    items.push_back(std::move(list));
  }
  return {{"kind", std::move(kinds)},
          {"label", std::move(labels)},
          {"path", std::move(paths)},
          {"parent", std::move(parents)},
          {"items", std::move(items)}};
}

}  // namespace sbp
