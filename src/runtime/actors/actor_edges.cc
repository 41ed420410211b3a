#include "runtime/actors/actor_edges.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>

#include "base/checked_math.h"
#include "graph/graph.h"
#include "memory/byte_map.h"
#include "physical/physical.h"
#include "plan/physical_plan.h"
#include "plan/plan.h"

namespace sbp {
namespace {

constexpr uint32_t kNoActor = std::numeric_limits<uint32_t>::max();

// The register that holds each byte of the arena, and since which lap of the tasks.
struct Owner {
  uint32_t reg = kNoRegister;
  uint32_t lap = 0;
};

class EdgeBuilder {
 public:
  EdgeBuilder(const Plan& plan, const PhysicalPlan& physical, const std::vector<uint32_t>& outputs,
              const std::vector<HaloReads>& halos)
      : plan_(plan),
        physical_(physical),
        outputs_(outputs),
        halos_(halos),
        tasks_(static_cast<uint32_t>(physical.tasks.size())) {}

  std::vector<ActorEdge> Run() {
    FindUsers();
    AddRegisterEdges();
    AddHaloEdges();
    AddArenaEdges();
    AddOrderEdges();
    std::sort(edges_.begin(), edges_.end(), [](const ActorEdge& a, const ActorEdge& b) {
      return std::tie(a.from, a.to, a.tokens, a.kind) < std::tie(b.from, b.to, b.tokens, b.kind);
    });
    const auto same = [](const ActorEdge& a, const ActorEdge& b) { return a.from == b.from && a.to == b.to; };
    edges_.erase(std::unique(edges_.begin(), edges_.end(), same), edges_.end());
    return std::move(edges_);
  }

 private:
  uint32_t inputs_actor() const { return tasks_; }
  uint32_t outputs_actor() const { return tasks_ + 1; }

  void FindUsers() {
    const std::vector<Register>& registers = physical_.registers;
    writer_.assign(registers.size(), kNoActor);
    readers_.resize(registers.size());
    for (uint32_t r = 0; r < registers.size(); ++r) {
      const bool input = plan_.graph.tensor(registers[r].tensor).role == TensorRole::kInput;
      if (registers[r].resident && input) writer_[r] = inputs_actor();
    }
    // A parameter that the step writes over is filled again before the next.
    const std::vector<uint32_t> owners = BufferOwners(registers);
    for (uint32_t r = 0; r < registers.size(); ++r) {
      if (owners[r] != r && registers[owners[r]].resident) writer_[owners[r]] = inputs_actor();
    }
    for (uint32_t t = 0; t < tasks_; ++t) {
      for (const uint32_t r : physical_.tasks[t].writes) {
        if (r != kNoRegister) writer_[r] = t;
      }
      for (const uint32_t r : physical_.tasks[t].reads) {
        if (r != kNoRegister && (readers_[r].empty() || readers_[r].back() != t)) readers_[r].push_back(t);
      }
    }
    for (const uint32_t r : outputs_) {
      if (readers_[r].empty() || readers_[r].back() != outputs_actor()) readers_[r].push_back(outputs_actor());
    }
  }

  // Parameters that nobody writes over have no writer: they are there from the start.
  void AddRegisterEdges() {
    for (uint32_t r = 0; r < physical_.registers.size(); ++r) {
      if (writer_[r] == kNoActor) continue;
      for (const uint32_t reader : readers_[r]) {
        edges_.push_back({writer_[r], reader, 0, EdgeKind::kData});
        edges_.push_back({reader, writer_[r], physical_.registers[r].copies, EdgeKind::kBack});
      }
    }
  }

  // A halo reads what its task reads and comes before it; what must wait for its reading waits for the task. They share
  // one buffer: each follows the task of the one before.
  void AddHaloEdges() {
    for (uint32_t h = 0; h < halos_.size(); ++h) {
      const HaloReads& halo = halos_[h];
      const uint32_t actor = outputs_actor() + 1 + h;
      for (const uint32_t r : halo.registers) {
        if (writer_[r] != kNoActor) edges_.push_back({writer_[r], actor, 0, EdgeKind::kData});
      }
      edges_.push_back({actor, halo.task, 0, EdgeKind::kData});
      const bool first = h == 0;
      edges_.push_back({halos_[first ? halos_.size() - 1 : h - 1].task, actor, first ? 1U : 0U, EdgeKind::kArena});
    }
  }

  // Registers with several copies have their bytes for themselves. The second lap finds what a task overwrites of the
  // micro-batch before.
  void AddArenaEdges() {
    ByteMap<Owner> memory;
    for (uint32_t r = 0; r < physical_.registers.size(); ++r) {
      const Register& reg = physical_.registers[r];
      if (!reg.resident || reg.bytes == 0 || reg.copies > 1) continue;
      memory.Replace(reg.offset, SaturatingAdd(reg.offset, reg.footprint()), {r, 0}, [](const Owner&) {});
    }
    const uint32_t laps = physical_.micro_batches > 1 ? 2 : 1;
    for (uint32_t lap = 0; lap < laps; ++lap) {
      for (uint32_t t = 0; t < tasks_; ++t) {
        for (const uint32_t r : physical_.tasks[t].writes) {
          if (r == kNoRegister || physical_.registers[r].bytes == 0 || physical_.registers[r].copies > 1) continue;
          const Register& reg = physical_.registers[r];
          memory.Replace(reg.offset, SaturatingAdd(reg.offset, reg.footprint()), {r, lap}, [&](const Owner& owner) {
            if (owner.reg != r) Overwrite(owner, lap, t);
          });
        }
      }
    }
  }

  void Overwrite(const Owner& owner, uint32_t lap, uint32_t task) {
    const uint32_t tokens = lap - owner.lap;
    if (readers_[owner.reg].empty() && writer_[owner.reg] != kNoActor) {
      edges_.push_back({writer_[owner.reg], task, tokens, EdgeKind::kArena});
    }
    for (const uint32_t reader : readers_[owner.reg]) {
      if (reader != task) edges_.push_back({reader, task, tokens, EdgeKind::kArena});
    }
  }

  // What the plan asks for beyond data; and the outputs are handed out when all is done.
  void AddOrderEdges() {
    for (uint32_t t = 0; t < tasks_; ++t) {
      for (const uint32_t before : physical_.tasks[t].after) edges_.push_back({before, t, 0, EdgeKind::kAfter});
    }
    std::vector<bool> leads_on(tasks_, false);
    for (const ActorEdge& edge : edges_) {
      if (edge.tokens == 0 && edge.from < tasks_) leads_on[edge.from] = true;
    }
    for (uint32_t t = 0; t < tasks_; ++t) {
      if (!leads_on[t]) edges_.push_back({t, outputs_actor(), 0, EdgeKind::kAfter});
    }
    edges_.push_back({inputs_actor(), outputs_actor(), 0, EdgeKind::kAfter});
  }

  const Plan& plan_;
  const PhysicalPlan& physical_;
  const std::vector<uint32_t>& outputs_;
  const std::vector<HaloReads>& halos_;
  const uint32_t tasks_;
  std::vector<uint32_t> writer_;                // per register
  std::vector<std::vector<uint32_t>> readers_;  // per register, ascending
  std::vector<ActorEdge> edges_;
};

}  // namespace

std::vector<ActorEdge> MakeActorEdges(const Plan& plan, const PhysicalPlan& physical,
                                      const std::vector<uint32_t>& outputs, const std::vector<HaloReads>& halos) {
  return EdgeBuilder(plan, physical, outputs, halos).Run();
}

}  // namespace sbp
