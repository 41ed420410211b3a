// From the logical plan to tasks, registers and one arena per device.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/physical_plan.h"
#include "plan/plan.h"

namespace sbp {

struct PhysicalOptions {
  // More than one: a register that both streams touch gets two copies, so that the next micro-batch computes while
  // this one communicates.
  uint32_t micro_batches = 1;
};

// Tasks stand in the order in which the schedule starts them, or in that of the plan (arrange.h): boxing right before
// the first task that needs its result, transitions in their order. The plan must be complete (graph, decisions,
// layouts, transitions).
PhysicalPlan MakePhysicalPlan(const Plan& plan, const PhysicalOptions& options = {});

// Does the task move data between devices? Those run on the communication stream, all others on the compute stream;
// each stream runs its tasks in order.
bool IsCommunication(const Plan& plan, const Task& task);

// Gives every register an offset. `order` decides what is placed first; each register goes to the lowest gap that no
// register alive at the same time uses. A row of all_placements.cc.
struct PlacementRow {
  std::string_view name;
  std::string_view doc;
  // Is `a` placed before `b`?
  bool (*before)(const Register& a, const Register& b);
};
std::span<const PlacementRow> AllPlacements();

// Per register the one whose buffer it lies in: itself, or where Register::over leads in the end. That stands before
// it.
std::vector<uint32_t> BufferOwners(std::span<const Register> registers);

// Bytes of the most registers alive at one position: what no placement can undercut.
int64_t LivePeak(std::span<const Register> registers, size_t num_tasks);

// Gives offsets in the given order; returns the arena's size.
std::vector<uint32_t> PlacementOrder(const PlacementRow& row, std::span<const Register> registers);
int64_t PlaceRegisters(std::span<const uint32_t> order, size_t num_tasks, std::vector<Register>& registers);

// Offsets task by task, each register in the first hole that holds it; returns the arena's size. Fast at any size.
int64_t PlaceFirstFit(size_t num_tasks, std::vector<Register>& registers);

// Sets offsets, arena, bound and the name of what won: first fit, then every row, then the best order improved, until
// the bound is met; improved only while the arena is larger than `enough`. Where many long-lived registers make that
// slow, the later ones are left out.
void PlaceBest(PhysicalPlan& physical, int64_t enough = 0);

// What a user should know of an arena that is, with the kernels' workspace, larger than the plan's memory limit, else
// than the device's memory; "": it is not. The peak of a plan that was priced fused leaves out what kernels keep
// inside, and every peak the gaps that placement leaves.
std::string WarnOfArena(const Plan& plan, const PhysicalPlan& physical);

// MatMul "fc", all-reduce over model of "h". For messages and tables.
std::string TaskName(const Plan& plan, const Task& task);
// "r0 r3 -": kNoRegister is a dash.
std::string RegisterList(const std::vector<uint32_t>& registers);

// The canonical text: a line a task and a register. For tests and --dump-dir.
std::string Dump(const Plan& plan, const PhysicalPlan& physical);

}  // namespace sbp
