#include "runtime/actors/actor_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/text.h"
#include "runtime/actors/simulate.h"
#include "unit/plan/small_plan.h"
#include "unit/runtime/plans.h"

namespace sbp {
namespace {

TEST(ActorGraph, SmallPlan) {
  const Plan plan = SmallPlan();
  const PhysicalPlan physical = MakePhysicalPlan(plan);
  EXPECT_EQ(Dump(MakeActorGraph(plan, physical, {.seconds = {1, 2, 1}}).value()),
            "actors 5, micro-batches 1\n"
            "a0 MatMul \"fc\": a1(back 1) a3(data)\n"
            "a1 all-reduce over model of \"h\" [communication]: a0(data) a2(back 1)\n"
            "a2 Relu \"act\": a1(data) a4(back 1)\n"
            "a3 inputs: a0(back 1)\n"
            "a4 outputs: a2(data) a3(after)\n"
            "order: 0.a3 0.a0 0.a1 0.a2 0.a4\n");
}

// Two chains of compute in the same memory, with and without a collective between them.
TEST(ActorGraph, MemoryIsTakenOverWithinAMicroBatchAndAroundToTheNext) {
  Plan plan = SmallPlan();
  PhysicalPlan physical = MakePhysicalPlan(plan, {.micro_batches = 2});
  for (Register& r : physical.registers) {
    if (!r.resident) r.copies = 1;
  }
  physical.registers[4].offset = physical.registers[2].offset;  // y takes the place of h
  const ActorGraph graph = MakeActorGraph(plan, physical, {.seconds = {1, 2, 1}}).value();
  // The all-reduce read h before Relu overwrites it; the next MatMul waits until y is out.
  EXPECT_THAT(graph.edges, ::testing::Contains(ActorEdge{1, 2, 0, EdgeKind::kData}));
  EXPECT_THAT(graph.edges, ::testing::Contains(ActorEdge{4, 0, 1, EdgeKind::kArena}));
}

// Each step begins by filling it again: on another stream, too, its readers wait for that.
TEST(ActorGraph, AParameterThatIsWrittenOverHasReadersThatWait) {
  Plan plan = SmallPlan();
  for (Tensor& tensor : plan.graph.tensors) {
    if (tensor.role == TensorRole::kInput) tensor.role = TensorRole::kParameter;
  }
  PhysicalPlan physical = MakePhysicalPlan(plan);
  const ActorEdge filled_first{3, 0, 0, EdgeKind::kData};
  EXPECT_THAT(MakeActorGraph(plan, physical).value().edges, ::testing::Not(::testing::Contains(filled_first)));
  physical.registers.back().over = physical.tasks[0].reads[0];
  EXPECT_THAT(MakeActorGraph(plan, physical).value().edges, ::testing::Contains(filled_first));
}

TEST(ActorGraph, ACycleWithoutTokensIsNamed) {
  ActorGraph graph;
  for (const char* name : {"load", "first", "second", "third", "inputs", "outputs"}) graph.actors.push_back({name});
  graph.edges = {{0, 1}, {1, 2}, {2, 3}, {3, 1, 1}};
  EXPECT_TRUE(CheckTokensOnCycles(graph).ok());
  graph.edges[3].tokens = 0;
  const Status status = CheckTokensOnCycles(graph);
  EXPECT_EQ(status.code(), Code::kDefect);
  EXPECT_EQ(status.message(), "deadlock: actors wait for each other: first -> second -> third -> first");
  // The simulation comes to a stop and says who waits for whom.
  EXPECT_THAT(Simulate(graph, *ParseMesh("1")).status().message(),
              ::testing::HasSubstr("deadlock on device 0: first of micro-batch 0 waits for third; second of"));
}

TEST(ActorGraph, CollectivesInDifferentOrdersAreADeadlock) {
  // Two collectives that each other device of the pair issues first: what one common order is there to prevent.
  ActorGraph graph;
  graph.actors = {{"a", Stream::kCommunication, 0, 1}, {"b", Stream::kCompute, 0, 1}, {"inputs"}, {"outputs"}};
  graph.edges = {{0, 1}};
  const Mesh mesh = *ParseMesh("2");
  EXPECT_TRUE(Simulate(graph, mesh).ok());
  graph.order = {{0, 1}, {0, 0}, {0, 2}, {0, 3}};
  // On different streams, too: whatever meets others does so in one order.
  EXPECT_THAT(Simulate(graph, mesh).status().message(), ::testing::HasSubstr("a of micro-batch 0 waits for its turn"));
  graph.actors[1].stream = Stream::kCommunication;
  EXPECT_THAT(Simulate(graph, mesh).status().message(), ::testing::HasSubstr("a of micro-batch 0 waits for its turn"));
}

// 10 s of compute beside 4 s of a collective.
ActorGraph ComputeBesideACollective(double overlap) {
  ActorGraph graph;
  graph.overlap = overlap;
  graph.actors = {{"product", Stream::kCompute, kMeetsNobody, 10},
                  {"all-reduce", Stream::kCommunication, 0, 4},
                  {"inputs"},
                  {"outputs"}};
  graph.edges = {{0, 3}, {1, 3}, {2, 0}, {2, 1}};
  return graph;
}

TEST(Simulate, ComputeSlowsDownWhileACollectiveRuns) {
  const Mesh mesh = *ParseMesh("2");
  EXPECT_DOUBLE_EQ(Simulate(ComputeBesideACollective(1), mesh)->seconds, 10);
  EXPECT_DOUBLE_EQ(Simulate(ComputeBesideACollective(0.5), mesh)->seconds, 12);
  EXPECT_DOUBLE_EQ(Simulate(ComputeBesideACollective(0), mesh)->seconds, 14);
}

TEST(Simulate, ACollectiveSlowsDownNothingBeforeAllHaveCome) {
  ActorGraph graph = ComputeBesideACollective(0);
  graph.edges = {{0, 1}, {0, 3}, {1, 3}, {2, 0}, {2, 1}};  // it waits for the product
  const Timeline timeline = *Simulate(graph, *ParseMesh("2"), [](uint32_t device, Firing firing) {
    return firing.actor == 0 ? 10.0 + device : firing.actor == 1 ? 4.0 : 0.0;
  });
  EXPECT_DOUBLE_EQ(timeline.seconds, 15);
}

TEST(Simulate, ACollectiveThatTakesNoTimeChangesNothing) {
  for (const double overlap : {0.0, 0.5, 1.0}) {
    ActorGraph graph = ComputeBesideACollective(overlap);
    graph.micro_batches = 2;
    graph.actors[1].seconds = 0;
    graph.actors.insert(graph.actors.begin() + 2, {"reader", Stream::kCommunication, kMeetsNobody, 1});
    graph.edges = {{0, 2}, {1, 4}, {2, 4}, {3, 0}, {3, 1}};
    const Timeline timeline = *Simulate(graph, *ParseMesh("2"));
    EXPECT_DOUBLE_EQ(timeline.seconds, 21);
    for (const Span& span : timeline.spans) {
      if (span.firing.actor != 2) continue;
      EXPECT_DOUBLE_EQ(span.start, 10 * (span.firing.micro_batch + 1));
    }
  }
}

// What each copy of a register holds while a timeline passes: a firing must find its operands as they were written for
// its micro-batch, from its start to its end, and nobody may overwrite them.
class MemoryChecker {
 public:
  MemoryChecker(const Plan& plan, const PhysicalPlan& physical, const ActorGraph& graph)
      : physical_(physical), graph_(graph), outputs_(OutputRegisters(plan, physical)) {
    for (uint32_t r = 0; r < physical.registers.size(); ++r) {
      const Register& reg = physical.registers[r];
      const bool parameter = plan.graph.tensor(reg.tensor).role == TensorRole::kParameter && reg.resident;
      if (reg.resident && !parameter) inputs_.push_back(r);
      for (uint32_t k = 0; k < reg.copies; ++k) {
        const int64_t stride = reg.footprint() / reg.copies;
        regions_.push_back({r, k, reg.offset + k * stride, reg.offset + (k + 1) * stride, parameter});
      }
    }
    for (Region& a : regions_) {
      for (uint32_t b = 0; b < regions_.size(); ++b) {
        if (&a != &regions_[b] && a.begin < regions_[b].end && regions_[b].begin < a.end) a.overlaps.push_back(b);
      }
    }
  }

  void Check(const std::vector<Span>& spans) {
    for (Region& region : regions_) region.holds = region.parameter ? 0 : -1;
    // Ends before starts at equal times.
    std::vector<std::tuple<double, int, size_t>> events;
    for (size_t i = 0; i < spans.size(); ++i) {
      if (spans[i].start == spans[i].end) {
        events.emplace_back(spans[i].start, 1, 2 * i);
      } else {
        events.emplace_back(spans[i].start, 1, 2 * i);
        events.emplace_back(spans[i].end, 0, 2 * i + 1);
      }
    }
    std::sort(events.begin(), events.end());
    for (const auto& [time, order, event] : events) {
      const Firing firing = spans[event / 2].firing;
      if (event % 2 == 0) {
        Expect(Reads(firing.actor), firing);
        Write(firing);
      } else {
        std::vector<uint32_t> reads = Reads(firing.actor);
        for (const uint32_t r : Writes(firing.actor)) {
          if (r != kNoRegister) std::erase(reads, physical_.registers[r].over);
        }
        Expect(reads, firing);
        Expect(Writes(firing.actor), firing);
      }
    }
  }

 private:
  struct Region {
    uint32_t reg, copy;
    int64_t begin, end;
    bool parameter;
    std::vector<uint32_t> overlaps = {};
    int64_t holds = -1;  // the micro-batch whose values are there
  };

  std::vector<uint32_t> Reads(uint32_t actor) const {
    if (actor == graph_.outputs_actor()) return outputs_;
    if (actor == graph_.inputs_actor()) return {};
    return physical_.tasks[actor].reads;
  }
  std::vector<uint32_t> Writes(uint32_t actor) const {
    if (actor == graph_.outputs_actor()) return {};
    if (actor == graph_.inputs_actor()) return inputs_;
    return physical_.tasks[actor].writes;
  }

  void Expect(const std::vector<uint32_t>& registers, Firing firing) {
    for (Region& region : regions_) {
      const uint32_t copies = physical_.registers[region.reg].copies;
      if (region.begin == region.end || region.copy != firing.micro_batch % copies) continue;
      if (std::find(registers.begin(), registers.end(), region.reg) == registers.end()) continue;
      ASSERT_EQ(region.holds, region.parameter ? 0 : firing.micro_batch)
          << graph_.actors[firing.actor].name << ", register " << region.reg << ", micro-batch " << firing.micro_batch;
    }
  }

  void Write(Firing firing) {
    const std::vector<uint32_t> written = Writes(firing.actor);
    for (Region& region : regions_) {
      const uint32_t copies = physical_.registers[region.reg].copies;
      if (region.copy != firing.micro_batch % copies) continue;
      if (std::find(written.begin(), written.end(), region.reg) == written.end()) continue;
      region.holds = firing.micro_batch;
      for (const uint32_t other : region.overlaps) regions_[other].holds = -1;
    }
  }

  const PhysicalPlan& physical_;
  const ActorGraph& graph_;
  const std::vector<uint32_t> outputs_;
  std::vector<uint32_t> inputs_;
  std::vector<Region> regions_;
};

// On every device in virtual time: no deadlock, nothing overwritten too early, all in one order, however long each
// firing takes.
TEST(ActorGraph, GeneratedPlansRunInVirtualTime) {
  std::mt19937 random(11);
  for (const PlanCase& c : PlanCases()) {
    SCOPED_TRACE(c.name());
    const Plan plan = MakeTestPlan(c);
    for (uint32_t micro_batches = 1; micro_batches <= 4; ++micro_batches) {
      const PhysicalPlan physical = MakePhysicalPlan(plan, {.micro_batches = micro_batches});
      const Result<ActorGraph> graph = MakeActorGraph(plan, physical);
      ASSERT_TRUE(graph.ok()) << graph.status().message();
      ASSERT_EQ(graph->order.size(), graph->actors.size() * micro_batches);
      MemoryChecker memory(plan, physical, *graph);
      for (int round = 0; round < 3; ++round) {
        const FiringSeconds jittered = [&](uint32_t, Firing) {
          return 1e-6 + 1e-7 * static_cast<double>(random() % 100);
        };
        const Result<Timeline> timeline = Simulate(*graph, plan.mesh, round == 0 ? FiringSeconds() : jittered);
        ASSERT_TRUE(timeline.ok()) << timeline.status().message();
        std::vector<Firing> collectives[4];
        for (int64_t d = 0; d < plan.mesh.num_devices(); ++d) {
          std::vector<Span> own;
          for (const Span& span : timeline->spans) {
            if (span.device != d) continue;
            own.push_back(span);
            if (graph->actors[span.firing.actor].meets != kMeetsNobody) collectives[d].push_back(span.firing);
          }
          ASSERT_EQ(own.size(), graph->order.size());
          if (round > 0) memory.Check(own);  // without jitter a chain of tasks of no length shares one moment
          EXPECT_EQ(collectives[d], collectives[0]);
        }
      }
    }
  }
}

// Some tasks reach into their neighbours' parts. Whoever waits for other devices does so on one stream, in one order on
// all devices, whatever the speed of each; halos come between those who write what they read and their tasks, one after
// the other, as they share a buffer.
TEST(ActorGraph, HalosAndCollectivesFireInOneOrder) {
  std::mt19937 random(12);
  size_t halos_seen = 0;
  for (const PlanCase& c : PlanCases()) {
    SCOPED_TRACE(c.name());
    const Plan plan = MakeTestPlan(c);
    for (const uint32_t micro_batches : {1U, 3U}) {
      const PhysicalPlan physical = MakePhysicalPlan(plan, {.micro_batches = micro_batches});
      ActorOptions options;
      options.halos.resize(physical.tasks.size());
      for (uint32_t t = 0; t < physical.tasks.size(); ++t) {
        const Task& task = physical.tasks[t];
        if (task.op.valid() && random() % 3 == 0 && !task.reads.empty() && task.reads[0] != kNoRegister)
          options.halos[t] = {task.reads[0]};
      }
      const Result<ActorGraph> graph = MakeActorGraph(plan, physical, options);
      ASSERT_TRUE(graph.ok()) << graph.status().message();
      halos_seen += graph->halo_tasks.size();
      ASSERT_EQ(graph->num_tasks(), physical.tasks.size());
      for (const Actor& actor : graph->actors) {
        if (actor.meets != kMeetsNobody) {
          EXPECT_EQ(actor.stream, Stream::kCommunication) << actor.name;
        }
      }
      const Result<Timeline> timeline = Simulate(
          *graph, plan.mesh, [&](uint32_t, Firing) { return 1e-6 + 1e-7 * static_cast<double>(random() % 100); });
      ASSERT_TRUE(timeline.ok()) << timeline.status().message();
      std::vector<std::vector<Firing>> meetings(static_cast<size_t>(plan.mesh.num_devices()));
      std::vector<std::map<std::pair<uint32_t, uint32_t>, Span>> spans(meetings.size());
      for (const Span& span : timeline->spans) {
        spans[span.device][{span.firing.micro_batch, span.firing.actor}] = span;
        if (graph->actors[span.firing.actor].meets != kMeetsNobody) meetings[span.device].push_back(span.firing);
      }
      for (size_t d = 0; d < meetings.size(); ++d) {
        EXPECT_EQ(meetings[d], meetings[0]);
        double buffer_free = 0;
        for (uint32_t mb = 0; mb < micro_batches; ++mb) {
          for (uint32_t h = 0; h < graph->halo_tasks.size(); ++h) {
            const Span halo = spans[d].at({mb, graph->first_halo() + h}),
                       task = spans[d].at({mb, graph->halo_tasks[h]});
            EXPECT_GE(halo.start, buffer_free);
            EXPECT_GE(task.start, halo.end);
            buffer_free = task.end;
          }
        }
      }
    }
  }
  EXPECT_GT(halos_seen, 100U);
}

TEST(ActorGraph, TwoMicroBatchesOverlapComputeAndCollectives) {
  Plan plan = SmallPlan();
  plan.cluster.device.overlap.value = 1;
  const auto seconds = [&](uint32_t micro_batches) {
    const PhysicalPlan physical = MakePhysicalPlan(plan, {.micro_batches = micro_batches});
    return Simulate(MakeActorGraph(plan, physical, {.seconds = {1, 2, 1}}).value(), plan.mesh)->seconds;
  };
  EXPECT_DOUBLE_EQ(seconds(1), 4);
  // MatMul 0-1, all-reduces 1-3 and 3-5, the other MatMul 1-2, Relus 3-4 and 5-6.
  EXPECT_DOUBLE_EQ(seconds(2), 6);
  EXPECT_DOUBLE_EQ(seconds(4), 10);  // the collectives never stop
}

TEST(ActorGraph, GeneratedPlansGainFromDoubleBuffering) {
  for (const char* family : {"transformer", "mlp"}) {
    const Plan plan = MakeTestPlan({family, 30, 0, "2,2", "any"});
    const auto seconds = [&](uint32_t micro_batches) {
      const PhysicalPlan physical = MakePhysicalPlan(plan, {.micro_batches = micro_batches});
      return Simulate(MakeActorGraph(plan, physical).value(), plan.mesh)->seconds;
    };
    const double one = seconds(1), four = seconds(4);
    EXPECT_LT(seconds(2), 2 * one);
    EXPECT_LT(four, 4 * one);
  }
}

}  // namespace
}  // namespace sbp
