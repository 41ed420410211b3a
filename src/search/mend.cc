#include "search/mend.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <vector>

#include "base/jobs.h"
#include "base/status.h"
#include "search/core.h"
#include "search/memory_prices.h"
#include "search/neighbourhood.h"
#include "search/reduce.h"

namespace sbp {
namespace {

constexpr size_t kTracks = 2;  // searches side by side, whatever the number of threads
constexpr int64_t kWorkOfRound = kSearchWorkPerSecond / 50;

}  // namespace

SolveResult Mend(const CostNetwork& network, std::span<const int32_t> start, const MendOptions& options) {
  SolveResult result;
  result.choice.assign(start.begin(), start.end());
  result.evaluation = Evaluate(network, result.choice);
  if (result.evaluation.forbidden) return result;
  const Result<Reduction> reduction = Reduction::Of(network, {.stop = options.stop});
  if (!reduction.ok()) return result;
  const Core& core = reduction->core();
  const std::vector<double> prices = PricesOfCore(options.prices, core, network.unit);
  const std::vector<int32_t> first = reduction->Contract(start);
  std::array<NeighbourhoodSearch, kTracks> tracks = {NeighbourhoodSearch(core, options.seed + 1),
                                                     NeighbourhoodSearch(core, options.seed + 2)};
  for (NeighbourhoodSearch& track : tracks) {
    track.SetChoice(first);
    track.SetMultipliers(prices);
  }
  const auto rank = [](const NeighbourhoodSearch& track) { return std::tuple(track.excess(), track.cost()); };
  const auto rounds = static_cast<int64_t>(options.effort * kSearchWorkPerSecond / (kTracks * kWorkOfRound));
  for (int64_t round = 0; round < std::max<int64_t>(1, rounds); ++round) {
    if (options.stop && options.stop()) break;
    RunJobs(kTracks, std::clamp(options.threads, 1, static_cast<int>(kTracks)), {}, {}, [&](size_t t) {
      for (int64_t work = 0; work < kWorkOfRound;) work += tracks[t].Step();
    });
    // What lies far behind goes on from the better one.
    const size_t better = rank(tracks[1]) < rank(tracks[0]) ? 1 : 0;
    if (tracks[1 - better].excess() > tracks[better].excess()) tracks[1 - better].SetChoice(tracks[better].choice());
  }
  const NeighbourhoodSearch& best = *std::ranges::min_element(tracks, {}, rank);
  const std::vector<int32_t> choice = reduction->Expand(best.choice());
  const Evaluation evaluation = Evaluate(network, choice);
  if (evaluation.forbidden) return result;
  result.choice = choice;
  result.evaluation = evaluation;
  return result;
}

}  // namespace sbp
