#include "fold/context.h"

#include <utility>

#include "base/text.h"

namespace sbp {
namespace {

constexpr size_t kShownWarnings = 3;  // of one kind

}  // namespace

void WarningList::Add(std::string_view kind, std::string text) {
  auto group = groups_.find(kind);
  if (group == groups_.end()) {
    group = groups_.emplace(std::string(kind), Group{}).first;
    order_.emplace_back(kind);
  }
  if (group->second.texts.size() < kShownWarnings)
    group->second.texts.push_back(std::move(text));
  else
    ++group->second.more;
}

std::vector<std::string> WarningList::Take() {
  std::vector<std::string> warnings;
  for (const std::string& kind : order_) {
    Group& group = groups_.find(kind)->second;
    for (std::string& text : group.texts) warnings.push_back(StrCat(kind, ": ", text));
    if (group.more > 0) warnings.push_back(StrCat(kind, ": ", group.more, " more"));
  }
  return warnings;
}

}  // namespace sbp
