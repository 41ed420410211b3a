// The two printed forms of explained facts.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/text.h"
#include "explain/explain.h"

namespace sbp {
namespace {

using Json = nlohmann::ordered_json;

Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string Layout(const NdSbp& layout, const ExplainFormat& format, int rank) {
  return FormatLayout(layout, rank, format.notation);
}

std::string SignatureText(const Signature& signature, const ExplainedOp& op, const ExplainFormat& format) {
  return FormatSignature(signature, op.operand_ranks, op.result_ranks, format.notation);
}

std::string FormatRanges(const std::vector<Range>& ranges) {
  std::vector<std::string> parts;
  for (const Range& range : ranges) parts.push_back(StrCat(range.begin, ":", range.end));
  return StrCat("[", Join(parts, ", "), "]");
}

std::string FormatCollectives(const std::vector<ExplainedCollective>& collectives, const ExplainFormat& format) {
  std::string text;
  for (const ExplainedCollective& c : collectives) {
    text += StrCat("  ", c.tensor, ": ", Layout(c.from, format, c.rank), " -> ", Layout(c.to, format, c.rank), " by ",
                   Join(c.steps, ", "), ", ", FormatBytes(c.wire_bytes), ", ", FormatSeconds(c.seconds), "\n    ",
                   c.reason, "\n");
  }
  return text;
}

std::string FormatNeighbours(const std::vector<ExplainedNeighbour>& neighbours, const ExplainFormat& format) {
  std::string text;
  for (const ExplainedNeighbour& n : neighbours) {
    text += StrCat("  ", n.slot, " ", Quote(n.tensor), ", ", n.other, ": written ", Layout(n.written, format, n.rank),
                   ", used ", Layout(n.used, format, n.rank), n.written == n.used ? "" : "  (boxed)", "\n");
  }
  return text;
}

std::string FormatPrice(const ExplainedPrice& price, double value) {
  if (price.unit == "seconds") return FormatSeconds(value);
  if (price.unit == "bytes") return FormatBytes(value);
  return FormatDouble(value);
}

// The price of forcing a candidate, all else chosen anew.
std::string FormatForced(const ForcedStep& more) {
  if (std::isinf(more.at_least)) return "forced: no plan is left";
  std::string text = StrCat("forced: +", FormatSeconds(more.at_least), " on the whole step");
  if (more.at_least == more.at_most) return text + " (proved)";
  return text + (std::isinf(more.at_most) ? " or more" : StrCat(" or more, +", FormatSeconds(more.at_most), " found"));
}

std::string FormatCandidate(const ExplainedCandidate& candidate, const ExplainedOp& op, const ExplainFormat& format) {
  std::string text = StrCat(candidate.chosen ? "* " : "  ", SignatureText(candidate.signature, op, format),
                            candidate.allowed ? "" : "  (excluded by pins)", "\n      ", candidate.choice, "\n");
  text += StrCat("      the op ", FormatSeconds(candidate.compute_seconds), ", boxing around it ",
                 FormatSeconds(candidate.boxing_seconds));
  if (!candidate.chosen) {
    const bool dearer = candidate.extra_seconds >= 0;
    text += StrCat(": ", FormatSeconds(std::abs(candidate.extra_seconds)), dearer ? " more" : " less",
                   " than the chosen one");
  }
  text += "\n";
  if (candidate.forced) text += StrCat("      ", FormatForced(*candidate.forced), "\n");
  for (const ExplainedPrice& price : candidate.prices) {
    text += StrCat("      ", price.criterion, " ", FormatPrice(price, price.price));
    std::vector<std::string> terms;
    for (const PriceTerm& term : price.terms) {
      if (term.value != 0) terms.push_back(StrCat(FormatPrice(price, term.value), " (", term.what, ")"));
    }
    text += terms.empty() ? "\n" : StrCat(" = ", Join(terms, " + "), "\n");
  }
  return text;
}

// The cheapest candidates and the chosen one, in registration order.
std::vector<size_t> Shown(const std::vector<ExplainedCandidate>& candidates, size_t limit) {
  std::vector<size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), 0);
  if (order.size() <= limit) return order;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (candidates[a].chosen != candidates[b].chosen) return candidates[a].chosen;
    return candidates[a].extra_seconds < candidates[b].extra_seconds;
  });
  order.resize(limit);
  std::sort(order.begin(), order.end());
  return order;
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
  return StrCat("with its neighbours as they are, ", SignatureText(best->signature, op, format), " would take ",
                FormatSeconds(-best->extra_seconds), " less\n");
}

Json NeighboursJson(const std::vector<ExplainedNeighbour>& neighbours, const ExplainFormat& format) {
  Json list = Json::array();
  for (const ExplainedNeighbour& n : neighbours) {
    list.push_back({{"slot", n.slot},
                    {"tensor", n.tensor},
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
                    {"from", Layout(c.from, format, c.rank)},
                    {"to", Layout(c.to, format, c.rank)},
                    {"steps", c.steps},
                    {"seconds", Number(c.seconds)},
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

std::string FormatExplained(const ExplainedOp& op, const Mesh& mesh, const ExplainFormat& format) {
  std::string text = StrCat("op ", Quote(op.name), ": ", op.type, " on ", ToString(mesh), "\nchosen by ", op.strategy,
                            ": ", op.reason, "\n", FasterCandidate(op, format));
  if (!op.pins.empty()) text += StrCat("pins:\n  ", Join(op.pins, "\n  "), "\n");
  text += StrCat("neighbours:\n", FormatNeighbours(op.neighbours, format));
  const std::vector<size_t> shown = Shown(op.candidates, format.max_candidates);
  text += StrCat("candidates: ", op.candidates.size());
  text += shown.size() < op.candidates.size() ? StrCat(", the ", shown.size(), " fastest shown (--max-candidates)\n")
                                              : std::string("\n");
  for (size_t c : shown) text += FormatCandidate(op.candidates[c], op, format);
  text += op.collectives.empty() ? "collectives: none\n" : "collectives that this choice causes:\n";
  return text + FormatCollectives(op.collectives, format) + "rule:\n" + op.rule;
}

std::string FormatExplained(const ExplainedTensor& tensor, const Mesh& mesh, const ExplainFormat& format) {
  std::string text = StrCat("tensor ", Quote(tensor.name), ": ", tensor.type, ", ", tensor.role,
                            tensor.module.empty() ? "" : StrCat(" ", tensor.module), ", on ", ToString(mesh), "\n");
  if (!tensor.pins.empty()) text += StrCat("pins:\n  ", Join(tensor.pins, "\n  "), "\n");
  text += tensor.neighbours.empty() ? "read by nobody\n" : "readers:\n";
  text += FormatNeighbours(tensor.neighbours, format);
  for (const ExplainedLayout& layout : tensor.layouts) {
    text += StrCat(Layout(layout.layout, format, layout.rank), ", ", layout.how, ":\n");
    for (const ExplainedSlice& slice : layout.slices) {
      text += StrCat("  rank ", slice.rank, " at (", Join(slice.coordinates, ", "), "): ", FormatRanges(slice.ranges),
                     layout.layout.has_partial() ? "  (partial)" : "", "\n");
    }
    const int64_t hidden = tensor.num_devices - static_cast<int64_t>(layout.slices.size());
    if (hidden > 0) text += StrCat("  ... and ", hidden, " more ranks\n");
  }
  text += tensor.collectives.empty() ? "collectives: none\n" : "collectives:\n";
  return text + FormatCollectives(tensor.collectives, format);
}

std::string ExplainedJson(const ExplainedOp& op, const ExplainFormat& format) {
  Json candidates = Json::array();
  for (const ExplainedCandidate& candidate : op.candidates) candidates.push_back(CandidateJson(candidate, op, format));
  return Print({{"op", op.name},
                {"type", op.type},
                {"strategy", op.strategy},
                {"reason", op.reason},
                {"pins", op.pins},
                {"neighbours", NeighboursJson(op.neighbours, format)},
                {"candidates", std::move(candidates)},
                {"collectives", CollectivesJson(op.collectives, format)},
                {"rule", op.rule}});
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
                {"readers", NeighboursJson(tensor.neighbours, format)},
                {"layouts", std::move(layouts)},
                {"collectives", CollectivesJson(tensor.collectives, format)}});
}

}  // namespace sbp
