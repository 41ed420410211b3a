#include "runtime/actors/device_firings.h"

#include <cstdint>
#include <string>

#include "base/text.h"

namespace sbp {

FiringTable::FiringTable(const ActorGraph& graph) : graph_(graph) {
  const size_t actors = graph.actors.size();
  out_begin_.assign(actors + 1, 0);
  in_begin_.assign(actors + 1, 0);
  for (const ActorEdge& edge : graph.edges) {
    ++out_begin_[edge.from + 1];
    ++in_begin_[edge.to + 1];
  }
  for (size_t a = 0; a < actors; ++a) {
    out_begin_[a + 1] += out_begin_[a];
    in_begin_[a + 1] += in_begin_[a];
  }
  in_.resize(graph.edges.size());
  std::vector<uint32_t> next(in_begin_.begin(), in_begin_.end() - 1);
  for (uint32_t e = 0; e < graph.edges.size(); ++e) in_[next[graph.edges[e].to]++] = e;

  position_.resize(actors * graph.micro_batches);
  for (uint32_t p = 0; p < position_.size(); ++p) position_[p] = p;
  for (uint32_t p = 0; p < graph.order.size(); ++p) {
    const Firing firing = graph.order[p];
    position_[firing.micro_batch * actors + firing.actor] = p;
    const Actor& actor = graph.actors[firing.actor];
    if (actor.meets != kMeetsNobody) turns_.push_back(p);
  }
}

DeviceFirings::DeviceFirings(const FiringTable& table) : table_(table) {
  const ActorGraph& graph = table.graph();
  for (const ActorEdge& edge : graph.edges) tokens_.push_back(edge.tokens);
  missing_.assign(graph.actors.size(), 0);
  started_.assign(graph.actors.size(), 0);
  for (const ActorEdge& edge : graph.edges) missing_[edge.to] += edge.tokens == 0 ? 1 : 0;
  for (uint32_t a = 0; a < graph.actors.size(); ++a) {
    left_[static_cast<size_t>(graph.actors[a].stream)] += graph.micro_batches;
    if (missing_[a] == 0) Enqueue(a);
  }
}

void DeviceFirings::Enqueue(uint32_t actor) {
  const ActorGraph& graph = table_.graph();
  if (started_[actor] == graph.micro_batches) return;
  const auto stream = static_cast<size_t>(graph.actors[actor].stream);
  const bool in_turn = table_.has_turns() && graph.actors[actor].meets != kMeetsNobody;
  (in_turn ? in_turn_ : free_[stream]).push({table_.position({started_[actor], actor}), actor});
}

const DeviceFirings::ReadyQueue* DeviceFirings::Next(Stream stream) const {
  const auto s = static_cast<size_t>(stream);
  const bool turn = !in_turn_.empty() && in_turn_.top().position == table_.turns()[turn_] &&
                    table_.graph().actors[in_turn_.top().actor].stream == stream;
  if (turn && (free_[s].empty() || free_[s].top() > in_turn_.top())) return &in_turn_;
  return free_[s].empty() ? nullptr : &free_[s];
}

std::optional<Firing> DeviceFirings::Start(Stream stream) {
  const auto s = static_cast<size_t>(stream);
  const ReadyQueue* next = Next(stream);
  if (next == nullptr) return std::nullopt;
  ReadyQueue* queue = next == &in_turn_ ? &in_turn_ : &free_[s];
  if (queue == &in_turn_) ++turn_;
  const uint32_t actor = queue->top().actor;
  queue->pop();
  const auto [begin, end] = table_.in(actor);
  for (const uint32_t* e = begin; e != end; ++e) missing_[actor] += --tokens_[*e] == 0 ? 1 : 0;
  const Firing firing{started_[actor]++, actor};
  --left_[s];
  if (missing_[actor] == 0) Enqueue(actor);
  return firing;
}

void DeviceFirings::Finish(Firing firing) {
  const ActorGraph& graph = table_.graph();
  const auto [begin, end] = table_.out(firing.actor);
  for (uint32_t e = begin; e < end; ++e) {
    if (tokens_[e]++ > 0) continue;
    const uint32_t to = graph.edges[e].to;
    if (--missing_[to] == 0) Enqueue(to);
  }
}

std::string DeviceFirings::Blocked() const {
  constexpr size_t kShown = 8;
  const ActorGraph& graph = table_.graph();
  std::vector<std::string> lines;
  for (uint32_t a = 0; a < graph.actors.size() && lines.size() < kShown; ++a) {
    if (started_[a] == graph.micro_batches) continue;
    std::vector<std::string> awaited;
    const auto [begin, end] = table_.in(a);
    for (const uint32_t* e = begin; e != end; ++e) {
      if (tokens_[*e] == 0) awaited.push_back(graph.actors[graph.edges[*e].from].name);
    }
    lines.push_back(StrCat(graph.actors[a].name, " of micro-batch ", started_[a], " waits for ",
                           awaited.empty() ? "its turn" : Join(awaited, ", ")));
  }
  return Join(lines, "; ");
}

}  // namespace sbp
