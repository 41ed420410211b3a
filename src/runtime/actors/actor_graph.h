// ActorGraph: the tasks of one device as actors that pass tokens to each other: a marked graph (Commoner et al. 1971).
// An actor fires once per micro-batch, in their order: when each of its in-edges holds a token, it takes one from each,
// runs, and puts one on each of its out-edges. Every device of the mesh has the same graph.
//
// What the edges say, with the tokens that they hold at the start:
//   data      producer -> reader, none
//   back      reader -> producer, as many as the register has copies: back-pressure
//   arena     users of a register -> writer of one that takes its bytes: none within a micro-batch, one around to the
//             next micro-batch
//   after     Task::after, none
// Edges without tokens lead from earlier tasks to later ones, so every cycle holds a token and no order of firing can
// deadlock. A task whose operands reach into neighbours' parts has a second actor, its halo, which fires before it and
// fetches them: all that waits for other devices is on the communication stream, and fires in one order everywhere,
// that of `order`. (NCCL wants one order of launches on all devices.)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "physical/physical.h"
#include "plan/physical_plan.h"
#include "plan/plan.h"

namespace sbp {

enum class Stream : uint8_t { kCompute, kCommunication };  // of a device; each runs one task at a time
inline constexpr int kNumStreams = 2;
std::string_view StreamName(Stream stream);  // "compute", "communication"

// With whom an actor meets: a mesh axis, or:
inline constexpr int kMeetsNobody = -1, kMeetsEverybody = -2;

struct Actor {
  std::string name;  // for messages: MatMul "fc", all-reduce over model of "h"
  Stream stream = Stream::kCompute;
  int meets = kMeetsNobody;  // the other devices that must fire too before it can end
  double seconds = 0;        // predicted
};

enum class EdgeKind : uint8_t { kData, kBack, kArena, kAfter };
struct ActorEdge {
  uint32_t from = 0, to = 0;
  uint32_t tokens = 0;
  EdgeKind kind = EdgeKind::kData;
  friend bool operator==(const ActorEdge&, const ActorEdge&) = default;
};

struct Firing {
  uint32_t micro_batch = 0;
  uint32_t actor = 0;
  friend bool operator==(const Firing&, const Firing&) = default;
};

struct ActorGraph {
  uint32_t micro_batches = 1;
  // 0..1: the part of its speed that compute keeps while a collective runs on its device; the cluster says.
  double overlap = 1;
  // Actor t is task t; then one that fills the inputs, one that hands out the outputs, and the halos.
  std::vector<Actor> actors;
  std::vector<uint32_t> halo_tasks;  // the task of each halo, ascending
  std::vector<ActorEdge> edges;      // by (from, to), one for each pair
  // Every firing in the order in which one device is predicted to start them.
  std::vector<Firing> order;

  uint32_t num_tasks() const { return static_cast<uint32_t>(actors.size() - halo_tasks.size()) - 2; }
  uint32_t inputs_actor() const { return num_tasks(); }
  uint32_t outputs_actor() const { return num_tasks() + 1; }
  uint32_t first_halo() const { return num_tasks() + 2; }
  // Not one that fills inputs or hands out outputs.
  bool is_of_task(uint32_t actor) const { return actor < num_tasks() || actor >= first_halo(); }
  // Of an actor that is of one: itself, or the one whose halo it is.
  uint32_t task_of(uint32_t actor) const { return actor < num_tasks() ? actor : halo_tasks[actor - first_halo()]; }
};

// Which registers hold the results of a step: one per output of the graph, then one per tie. kNoRegister where the
// physical plan has none for it.
std::vector<uint32_t> OutputRegisters(const Plan& plan, const PhysicalPlan& physical);

// Per task: the price that the plan was made with.
std::vector<double> PredictedSeconds(const Plan& plan, const PhysicalPlan& physical);

struct ActorOptions {
  // By task: the registers of its operands that reach into neighbours' parts; empty: no task has any. The halos share
  // one buffer on each device.
  std::vector<std::vector<uint32_t>> halos;
  // Per task; empty: PredictedSeconds. The order of collectives follows from it, so it must be the same on every rank.
  std::vector<double> seconds;
};
// Actors, edges and their order. Errors: an output without a register (kBadInput); a physical plan that deadlocks,
// which no correct one does (kDefect).
Result<ActorGraph> MakeActorGraph(const Plan& plan, const PhysicalPlan& physical, const ActorOptions& options = {});

// The error names the actors of a cycle whose edges hold no token: they would wait for each other for ever.
Status CheckTokensOnCycles(const ActorGraph& graph);

// The canonical text: a line an actor with what it waits for, then the order.
std::string Dump(const ActorGraph& graph);

}  // namespace sbp
