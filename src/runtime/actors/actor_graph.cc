#include "runtime/actors/actor_graph.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/ids.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "graph/graph.h"
#include "plan/ends.h"
#include "plan/physical_plan.h"
#include "plan/plan.h"
#include "runtime/actors/actor_edges.h"
#include "runtime/actors/simulate.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

std::string NameOf(const Plan& plan, const Task& task) {
  if (task.op.valid()) {
    const Op& op = plan.graph.op(task.op);
    return StrCat(plan.graph.type_of(op), " ", Quote(op.name));
  }
  const Transition& transition = plan.transitions[task.transition];
  const BoxingStep& step = transition.steps[task.step];
  return StrCat(CollectiveKindName(step.kind), " over ", plan.mesh.axes[step.axis].name, " of ",
                Quote(plan.graph.tensor(transition.tensor).name));
}

Actor MakeActor(const Plan& plan, const Task& task, double seconds) {
  Actor actor;
  actor.name = NameOf(plan, task);
  actor.seconds = seconds;
  if (!IsCommunication(plan, task)) return actor;
  actor.stream = Stream::kCommunication;
  const BoxingStep& step = plan.transitions[task.transition].steps[task.step];
  actor.meets = RowOf(step.kind).point_to_point ? kMeetsEverybody : step.axis;
  return actor;
}

// One device stands for all: they run the same tasks with the same predictions.
Status FindOrder(const Plan& plan, ActorGraph& graph) {
  Mesh alone = plan.mesh;
  alone.ranks.clear();
  for (MeshAxis& axis : alone.axes) axis.size = 1;
  SBP_ASSIGN_OR_RETURN(const Timeline timeline, Simulate(graph, alone));
  for (const Span& span : timeline.spans) graph.order.push_back(span.firing);
  return OkStatus();
}

}  // namespace

std::string_view StreamName(Stream stream) { return stream == Stream::kCompute ? "compute" : "communication"; }

std::vector<uint32_t> OutputRegisters(const Plan& plan, const PhysicalPlan& physical) {
  // Per tensor: as it was written; per transition: what its last step writes.
  std::map<TensorId, uint32_t> written;
  std::map<int32_t, uint32_t> boxed;
  for (uint32_t r = 0; r < physical.registers.size(); ++r) {
    const Register& reg = physical.registers[r];
    if (reg.transition < 0) {
      written[reg.tensor] = r;
    } else if (static_cast<size_t>(reg.step) + 1 == plan.transitions[reg.transition].steps.size()) {
      boxed[reg.transition] = r;
    }
  }
  std::vector<uint32_t> outputs;
  for (const TensorEnd& end : EndsOf(plan)) {
    const auto copy = boxed.find(end.transition);
    const auto own = written.find(end.tensor);
    outputs.push_back(copy != boxed.end() ? copy->second : own != written.end() ? own->second : kNoRegister);
  }
  return outputs;
}

std::vector<double> PredictedSeconds(const Plan& plan, const PhysicalPlan& physical) {
  // Where a kernel group is cut, the kernel that reads then is the first one behind the cut.
  std::vector<double> of_op(plan.graph.ops.size());
  for (size_t o = 0; o < of_op.size(); ++o) of_op[o] = plan.decision(OpId(o)).compute_seconds;
  for (const Transition& transition : plan.transitions) {
    if (transition.cut_seconds == 0) continue;
    const OpId op =
        transition.consumers.empty() ? plan.graph.tensor(transition.tensor).producer : transition.consumers.front().op;
    if (op.valid()) of_op[op.index()] += transition.cut_seconds;
  }
  std::vector<double> seconds;
  for (const Task& task : physical.tasks) {
    seconds.push_back(task.op.valid() ? of_op[task.op.index()]
                                      : plan.transitions[task.transition].steps[task.step].seconds);
  }
  return seconds;
}

Result<ActorGraph> MakeActorGraph(const Plan& plan, const PhysicalPlan& physical, const ActorOptions& options) {
  const std::vector<uint32_t> outputs = OutputRegisters(plan, physical);
  if (std::find(outputs.begin(), outputs.end(), kNoRegister) != outputs.end()) {
    return BadInput("the physical plan has no register for an output");
  }
  ActorGraph graph;
  graph.micro_batches = physical.micro_batches;
  graph.overlap = plan.cluster.device.overlap.value;
  const std::vector<double> seconds = options.seconds.empty() ? PredictedSeconds(plan, physical) : options.seconds;
  for (size_t t = 0; t < physical.tasks.size(); ++t) {
    graph.actors.push_back(MakeActor(plan, physical.tasks[t], seconds[t]));
  }
  graph.actors.push_back({.name = "inputs"});
  graph.actors.push_back({.name = "outputs"});
  std::vector<HaloReads> halos;
  for (uint32_t t = 0; t < options.halos.size(); ++t) {
    if (options.halos[t].empty()) continue;
    halos.push_back({t, options.halos[t]});
    graph.halo_tasks.push_back(t);
    // The plan's price of the task holds that of its halo.
    graph.actors.push_back({StrCat("halo of ", graph.actors[t].name), Stream::kCommunication, kMeetsEverybody, 0});
  }
  graph.edges = MakeActorEdges(plan, physical, outputs, halos);
  SBP_RETURN_IF_ERROR(CheckTokensOnCycles(graph));
  SBP_RETURN_IF_ERROR(FindOrder(plan, graph));
  return graph;
}

Status CheckTokensOnCycles(const ActorGraph& graph) {
  // Takes away what nothing without tokens leads to, until only cycles and what follows them are left.
  const size_t actors = graph.actors.size();
  std::vector<uint32_t> waits_for(actors, 0);
  std::vector<std::vector<uint32_t>> next(actors), previous(actors);
  for (const ActorEdge& edge : graph.edges) {
    if (edge.tokens > 0) continue;
    ++waits_for[edge.to];
    next[edge.from].push_back(edge.to);
    previous[edge.to].push_back(edge.from);
  }
  std::vector<uint32_t> free;
  for (uint32_t a = 0; a < actors; ++a) {
    if (waits_for[a] == 0) free.push_back(a);
  }
  for (size_t i = 0; i < free.size(); ++i) {
    for (const uint32_t to : next[free[i]]) {
      if (--waits_for[to] == 0) free.push_back(to);
    }
  }
  if (free.size() == actors) return OkStatus();
  // Everything left has something left before it: walking back must come around.
  uint32_t at = 0;
  while (waits_for[at] == 0) ++at;
  std::vector<uint32_t> path;
  while (std::find(path.begin(), path.end(), at) == path.end()) {
    path.push_back(at);
    at = *std::find_if(previous[at].begin(), previous[at].end(), [&](uint32_t a) { return waits_for[a] > 0; });
  }
  std::vector<std::string> names = {graph.actors[at].name};
  for (size_t i = path.size(); i-- > 0;) {
    names.push_back(graph.actors[path[i]].name);
    if (path[i] == at) break;
  }
  return Defect(StrCat("deadlock: actors wait for each other: ", Join(names, " -> ")));
}

std::string Dump(const ActorGraph& graph) {
  std::string text = StrCat("actors ", graph.actors.size(), ", micro-batches ", graph.micro_batches, "\n");
  constexpr std::string_view kKinds[] = {"data", "back", "arena", "after"};
  std::vector<std::string> awaited(graph.actors.size());
  for (const ActorEdge& edge : graph.edges) {
    awaited[edge.to] += StrCat(" a", edge.from, "(", kKinds[static_cast<size_t>(edge.kind)],
                               edge.tokens > 0 ? StrCat(" ", edge.tokens) : "", ")");
  }
  for (size_t a = 0; a < graph.actors.size(); ++a) {
    const Actor& actor = graph.actors[a];
    text += StrCat("a", a, " ", actor.name, actor.stream == Stream::kCommunication ? " [communication]" : "", ":",
                   awaited[a], "\n");
  }
  text += "order:";
  for (const Firing& firing : graph.order) text += StrCat(" ", firing.micro_batch, ".a", firing.actor);
  return text + "\n";
}

}  // namespace sbp
