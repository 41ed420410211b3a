#include "render/arena_stacks.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/text.h"

namespace sbp {
namespace {

constexpr double kTouch = 0.5;  // in points: what is not seen between neighbours

// "layers.12/x" -> "layers.*/x"
std::string WithoutNumbers(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit)
      text += c;
    else if (text.empty() || text.back() != '*')
      text += '*';
  }
  return text;
}

// "model/layers.*/x" -> "layers.*/x", "backward/model/layers.*/x" -> "backward/../layers.*/x"
std::string WithoutOuterLevels(const std::string& pattern) {
  const size_t first = pattern.find('/'), last = pattern.rfind('/', pattern.find('*'));
  if (first == std::string::npos || last == std::string::npos) return pattern;
  return StrCat(first < last ? StrCat(pattern.substr(0, first), "/../") : "", pattern.substr(last + 1));
}

// Of places that begin where `under` ends, the one that is there longest while it is.
class Above {
 public:
  explicit Above(std::span<const Rectangle> places) : places_(places), taken_(places.size()) {
    by_bottom_.resize(places.size());
    std::iota(by_bottom_.begin(), by_bottom_.end(), 0);
    std::ranges::stable_sort(by_bottom_, {}, [&](uint32_t i) { return places[i].bottom; });
  }

  const std::vector<uint32_t>& in_order() const { return by_bottom_; }
  bool IsTaken(uint32_t i) const { return taken_[i]; }
  void Take(uint32_t i) { taken_[i] = true; }

  std::optional<uint32_t> Find(const Rectangle& under, double least_width) const {
    const auto first =
        std::ranges::lower_bound(by_bottom_, under.top() - kTouch, {}, [&](uint32_t i) { return places_[i].bottom; });
    std::optional<uint32_t> best;
    double most = least_width;
    for (auto at = first; at != by_bottom_.end() && places_[*at].bottom <= under.top() + kTouch; ++at) {
      const double shared = SharedWidth(under, places_[*at]);
      if (taken_[*at] || shared < most || (best && shared == most)) continue;
      best = *at;
      most = shared;
    }
    return best;
  }

  static double SharedWidth(const Rectangle& a, const Rectangle& b) {
    return std::min(a.right(), b.right()) - std::max(a.left, b.left);
  }

 private:
  std::span<const Rectangle> places_;
  std::vector<uint32_t> by_bottom_;
  std::vector<bool> taken_;
};

}  // namespace

std::vector<Stack> FindStacks(std::span<const Rectangle> places, double least_width, double least_height) {
  std::vector<Stack> stacks;
  Above above(places);
  for (const uint32_t lowest : above.in_order()) {
    if (above.IsTaken(lowest) || places[lowest].width < least_width) continue;
    Stack stack{{lowest}, places[lowest]};
    above.Take(lowest);
    while (const std::optional<uint32_t> next = above.Find(stack.place, least_width)) {
      const Rectangle& place = places[*next];
      const double left = std::max(stack.place.left, place.left), right = std::min(stack.place.right(), place.right());
      stack.place = {left, stack.place.bottom, right - left, place.top() - stack.place.bottom};
      stack.members.push_back(*next);
      above.Take(*next);
    }
    if (stack.members.size() > 1 && stack.place.height >= least_height) stacks.push_back(std::move(stack));
  }
  return stacks;
}

std::string NamesTogether(std::span<const NamedBytes> all) {
  struct Alike {
    size_t count = 0;
    double bytes = 0;
    std::string first;
  };
  std::map<std::string, Alike> found;
  for (const NamedBytes& one : all) {
    Alike& alike = found[WithoutNumbers(one.name)];
    if (alike.count++ == 0) alike.first = one.name;
    alike.bytes += one.bytes;
  }
  const auto most = std::ranges::max_element(found, {}, [](const auto& row) { return row.second.bytes; });
  const Alike& alike = most->second;
  const size_t others = all.size() - alike.count;
  return StrCat(alike.count == 1 ? alike.first : StrCat(alike.count, " x ", WithoutOuterLevels(most->first)),
                others == 0 ? "" : StrCat(" and ", others, others == 1 ? " other" : " others"));
}

}  // namespace sbp
