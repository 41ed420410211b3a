// The two printed forms of explained facts.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "explain/explain.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"
#include "strategy/optimal/what_if.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostOperandsSpelled = 12;  // of a signature; more: runs of equal layouts
constexpr size_t kNeighbours = 8;            // shown without --all

Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string Layout(const NdSbp& layout, const ExplainFormat& format, int rank) {
  return FormatLayout(layout, rank, format.notation);
}

// "3 x S(0), B": a run of equal layouts of an op of very many operands is one.
std::string LayoutRuns(const std::vector<NdSbp>& layouts, const std::vector<int>& ranks, const ExplainFormat& format) {
  std::vector<std::string> parts;
  for (size_t begin = 0, end = 0; begin < layouts.size(); begin = end) {
    while (end < layouts.size() && layouts[end] == layouts[begin] && ranks[end] == ranks[begin]) ++end;
    const std::string layout = Layout(layouts[begin], format, ranks[begin]);
    parts.push_back(end - begin == 1 ? layout : StrCat(FormatCount(static_cast<int64_t>(end - begin)), " x ", layout));
  }
  return Join(parts, ", ");
}

std::string FormatRanges(const std::vector<Range>& ranges) {
  std::vector<std::string> parts;
  for (const Range& range : ranges) parts.push_back(StrCat(range.begin, ":", range.end));
  return StrCat("[", Join(parts, ", "), "]");
}

// "val_76" (m/mlp/fc1:weight), of a label that starts with the name.
std::string Labelled(const std::string& name, std::string_view label) {
  return StrCat(Quote(name), label.substr(name.size()));
}

// Two lines each: what happens to which tensor, and why; of the dearest `limit`.
std::string FormatCollectives(std::vector<ExplainedCollective> collectives, const std::string& indent, size_t limit,
                              const ExplainFormat& format) {
  std::stable_sort(collectives.begin(), collectives.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  const size_t shown = std::min(limit, collectives.size());
  std::string text;
  double rest = 0;
  for (size_t i = 0; i < collectives.size(); ++i) {
    const ExplainedCollective& c = collectives[i];
    if (i >= shown) {
      rest += c.seconds;
      continue;
    }
    const bool hidden = c.exposed_seconds && *c.exposed_seconds < c.seconds * (1 - 1e-9);
    text += StrCat(indent, FormatSeconds(c.seconds),
                   hidden ? StrCat(" (exposed ", FormatSeconds(*c.exposed_seconds), ")") : "", ", ",
                   FormatBytes(c.wire_bytes), ": ", Join(c.steps, ", then "), " of ", Labelled(c.tensor, c.label), ", ",
                   Layout(c.from, format, c.rank), " -> ", Layout(c.to, format, c.rank), "\n", indent, "  because ",
                   c.reason, "\n");
  }
  const size_t left = collectives.size() - shown;
  if (left > 0) text += StrCat(indent, "and ", left, " more, ", FormatSeconds(rest), "\n");
  return text;
}

std::string FormatNeighbours(const std::vector<ExplainedNeighbour>& neighbours, const ExplainFormat& format) {
  const size_t shown = format.all ? neighbours.size() : std::min(kNeighbours, neighbours.size());
  std::string text;
  for (const ExplainedNeighbour& n : std::span(neighbours).first(shown)) {
    text += StrCat("  ", n.slot, " ", Labelled(n.tensor, n.label), ", ", n.other, ": written ",
                   Layout(n.written, format, n.rank), ", used ", Layout(n.used, format, n.rank),
                   n.written == n.used ? "" : "  (boxed)", "\n");
  }
  if (shown < neighbours.size())
    text += StrCat("  and ", FormatCount(static_cast<int64_t>(neighbours.size() - shown)), " more (--all)\n");
  return text;
}

std::string FormatPrice(const ExplainedPrice& price, double value) {
  if (price.unit == "seconds") return FormatSeconds(value);
  if (price.unit == "bytes") return FormatBytes(value);
  return FormatDouble(value);
}

std::string FormatSigned(double seconds) { return StrCat(seconds < 0 ? "-" : "+", FormatSeconds(std::abs(seconds))); }

// What a candidate that was not chosen costs the step.
std::string FormatMore(const ExplainedCandidate& candidate) {
  if (!candidate.forced) {
    return FormatSigned(candidate.extra_seconds) + " on the sum of prices, all else as it is";
  }
  const ForcedStep& more = *candidate.forced;
  if (std::isinf(more.at_least)) return "no plan is left with it";
  if (more.at_least == more.at_most) return FormatSigned(more.at_most) + " on the sum of prices (proved)";
  const bool bounds = more.at_least >= 0;  // a bound below the plan's own time says nothing
  if (std::isinf(more.at_most)) {          // not searched one by one
    const std::string here =
        candidate.extra_seconds < 0 ? "" : StrCat(FormatSigned(candidate.extra_seconds), " with all else as it is");
    if (!bounds) return here.empty() ? "not searched" : here;
    return StrCat(FormatSigned(more.at_least), " or more on the sum of prices", here.empty() ? "" : ", ", here);
  }
  if (!bounds) return StrCat("at most ", FormatSigned(more.at_most), " on the sum of prices");
  return StrCat(FormatSigned(more.at_least), " to ", FormatSigned(more.at_most), " on the sum of prices");
}

// By which candidates are sorted, the chosen one apart: its own price for greedy, else what it costs the step at most.
std::vector<double> SortPrices(const ExplainedOp& op) {
  std::vector<double> prices;
  for (const ExplainedCandidate& candidate : op.candidates) {
    double price = candidate.extra_seconds;
    if (candidate.forced)
      price = std::isinf(candidate.forced->at_least) ? candidate.forced->at_least
                                                     : std::min(price, candidate.forced->at_most);
    for (const ExplainedPrice& own : candidate.prices) {
      if (own.criterion == op.criterion) price = own.price;
    }
    prices.push_back(price);
  }
  return prices;
}

std::string FormatTerms(const ExplainedCandidate& candidate, const std::string& indent) {
  std::string text;
  for (const ExplainedPrice& price : candidate.prices) {
    text += StrCat(indent, price.criterion, " ", FormatPrice(price, price.price));
    std::vector<std::string> terms;
    for (const PriceTerm& term : price.terms) {
      if (term.value != 0) terms.push_back(StrCat(FormatPrice(price, term.value), " (", term.what, ")"));
    }
    text += terms.empty() ? "\n" : StrCat(" = ", Join(terms, " + "), "\n");
  }
  return text;
}

std::string FormatCandidate(const ExplainedCandidate& candidate, const ExplainedOp& op, const ExplainFormat& format) {
  std::string text = StrCat(candidate.chosen ? "* " : "  ", SignatureText(candidate.signature, op, format),
                            candidate.allowed ? "" : "  (excluded by pins)", "\n      ");
  if (!candidate.chosen) text += FormatMore(candidate) + "; ";
  text += StrCat("the op ", FormatSeconds(candidate.compute_seconds), ", boxing around it ",
                 FormatSeconds(candidate.boxing_seconds));
  for (const ExplainedPrice& own : candidate.prices) {
    if (own.criterion == op.criterion) text += StrCat("; ", own.criterion, " ", FormatPrice(own, own.price));
  }
  text += StrCat("\n      ", candidate.choice, "\n");
  return format.all ? text + FormatTerms(candidate, "      ") : text;
}

// The line that says what the strategy has missed; "" where nothing was.
std::string FasterCandidate(const ExplainedOp& op, const ExplainFormat& format) {
  const ExplainedCandidate* best = nullptr;
  for (const ExplainedCandidate& candidate : op.candidates) {
    const double noise = 1e-9 * (candidate.compute_seconds + candidate.boxing_seconds);
    if (!candidate.allowed || candidate.extra_seconds >= -noise) continue;
    if (best == nullptr || candidate.extra_seconds < best->extra_seconds) best = &candidate;
  }
  if (best == nullptr) return "";
  return StrCat("           with its neighbours as they are, ", SignatureText(best->signature, op, format),
                " would take ", FormatSeconds(-best->extra_seconds), " less\n");
}

std::string FormatNext(const ExplainedOp& op, const std::vector<size_t>& order, const ExplainFormat& format) {
  if (op.candidates.size() < 2) return "next best  none: the op has no other candidate\n";
  const ExplainedCandidate& next = op.candidates[order[1]];
  if (!next.allowed) return "next best  none: the pins leave no other candidate\n";
  return StrCat("next best  ", SignatureText(next.signature, op, format), ": ", FormatMore(next), "\n           ",
                next.choice, "\n");
}

// The answer: at most 15 lines.
std::string FormatAnswer(const ExplainedOp& op, const Mesh& mesh, const std::vector<size_t>& order,
                         const ExplainFormat& format) {
  constexpr size_t kCollectives = 2, kPins = 2;
  const std::string indent(11, ' ');
  const ExplainedCandidate& chosen = op.candidates[order[0]];
  std::string text =
      StrCat("op ", Quote(op.name), ": ", op.type, " on ", ToString(mesh), "\nchosen     ",
             SignatureText(chosen.signature, op, format), "\n", indent, chosen.choice, "\n", indent, "the op ",
             FormatSeconds(chosen.compute_seconds), ", boxing around it ", FormatSeconds(chosen.boxing_seconds),
             "\nbecause    ", op.strategy, ": ", op.reason, "\n",
             op.kernel.empty() ? "" : StrCat("kernel     ", op.kernel, "\n"),
             op.again.empty() ? "" : StrCat("again      computes ", Quote(op.again), " again for the backward pass\n"),
             FasterCandidate(op, format));
  for (size_t i = 0; i < std::min(op.pins.size(), kPins); ++i) {
    const size_t left = op.pins.size() - kPins;
    text += StrCat(i == 0 ? "pinned     " : indent, op.pins[i],
                   i + 1 == kPins && op.pins.size() > kPins ? StrCat(" and ", left, " more") : "", "\n");
  }
  text += FormatNext(op, order, format);
  if (op.collectives.empty()) return text + "causes     no collective\n";
  std::string causes = FormatCollectives(op.collectives, indent, kCollectives, format);
  return text + causes.replace(0, indent.size(), "causes     ");
}

// Of each rank its part of every layout.
std::string FormatSlices(const ExplainedLayout& layout, int64_t num_devices, size_t limit) {
  std::string text;
  const size_t shown = std::min(limit, layout.slices.size());
  for (size_t i = 0; i < shown; ++i) {
    const ExplainedSlice& slice = layout.slices[i];
    text += StrCat("    rank ", slice.rank, " at (", Join(slice.coordinates, ", "), "): ", FormatRanges(slice.ranges),
                   "\n");
  }
  const int64_t left = num_devices - static_cast<int64_t>(shown);
  if (left > 0) {
    text += StrCat("    and ", left, left == 1 ? " other rank" : " other ranks",
                   shown < layout.slices.size() ? " (--all)\n" : "\n");
  }
  return text;
}

Json NeighboursJson(const std::vector<ExplainedNeighbour>& neighbours, const ExplainFormat& format) {
  Json list = Json::array();
  for (const ExplainedNeighbour& n : neighbours) {
    list.push_back({{"slot", n.slot},
                    {"tensor", n.tensor},
                    {"label", n.label},
                    {"other", n.other},
                    {"written", Layout(n.written, format, n.rank)},
                    {"used", Layout(n.used, format, n.rank)}});
  }
  return list;
}

Json CollectivesJson(const std::vector<ExplainedCollective>& collectives, const ExplainFormat& format) {
  Json list = Json::array();
  for (const ExplainedCollective& c : collectives) {
    list.push_back({{"tensor", c.tensor},
                    {"label", c.label},
                    {"from", Layout(c.from, format, c.rank)},
                    {"to", Layout(c.to, format, c.rank)},
                    {"steps", c.steps},
                    {"seconds", Number(c.seconds)},
                    {"exposed_seconds", c.exposed_seconds ? Number(*c.exposed_seconds) : Json()},
                    {"bytes", Number(c.wire_bytes)},
                    {"reason", c.reason}});
  }
  return list;
}

Json CandidateJson(const ExplainedCandidate& candidate, const ExplainedOp& op, const ExplainFormat& format) {
  Json prices = Json::object();
  for (const ExplainedPrice& price : candidate.prices) {
    Json terms = Json::array();
    for (const PriceTerm& term : price.terms) terms.push_back({{"what", term.what}, {"value", Number(term.value)}});
    prices[price.criterion] = {{"unit", price.unit}, {"price", Number(price.price)}, {"terms", std::move(terms)}};
  }
  Json forced = nullptr;
  if (candidate.forced) {
    forced = {{"at_least", Number(candidate.forced->at_least)}, {"at_most", Number(candidate.forced->at_most)}};
  }
  return {{"signature", SignatureText(candidate.signature, op, format)},
          {"choice", candidate.choice},
          {"chosen", candidate.chosen},
          {"allowed", candidate.allowed},
          {"compute_seconds", Number(candidate.compute_seconds)},
          {"boxing_seconds", Number(candidate.boxing_seconds)},
          {"extra_seconds", Number(candidate.extra_seconds)},
          {"forced", std::move(forced)},
          {"prices", std::move(prices)}};
}

// Names come from files and need not be valid UTF-8: replaced, never thrown over.
std::string Print(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

std::string SignatureText(const Signature& signature, const ExplainedOp& op, const ExplainFormat& format) {
  if (signature.inputs.size() > kMostOperandsSpelled) {
    return StrCat(LayoutRuns(signature.inputs, op.operand_ranks, format), " -> ",
                  LayoutRuns(signature.outputs, op.result_ranks, format));
  }
  return FormatSignature(signature, op.operand_ranks, op.result_ranks, format.notation);
}

std::vector<size_t> CandidatesByPrice(const ExplainedOp& op) {
  const std::vector<double> prices = SortPrices(op);
  std::vector<size_t> order(op.candidates.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const ExplainedCandidate &x = op.candidates[a], &y = op.candidates[b];
    if (x.chosen != y.chosen) return x.chosen;
    if (x.allowed != y.allowed) return x.allowed;
    return prices[a] != prices[b] ? prices[a] < prices[b] : x.extra_seconds < y.extra_seconds;
  });
  return order;
}

std::string FormatExplained(const ExplainedOp& op, const Mesh& mesh, const ExplainFormat& format) {
  const std::vector<size_t> order = CandidatesByPrice(op);
  std::string text = FormatAnswer(op, mesh, order, format);
  text += StrCat("\nneighbours\n", FormatNeighbours(op.neighbours, format));
  if (format.all && op.collectives.size() > 2) {
    text += "\ncollectives that the choice causes\n" +
            FormatCollectives(op.collectives, "  ", op.collectives.size(), format);
  }
  const size_t shown = format.all ? order.size() : std::min(format.max_candidates, order.size());
  text += StrCat("\ncandidates by price (", shown < order.size() ? StrCat(shown, " of ") : "", order.size(), ")\n");
  for (size_t i = 0; i < shown; ++i) text += FormatCandidate(op.candidates[order[i]], op, format);
  if (format.all) return text + "\nrule\n" + op.rule;
  return text + "\n--all lists all candidates with their prices by every criterion, and the rule\n";
}

std::string FormatExplained(const ExplainedTensor& tensor, const Mesh& mesh, const ExplainFormat& format) {
  constexpr size_t kCollectives = 3, kRanks = 8;
  std::string text = StrCat("tensor ", Quote(tensor.name), ": ", tensor.type, ", ", tensor.role,
                            tensor.module.empty() ? "" : StrCat(" ", tensor.module), ", on ", ToString(mesh), "\n");
  for (const ExplainedLayout& layout : tensor.layouts) {
    text += StrCat(&layout == &tensor.layouts.front() ? "lies       " : "           ",
                   Layout(layout.layout, format, layout.rank), ", ", layout.how, "\n");
  }
  for (const std::string& pattern : tensor.patterns) {
    text += StrCat(&pattern == &tensor.patterns.front() ? "spread     " : "           ", pattern, "\n");
  }
  for (const std::string& pin : tensor.pins) text += StrCat("pinned     ", pin, "\n");
  const size_t collectives = format.all ? tensor.collectives.size() : kCollectives;
  std::string causes = FormatCollectives(tensor.collectives, std::string(11, ' '), collectives, format);
  text += tensor.collectives.empty() ? "boxed      nowhere\n" : causes.replace(0, 11, "boxed      ");
  text +=
      tensor.neighbours.empty() ? "\nread by nobody\n" : "\nreaders\n" + FormatNeighbours(tensor.neighbours, format);
  text += "\nparts of the ranks\n";
  for (const ExplainedLayout& layout : tensor.layouts) {
    text += StrCat("  ", Layout(layout.layout, format, layout.rank), "\n",
                   FormatSlices(layout, tensor.num_devices, format.all ? layout.slices.size() : kRanks));
  }
  return text;
}

std::string ExplainedJson(const ExplainedOp& op, const ExplainFormat& format) {
  Json candidates = Json::array();
  for (const ExplainedCandidate& candidate : op.candidates) candidates.push_back(CandidateJson(candidate, op, format));
  Json json = {{"op", op.name},
               {"type", op.type},
               {"strategy", op.strategy},
               {"reason", op.reason},
               {"kernel", op.kernel},
               {"pins", op.pins},
               {"neighbours", NeighboursJson(op.neighbours, format)},
               {"candidates", std::move(candidates)},
               {"collectives", CollectivesJson(op.collectives, format)},
               {"rule", op.rule}};
  if (!op.again.empty()) json["again"] = op.again;
  return Print(json);
}

std::string ExplainedJson(const ExplainedTensor& tensor, const ExplainFormat& format) {
  Json layouts = Json::array();
  for (const ExplainedLayout& layout : tensor.layouts) {
    Json slices = Json::array();
    for (const ExplainedSlice& slice : layout.slices) {
      Json ranges = Json::array();
      for (const Range& range : slice.ranges) ranges.push_back({range.begin, range.end});
      slices.push_back({{"rank", slice.rank}, {"coordinates", slice.coordinates}, {"ranges", std::move(ranges)}});
    }
    layouts.push_back(
        {{"layout", Layout(layout.layout, format, layout.rank)}, {"how", layout.how}, {"slices", std::move(slices)}});
  }
  return Print({{"tensor", tensor.name},
                {"type", tensor.type},
                {"role", tensor.role},
                {"module", tensor.module.empty() ? Json(nullptr) : Json(tensor.module)},
                {"pins", tensor.pins},
                {"patterns", tensor.patterns},
                {"readers", NeighboursJson(tensor.neighbours, format)},
                {"layouts", std::move(layouts)},
                {"collectives", CollectivesJson(tensor.collectives, format)}});
}

}  // namespace sbp
