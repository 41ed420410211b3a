#include "schedule/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "memory/memory.h"
#include "physical/physical.h"
#include "physical/step_in_arena.h"
#include "runtime/actors/actor_graph.h"
#include "runtime/actors/simulate.h"
#include "schedule/play.h"
#include "unit/plan/small_plan.h"
#include "unit/runtime/plans.h"

namespace sbp {
namespace {

std::vector<double> Ends(const std::vector<TaskTime>& times) {
  std::vector<double> ends;
  for (const TaskTime& time : times) ends.push_back(time.end);
  return ends;
}

constexpr TimedTask Compute(double seconds) { return {seconds, false, false}; }
constexpr TimedTask Sent(double seconds) { return {seconds, true, true}; }

TEST(PlayTasks, StreamsRunSideBySide) {
  const std::vector<TimedTask> tasks = {Compute(2), Sent(3), Compute(4), Compute(1)};
  const std::vector<TaskEdge> edges = {{0, 1}, {1, 3}};
  EXPECT_THAT(Ends(PlayTasks(tasks, edges, 1)), ::testing::ElementsAre(2, 5, 6, 7));
}

TEST(PlayTasks, ComputeIsSlowerBesideCollectives) {
  const std::vector<TimedTask> tasks = {Sent(3), Compute(4)};
  EXPECT_THAT(Ends(PlayTasks(tasks, {}, 0.5)), ::testing::ElementsAre(3, 5.5));
  EXPECT_THAT(Ends(PlayTasks(tasks, {}, 0)), ::testing::ElementsAre(3, 7));
  const std::vector<TimedTask> halo = {{3, true, false}, Compute(4)};
  EXPECT_THAT(Ends(PlayTasks(halo, {}, 0.5)), ::testing::ElementsAre(3, 4));
}

TEST(PlayTasks, WhatIsWantedFirstIsSentFirst) {
  const std::vector<TimedTask> tasks = {Compute(1), Sent(1), Sent(1), Sent(1)};
  const std::vector<TaskEdge> edges = {{0, 1}};  // when it is there, 3 has not begun
  EXPECT_THAT(Ends(PlayTasks(tasks, edges, 1)), ::testing::ElementsAre(1, 2, 1, 3));
}

// Room for one task at a time; where nothing runs, the first one starts without.
class OneAtATime final : public Admission {
 public:
  explicit OneAtATime(int room) : room_(room) {}
  bool MayStart(uint32_t) const override { return room_ > 0; }
  void Start(uint32_t) override { --room_; }
  void End(uint32_t) override { ++room_; }

 private:
  int room_;
};

TEST(PlayTasks, WaitsForAdmission) {
  const std::vector<TimedTask> tasks = {Compute(2), Sent(3), Compute(4)};
  EXPECT_THAT(Ends(PlayTasks(tasks, {}, 1)), ::testing::ElementsAre(2, 3, 6));
  OneAtATime one(1), none(0);
  EXPECT_THAT(Ends(PlayTasks(tasks, {}, 1, &one)), ::testing::ElementsAre(2, 9, 6));
  EXPECT_THAT(Ends(PlayTasks(tasks, {}, 1, &none)), ::testing::ElementsAre(2, 5, 9));
}

// As of layers that wait for a collective each, which the next one's weights are sent beside.
TEST(PlayTasks, LongSteps) {
  constexpr uint32_t kLayers = 100'000;
  std::vector<TimedTask> tasks;
  std::vector<TaskEdge> edges;
  for (uint32_t i = 0; i < kLayers; ++i) {
    tasks.push_back(Sent(1));
    tasks.push_back(Compute(2));
    edges.emplace_back(2 * i, 2 * i + 1);
    if (i > 0) edges.emplace_back(2 * i - 1, 2 * i + 1);
  }
  EXPECT_EQ(PlayTasks(tasks, edges, 1).back().end, 1 + 2.0 * kLayers);
  EXPECT_EQ(PlayTasks(tasks, edges, 0).back().end, 3.0 * kLayers);
}

TEST(PlayTasks, NothingToDo) { EXPECT_TRUE(PlayTasks({}, {}, 1).empty()); }

TEST(Schedule, SmallPlan) {
  Plan plan = SmallPlan();
  plan.records[plan.op_records[0]].compute_seconds = 2;
  plan.records[plan.op_records[1]].compute_seconds = 1;
  plan.transitions[0].steps[0].seconds = 4;
  const ScheduleSummary sum = MakeSchedule(plan).summary;
  EXPECT_EQ(sum.step, 7);
  EXPECT_EQ(sum.compute, 3);
  EXPECT_EQ(sum.collectives, 4);
  EXPECT_EQ(sum.exposed, 4);
  EXPECT_EQ(sum.slowed, 0);
  EXPECT_EQ(sum.idle, 0);
}

// Prices that make the streams overlap.
Plan WithRandomSeconds(const PlanCase& c) {
  Plan plan = MakeTestPlan(c);
  std::mt19937_64 random(c.seed + 1);
  const auto draw = [&] { return static_cast<double>(1 + random() % 1000) * 1e-6; };
  for (DecisionRecord& record : plan.records) record.compute_seconds = random() % 4 == 0 ? 0 : draw();
  for (Transition& transition : plan.transitions) {
    for (BoxingStep& step : transition.steps) step.seconds = draw();
  }
  return plan;
}

// Where each task of the physical plan stands in the plan's own order.
std::vector<uint32_t> PositionsOf(const Plan& plan, const PhysicalPlan& physical) {
  const StepOrder order = OrderOfStep(plan);
  std::vector<uint32_t> positions;
  for (const Task& task : physical.tasks) {
    positions.push_back(task.op.valid() ? order.ops[task.op.index()]
                                        : order.transitions[task.transition] + static_cast<uint32_t>(task.step));
  }
  return positions;
}

// Each gathered weight's first task behind the op that stands before it in that order: from there on its memory is
// counted.
std::vector<TaskEdge> NotAhead(const Plan& plan, const PhysicalPlan& physical) {
  std::set<TensorId> overwritten;
  for (const InPlaceWrite& write : plan.in_place)
    overwritten.insert(plan.graph.OperandsOf(plan.graph.op(write.op))[write.operand]);
  const std::vector<uint32_t> positions = PositionsOf(plan, physical);
  std::vector<uint32_t> task_at(positions.size());
  for (uint32_t t = 0; t < positions.size(); ++t) task_at[positions[t]] = t;
  std::vector<TaskEdge> edges;
  std::optional<uint32_t> op;
  for (const uint32_t t : task_at) {
    const Task& task = physical.tasks[t];
    if (task.op.valid()) {
      op = t;
      continue;
    }
    const Register& from = physical.registers[task.reads[0]];
    const bool is_weight = from.resident && plan.graph.tensor(from.tensor).role == TensorRole::kParameter;
    if (op && is_weight && !overwritten.contains(from.tensor)) edges.emplace_back(*op, t);
  }
  return edges;
}

// The actors on one device that stands for all: the tasks, and what they wait for within a micro-batch; what stands
// first in `positions` goes first.
std::vector<TaskTime> Play(const ActorGraph& graph, bool only_data, std::vector<uint32_t> positions,
                           std::vector<TaskEdge> edges = {}) {
  std::vector<TimedTask> tasks(graph.actors.size());
  while (positions.size() < tasks.size()) positions.push_back(static_cast<uint32_t>(positions.size()));  // no tasks
  for (uint32_t a = 0; a < tasks.size(); ++a) {
    const Actor& actor = graph.actors[a];
    const bool sent = actor.stream == Stream::kCommunication;
    tasks[positions[a]] = {actor.seconds, sent, sent && actor.meets != kMeetsNobody};
  }
  for (const ActorEdge& edge : graph.edges) {
    if (edge.tokens == 0 && (!only_data || edge.kind == EdgeKind::kData)) edges.emplace_back(edge.from, edge.to);
  }
  for (auto& [from, to] : edges) {
    from = positions[from];
    to = positions[to];
  }
  const std::vector<TaskTime> played = PlayTasks(tasks, edges, graph.overlap);
  std::vector<TaskTime> times;
  for (const uint32_t position : positions) times.push_back(played[position]);
  return times;
}

std::vector<uint32_t> AsListed(const ActorGraph& graph) {
  std::vector<uint32_t> positions(graph.actors.size());
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

constexpr double kOverlaps[] = {1, 0.8, 0.3, 0};

// The actors of a mesh in virtual time do what PlayTasks says, where it is told of memory, too.
TEST(ScheduleOfPlans, FakeBackendPlaysTheSame) {
  for (const PlanCase& c : PlanCases()) {
    SCOPED_TRACE(c.name());
    Plan plan = WithRandomSeconds(c);
    for (const double overlap : kOverlaps) {
      plan.cluster.device.overlap.value = overlap;
      const PhysicalPlan physical = MakePhysicalPlan(plan);
      const ActorGraph graph = MakeActorGraph(plan, physical).value();
      const std::vector<TaskTime> played = Play(graph, false, AsListed(graph));
      const Timeline timeline = Simulate(graph, plan.mesh).value();
      for (const Span& span : timeline.spans) {
        const TaskTime& time = played[span.firing.actor];
        // When one has come, it waits for the last of its group: all come at once but for rounding.
        EXPECT_NEAR(span.start, time.start, 1e-9 * timeline.seconds) << graph.actors[span.firing.actor].name;
        EXPECT_NEAR(span.end, time.end, 1e-9 * timeline.seconds) << graph.actors[span.firing.actor].name;
      }
    }
  }
}

// A plan's schedule is that of its actors, where it has a physical part with memory, else where each has its own.
// Arenas seldom make it longer: by 0.8 % on the whole.
TEST(ScheduleOfPlans, IsThatOfActors) {
  double free_steps = 0, steps_in_arena = 0;
  for (const PlanCase& c : PlanCases()) {
    SCOPED_TRACE(c.name());
    Plan plan = WithRandomSeconds(c);
    for (size_t i = 0; i < 2 * std::size(kOverlaps); ++i) {
      plan.cluster.device.overlap.value = kOverlaps[i / 2];
      const bool own_memory = i % 2 == 0;
      plan.physical.reset();
      const PhysicalPlan physical = MakePhysicalPlan(plan);
      if (!own_memory) plan.physical = physical;
      const ActorGraph graph = MakeActorGraph(plan, physical).value();
      const std::vector<TaskTime> played =
          own_memory ? Play(graph, true, PositionsOf(plan, physical), NotAhead(plan, physical))
                     : Play(graph, false, AsListed(graph));
      const Schedule schedule = MakeSchedule(plan);
      const double step = schedule.summary.step;
      (own_memory ? free_steps : steps_in_arena) += step;
      for (size_t t = 0; t < physical.tasks.size(); ++t) {
        const Task& task = physical.tasks[t];
        const TaskTime& time =
            task.op.valid() ? schedule.ops[task.op.index()] : schedule.transitions[task.transition][task.step];
        EXPECT_NEAR(time.start, played[t].start, 1e-9 * step) << TaskName(plan, task);
        EXPECT_NEAR(time.end, played[t].end, 1e-9 * step) << TaskName(plan, task);
      }
      if (!own_memory) {
        EXPECT_NEAR(step, Simulate(graph, plan.mesh).value().seconds, 1e-9 * step);
        EXPECT_DOUBLE_EQ(step, StepInArena(plan));  // known without its physical part, too
      }
      const ScheduleSummary& sum = schedule.summary;
      EXPECT_NEAR(sum.step, sum.compute + sum.slowed + sum.exposed + sum.idle, 1e-9 * step);
      EXPECT_LE(sum.exposed, sum.collectives * (1 + 1e-9));
      EXPECT_GE(sum.step, std::max(sum.compute, sum.collectives) * (1 - 1e-9));
      EXPECT_LE(sum.step, (sum.compute + sum.collectives) * (1 + 1e-9));
    }
  }
  EXPECT_LT(steps_in_arena, 1.02 * free_steps);
}

}  // namespace
}  // namespace sbp
