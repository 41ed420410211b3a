// DeviceFirings: the tokens of one device's actors, and what may fire next. The firing rule of the engine and of the
// simulation in virtual time alike. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "runtime/actors/actor_graph.h"

namespace sbp {

// What all devices share: the graph's edges by actor, and the position of each firing in the order.
class FiringTable {
 public:
  // Without an order (an empty one), positions go by micro-batch, then by actor, and actors that meet others do not
  // wait for their turn: how the order is found.
  explicit FiringTable(const ActorGraph& graph);

  const ActorGraph& graph() const { return graph_; }
  uint32_t position(Firing firing) const { return position_[firing.micro_batch * graph_.actors.size() + firing.actor]; }
  // Positions of the firings that meet other devices, ascending: their turns, one list for both streams.
  const std::vector<uint32_t>& turns() const { return turns_; }
  bool has_turns() const { return !graph_.order.empty(); }

  // Edges out of an actor are adjacent in the graph; those into it are listed by number.
  std::pair<uint32_t, uint32_t> out(uint32_t actor) const { return {out_begin_[actor], out_begin_[actor + 1]}; }
  std::pair<const uint32_t*, const uint32_t*> in(uint32_t actor) const {
    return {in_.data() + in_begin_[actor], in_.data() + in_begin_[actor + 1]};
  }

 private:
  const ActorGraph& graph_;
  std::vector<uint32_t> out_begin_, in_begin_, in_;
  std::vector<uint32_t> position_;
  std::vector<uint32_t> turns_;
};

class DeviceFirings {
 public:
  explicit DeviceFirings(const FiringTable& table);

  // Starts the firing of `stream` that is ready and stands first in the order, if any: takes its tokens. The stream
  // must be idle. One that meets other devices is ready only when it is its turn.
  std::optional<Firing> Start(Stream stream);
  // Is there one to start?
  bool CanStart(Stream stream) const { return Next(stream) != nullptr; }
  // The firing has run: its tokens go to other actors.
  void Finish(Firing firing);

  // Has the stream started all of its firings?
  bool started_all(Stream stream) const { return left_[static_cast<size_t>(stream)] == 0; }
  // The actors that still have to fire, with those that keep them waiting: for messages about deadlocks.
  std::string Blocked() const;

 private:
  struct Ready {
    uint32_t position, actor;
    bool operator>(const Ready& other) const { return position > other.position; }
  };
  using ReadyQueue = std::priority_queue<Ready, std::vector<Ready>, std::greater<>>;

  void Enqueue(uint32_t actor);
  // The queue whose first entry is to start next; nullptr: none may.
  const ReadyQueue* Next(Stream stream) const;

  const FiringTable& table_;
  std::vector<uint32_t> tokens_;   // per edge
  std::vector<uint32_t> missing_;  // per actor: in-edges without a token
  std::vector<uint32_t> started_;  // per actor: firings
  std::array<ReadyQueue, kNumStreams> free_;
  ReadyQueue in_turn_;
  size_t turn_ = 0;  // index into the table's turns
  std::array<uint64_t, kNumStreams> left_{};
};

}  // namespace sbp
