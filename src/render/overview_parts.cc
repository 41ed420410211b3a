// Which parts of a model an overview shows: from the whole, the part that takes longest is opened again and again while
// there is room.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "graph/kept.h"
#include "graph/phases.h"
#include "plan/plan.h"
#include "render/opening.h"
#include "render/outline.h"
#include "render/outline_tree.h"
#include "render/overview.h"
#include "render/side_tables.h"

namespace sbp {
namespace {

constexpr size_t kMostParts = 14;       // that a screen holds beside each other and can be read
constexpr size_t kMostExpanded = 30;    // with --expand
constexpr double kWorthOpening = 0.04;  // share of the whole
constexpr double kSmall = 0.01;         // neighbours that are smaller are one part
constexpr size_t kOutlineItems = 64;

// A scope, repeat or range; or ops and small scopes that follow each other.
struct Entry {
  std::vector<OutlineItem> items;
  int32_t frame = -1;
  int64_t copies = 1;
  std::string label;  // of the repeat that it was
  double weight = 0;  // of all copies, of frames too
  bool wanted = false, closed = false;
};

class PartChooser {
 public:
  PartChooser(const Plan& plan, const Outline& outline, std::vector<bool> wanted, const std::vector<double>& weights)
      : plan_(plan), outline_(outline), wanted_(std::move(wanted)) {
    node_weight_.assign(outline.nodes.size(), 0);
    op_weight_ = &weights;
    for (uint32_t o = 0; o < outline.op_node.size(); ++o) {
      for (int32_t n = outline.op_node[o]; n >= 0; n = outline.nodes[n].parent) node_weight_[n] += weights[o];
    }
  }

  OverviewParts Run() {
    const bool training = HasBackward(plan_.graph);
    std::vector<OutlineItem> roots;
    for (const OutlineItem& item : outline_.nodes[0].items) {
      if (!training || PhaseOfItem(item) == Phase::kForward) roots.push_back(item);
    }
    entries_ = Group(std::move(roots), -1, 1, false);
    for (const Entry& entry : entries_) total_ += entry.weight;
    while (OpenHeaviest()) {
    }
    return Finish();
  }

 private:
  Phase PhaseOfItem(const OutlineItem& item) const {
    return item.is_op ? PhaseOf(plan_.graph, plan_.graph.ops[item.index])
                      : PhaseOfScope(outline_.nodes[item.index].path);
  }
  double WeightOf(const OutlineItem& item) const {
    return item.is_op ? (*op_weight_)[item.index] : node_weight_[item.index];
  }
  bool IsSideTables(const OutlineItem& item) const {
    return !item.is_op && outline_.nodes[item.index].path.ends_with(kSideTablesScope);
  }
  bool Wanted(const OutlineItem& item) const { return !item.is_op && wanted_[item.index]; }

  // The items of one level: scopes apart, but loose ops and what takes next to nothing together. `scale`: weights of
  // one copy as those of all; `apart`: one by one, as was asked for.
  std::vector<Entry> Group(std::vector<OutlineItem> items, int32_t frame, double scale, bool apart) const {
    std::stable_partition(items.begin(), items.end(), [&](const OutlineItem& item) { return IsSideTables(item); });
    double level = 0;
    for (const OutlineItem& item : items) level += WeightOf(item) * scale;
    const double small = kSmall * (total_ > 0 ? total_ : level);
    std::vector<Entry> entries;
    bool open = false;  // the last entry takes more
    for (const OutlineItem& item : items) {
      const double weight = WeightOf(item) * scale;
      const bool joins = !apart && !Wanted(item) && (item.is_op || weight < small) && !IsSideTables(item);
      if (joins && open) {
        entries.back().items.push_back(item);
        entries.back().weight += weight;
      } else {
        Entry entry;
        entry.items = {item};
        entry.frame = frame;
        entry.weight = weight;
        entry.wanted = Wanted(item);
        entries.push_back(std::move(entry));
      }
      open = joins;
    }
    return entries;
  }

  // Opens one entry; false: none is worth it, or has room.
  bool OpenHeaviest() {
    std::vector<size_t> order;
    for (size_t e = 0; e < entries_.size(); ++e) {
      const bool worth = entries_[e].wanted || entries_[e].weight >= kWorthOpening * total_;
      if (!entries_[e].closed && worth) order.push_back(e);
    }
    std::ranges::stable_sort(order, [&](size_t a, size_t b) {
      return std::pair(entries_[b].wanted, entries_[b].weight) < std::pair(entries_[a].wanted, entries_[a].weight);
    });
    for (const size_t e : order) {
      if (Open(e)) return true;
    }
    return false;
  }

  bool Open(size_t e) {
    Entry& entry = entries_[e];
    if (entry.items.size() > 1) return Halve(e);
    const OutlineItem item = entry.items[0];
    if (item.is_op || IsSideTables(item)) return Close(entry);
    const OutlineNode& node = outline_.nodes[item.index];
    if (node.kind == OutlineNode::Kind::kRepeat) {
      if (node.items[0].is_op) return Close(entry);
      entry.copies *= static_cast<int64_t>(node.items.size());
      entry.label = Within(node.path, entry.frame);
      entry.items = {node.items[0]};
      return true;
    }
    if (node.stays_closed && !entry.wanted) return Close(entry);
    const bool only_ops = std::ranges::all_of(node.items, [](const OutlineItem& inner) { return inner.is_op; });
    // What a leaf holds says less than its name, unless it is most of the model.
    const bool leaf = only_ops && node.kind == OutlineNode::Kind::kScope && entry.weight < 0.3 * total_;
    if (node.items.empty() || (leaf && !entry.wanted)) return Close(entry);
    const double scale = node_weight_[item.index] > 0 ? entry.weight / node_weight_[item.index] : 1;
    const size_t frame = frames_.size();
    const bool framed = entry.copies > 1;
    std::vector<Entry> inner =
        Group(node.items, framed ? static_cast<int32_t>(frame) : entry.frame, scale, entry.wanted);
    if (inner.size() == 1 && inner[0].items.size() == 1 && !inner[0].items[0].is_op) {
      entry.items = inner[0].items;  // a scope around another one
      return true;
    }
    for (const bool keep : {true, false}) {  // what is to be opened itself
      if (entry.wanted && !Fits(inner.size(), true)) inner = Ranges(std::move(inner), keep);
    }
    if (inner.size() < 2 || !Fits(inner.size(), entry.wanted)) return Close(entry);
    if (framed) frames_.push_back({entry.label, entry.copies, entry.frame, 0, 0});
    if (framed) frame_path_.push_back(node.path);
    Replace(e, std::move(inner));
    return true;
  }

  // As many ranges of neighbours as there is room for; `keep`: what is to be opened itself stays apart, which may be
  // too many.
  std::vector<Entry> Ranges(std::vector<Entry> inner, bool keep) const {
    const size_t room = kMostExpanded - std::min(kMostExpanded - 1, entries_.size() - 1);
    const size_t longest = (inner.size() + room - 1) / room;
    std::vector<Entry> ranges;
    size_t length = 0;  // of the last one
    for (Entry& entry : inner) {
      const bool apart = ranges.empty() || (keep && (entry.wanted || ranges.back().wanted));
      if (apart || length == longest) {
        ranges.push_back(std::move(entry));
        length = 1;
        continue;
      }
      ranges.back().items.insert(ranges.back().items.end(), entry.items.begin(), entry.items.end());
      ranges.back().weight += entry.weight;
      ranges.back().wanted = false;
      ++length;
    }
    return ranges;
  }

  static bool Close(Entry& entry) {
    entry.closed = true;
    return false;
  }

  // Loose ops and small parts, at about the middle of their weight.
  bool Halve(size_t e) {
    Entry& entry = entries_[e];
    if (entry.weight < 2 * kWorthOpening * total_ || !Fits(2, false)) return Close(entry);
    double own = 0;
    for (const OutlineItem& item : entry.items) own += WeightOf(item);
    const double scale = own > 0 ? entry.weight / own : 1;
    Entry second = entry;
    second.weight = 0;
    size_t cut = 0;
    for (double sum = 0; cut + 1 < entry.items.size() && (cut == 0 || sum < own / 2); ++cut)
      sum += WeightOf(entry.items[cut]);
    second.items.assign(entry.items.begin() + static_cast<ptrdiff_t>(cut), entry.items.end());
    for (const OutlineItem& item : second.items) second.weight += WeightOf(item) * scale;
    Entry first = entry;
    first.items.resize(cut);
    first.weight -= second.weight;
    Replace(e, {std::move(first), std::move(second)});
    return true;
  }

  bool Fits(size_t instead, bool wanted) const {
    return entries_.size() - 1 + instead <= (wanted ? kMostExpanded : kMostParts);
  }

  void Replace(size_t e, std::vector<Entry> with) {
    entries_.erase(entries_.begin() + static_cast<ptrdiff_t>(e));
    entries_.insert(entries_.begin() + static_cast<ptrdiff_t>(e), with.begin(), with.end());
  }

  OverviewParts Finish() {
    OverviewParts out;
    out.stand_in = StandIns(outline_, std::vector<bool>(outline_.nodes.size(), false));
    for (const Entry& entry : entries_) {
      OverviewPart part;
      part.frame = entry.frame;
      part.copies = entry.copies;
      for (const OutlineItem& item : entry.items) {
        const std::vector<uint32_t> ops = item.is_op ? std::vector<uint32_t>{item.index} : FirstCopyOps(item.index);
        part.ops.insert(part.ops.end(), ops.begin(), ops.end());
      }
      if (part.ops.empty()) continue;
      Name(entry, part);
      out.parts.push_back(std::move(part));
    }
    out.frames = frames_;
    for (size_t f = 0; f < out.frames.size(); ++f) out.frames[f].first = out.parts.size();
    for (size_t p = 0; p < out.parts.size(); ++p) {
      for (int32_t f = out.parts[p].frame; f >= 0; f = out.frames[f].parent) {
        out.frames[f].first = std::min(out.frames[f].first, p);
        out.frames[f].last = p;
      }
    }
    return out;
  }

  // Of a repeat that stays closed the first copy stands for all.
  std::vector<uint32_t> FirstCopyOps(uint32_t node) {
    const OutlineNode& at = outline_.nodes[node];
    if (at.kind != OutlineNode::Kind::kRepeat || at.items.empty()) return outline_.OpsOf(node);
    return at.items[0].is_op ? std::vector<uint32_t>{at.items[0].index} : outline_.OpsOf(at.items[0].index);
  }

  void Name(const Entry& entry, OverviewPart& part) const {
    const OutlineItem item = entry.items[0];
    if (entry.items.size() == 1 && !item.is_op) {
      const OutlineNode& node = outline_.nodes[item.index];
      part.path = node.path;
      part.title = entry.label.empty() ? Within(node.path, entry.frame) : entry.label;  // which names all copies
      if (node.kind == OutlineNode::Kind::kRepeat && !node.items.empty()) {
        part.copies *= static_cast<int64_t>(node.items.size());
      }
      return;
    }
    std::vector<std::string> names;
    for (const OutlineItem& inner : entry.items) {
      std::string name =
          inner.is_op ? plan_.graph.type_of(plan_.graph.ops[inner.index]) : outline_.nodes[inner.index].label;
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
    const auto& first = plan_.graph.ops[part.ops.front()].name;
    const auto& last = plan_.graph.ops[part.ops.back()].name;
    part.path = part.ops.size() == 1 ? first : StrCat(first, " .. ", last);
    constexpr size_t kNamed = 4;
    const size_t more = names.size() > kNamed ? names.size() - kNamed : 0;
    if (more > 0) names.resize(kNamed);
    part.title = StrCat(Join(names, ", "), more > 0 ? StrCat(", ", more, " more") : "");
  }

  // Without what the innermost frame around it that is a scope says, and without the name of the pass.
  std::string Within(std::string_view path, int32_t frame) const {
    const auto starts_with = [&](std::string_view around) {
      return path.size() > around.size() + 1 && path.starts_with(around) && path[around.size()] == '/';
    };
    std::string_view around = PhaseName(Phase::kForward);
    for (int32_t f = frame; f >= 0; f = frames_[f].parent) {
      if (!starts_with(frame_path_[f])) continue;
      around = frame_path_[f];
      break;
    }
    if (starts_with(around)) path.remove_prefix(around.size() + 1);
    return std::string(path);
  }

  const Plan& plan_;
  const Outline& outline_;
  const std::vector<bool> wanted_;
  const std::vector<double>* op_weight_ = nullptr;
  std::vector<double> node_weight_;
  double total_ = 0;
  std::vector<Entry> entries_;
  std::vector<OverviewFrame> frames_;
  std::vector<std::string> frame_path_;
};

}  // namespace

Result<OverviewParts> ChooseParts(const Plan& plan, const std::vector<double>& weights,
                                  const std::vector<std::string>& expand) {
  const Outline outline = BuildOutline(plan, {.max_items = kOutlineItems});
  SBP_ASSIGN_OR_RETURN(std::vector<bool> wanted, WantedNodes(outline, expand));
  return PartChooser(plan, outline, std::move(wanted), weights).Run();
}

}  // namespace sbp
