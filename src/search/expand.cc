// The ways between a problem and its core: each reduction undone, or made, for a choice and for lower bounds.
#include <algorithm>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "search/reduce.h"

namespace sbp {

std::vector<int32_t> Reduction::Contract(std::span<const int32_t> choice) const {
  std::vector<int32_t> now(choice.begin(), choice.end());
  for (const Step& step : steps_) {
    if (const auto* kept = std::get_if<Kept>(&step)) {
      now[kept->node] = std::max(0, core_.matrices().Map(kept->instead)[now[kept->node]]);
    }
  }
  std::vector<int32_t> core_choice;
  for (const int32_t node : network_node_) core_choice.push_back(now[node]);
  return core_choice;
}

std::vector<int32_t> Reduction::Expand(std::span<const int32_t> core_choice) const {
  std::vector<int32_t> choice(network_size_, 0);
  for (size_t i = 0; i < network_node_.size(); ++i) choice[network_node_[i]] = core_choice[i];
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (const auto* kept = std::get_if<Kept>(&*step)) {
      choice[kept->node] = core_.matrices().Map(kept->kept)[choice[kept->node]];
    } else if (const auto* follows = std::get_if<Follows>(&*step)) {
      choice[follows->node] = core_.matrices().Map(follows->map)[choice[follows->of]];
    } else {
      const Best& best = std::get<Best>(*step);
      double least = kForbidden;
      choice[best.node] = 0;
      for (int32_t a = 0; a < static_cast<int32_t>(best.costs.size()); ++a) {
        double cost = best.costs[a];
        for (int end = 0; end < 2; ++end) {
          if (best.edges[end] >= 0) cost += core_.matrices()[best.edges[end]].at(a, choice[best.neighbours[end]]);
        }
        if (cost >= least) continue;
        least = cost;
        choice[best.node] = a;
      }
    }
  }
  return choice;
}

std::vector<char> Reduction::NeededFor(int32_t node) const {
  std::vector<char> needed(network_size_, node < 0 ? 1 : 0);
  if (node >= 0) needed[node] = 1;
  for (const Step& step : steps_) {
    if (const auto* follows = std::get_if<Follows>(&step)) {
      if (needed[follows->node]) needed[follows->of] = 1;
    } else if (const auto* best = std::get_if<Best>(&step)) {
      for (const int32_t neighbour : best->neighbours) {
        if (needed[best->node] && neighbour >= 0) needed[neighbour] = 1;
      }
    }
  }
  return needed;
}

std::vector<std::vector<double>> Reduction::ExpandForced(std::span<const std::vector<double>> core_forced,
                                                         int32_t node) const {
  const std::vector<char> needed = NeededFor(node);
  std::vector<std::vector<double>> forced(network_size_);
  for (size_t i = 0; i < network_node_.size(); ++i) forced[network_node_[i]] = core_forced[i];
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (!needed[std::visit([](const auto& made) { return made.node; }, *step)]) continue;
    if (const auto* kept = std::get_if<Kept>(&*step)) {
      // To force a dropped candidate costs no less than to force the one that is as good.
      std::vector<double> before;
      for (const int32_t now : core_.matrices().Map(kept->instead)) {
        before.push_back(now < 0 ? kForbidden : forced[kept->node][now]);
      }
      forced[kept->node] = std::move(before);
    } else if (const auto* follows = std::get_if<Follows>(&*step)) {
      forced[follows->node].assign(follows->candidates, kForbidden);
      const std::span<const int32_t> map = core_.matrices().Map(follows->map);
      for (size_t a = 0; a < map.size(); ++a) {
        double& least = forced[follows->node][map[a]];
        least = std::min(least, forced[follows->of][a]);
      }
    } else {
      forced[std::get<Best>(*step).node] = ForcedEliminated(std::get<Best>(*step), forced);
    }
  }
  if (node < 0) return forced;
  std::vector<std::vector<double>> of_node(network_size_);
  of_node[node] = std::move(forced[node]);
  return of_node;
}

// What a candidate costs above the best one beside each choice of the neighbours, and what that choice costs.
std::vector<double> Reduction::ForcedEliminated(const Best& step, std::span<const std::vector<double>> forced) const {
  const auto neighbour_count = [&](int end) {
    return step.neighbours[end] < 0 ? 1 : static_cast<int32_t>(forced[step.neighbours[end]].size());
  };
  const auto total = [&](int32_t i, int32_t j) {
    return step.total < 0 ? step.least[i] : step.offset + core_.matrices()[step.total].at(i, j);
  };
  const auto entry = [&](int end, int32_t a, int32_t other) {
    return step.edges[end] < 0 ? 0.0 : core_.matrices()[step.edges[end]].at(a, other);
  };
  const auto of = [&](int end, int32_t other) {
    return step.neighbours[end] < 0 ? core_.constant : forced[step.neighbours[end]][other];
  };
  std::vector<double> result(step.costs.size(), kForbidden);
  for (int32_t a = 0; a < static_cast<int32_t>(result.size()); ++a) {
    for (int32_t i = 0; i < neighbour_count(0); ++i) {
      for (int32_t j = 0; j < neighbour_count(1); ++j) {
        const double cost = step.costs[a] + entry(0, a, i) + entry(1, a, j);
        if (cost == kForbidden) continue;
        const double beside = std::max(of(0, i), of(1, j));
        result[a] = std::min(result[a], beside + (cost - total(i, j)));
      }
    }
  }
  return result;
}

}  // namespace sbp
