#include "runtime/actors/step_times.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>

namespace sbp {
namespace {

// The quantile q of sorted values, between neighbours (as R's type 7).
double Quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

// Per device: the first of its group on the axis that the actor meets; itself where it meets nobody.
uint32_t GroupOf(const Actor& actor, const std::vector<std::vector<uint32_t>>& first_of_group, uint32_t device) {
  if (actor.meets == kMeetsNobody) return device;
  return actor.meets == kMeetsEverybody ? 0 : first_of_group[static_cast<size_t>(actor.meets)][device];
}

}  // namespace

Measured Summarise(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  Measured measured;
  measured.median = Quantile(values, 0.5);
  if (measured.median > 0) measured.spread = (Quantile(values, 0.75) - Quantile(values, 0.25)) / measured.median;
  for (const double value : values) measured.mean += std::min(value, 3 * measured.median);
  measured.mean /= static_cast<double>(values.size());
  return measured;
}

std::vector<double> TaskSeconds(const ActorGraph& graph, const Mesh& mesh, std::span<const Span> spans) {
  std::vector<std::vector<uint32_t>> first_of_group;
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    std::vector<uint32_t>& first = first_of_group.emplace_back(mesh.num_devices());
    for (const std::vector<int64_t>& group : mesh.Groups(axis)) {
      for (const int64_t device : group) first[static_cast<size_t>(device)] = static_cast<uint32_t>(group[0]);
    }
  }
  // Actor and group: over the micro-batches, the shortest span of the group's members each.
  std::map<std::pair<uint32_t, uint32_t>, std::map<uint32_t, double>> shortest;
  for (const Span& span : spans) {
    if (!graph.is_of_task(span.firing.actor)) continue;
    const uint32_t group = GroupOf(graph.actors[span.firing.actor], first_of_group, span.device);
    const double seconds = span.end - span.start;
    auto [at, fresh] = shortest[{span.firing.actor, group}].try_emplace(span.firing.micro_batch, seconds);
    if (!fresh) at->second = std::min(at->second, seconds);
  }
  std::vector<double> of_actor(graph.actors.size(), 0);
  for (const auto& [key, by_micro_batch] : shortest) {
    double sum = 0;
    for (const auto& [micro_batch, seconds] : by_micro_batch) sum += seconds;
    of_actor[key.first] = std::max(of_actor[key.first], sum / graph.micro_batches);
  }
  std::vector<double> result(graph.num_tasks(), 0);
  for (uint32_t a = 0; a < of_actor.size(); ++a) {
    if (graph.is_of_task(a)) result[graph.task_of(a)] += of_actor[a];
  }
  return result;
}

double StepSeconds(const ActorGraph& graph, std::span<const Span> spans) {
  double start = std::numeric_limits<double>::infinity(), end = 0;
  for (const Span& span : spans) {
    if (!graph.is_of_task(span.firing.actor)) continue;
    start = std::min(start, span.start);
    end = std::max(end, span.end);
  }
  return end > start ? end - start : 0;
}

}  // namespace sbp
