// Sections: the parts of the document that a page holds of a plan. A section is a function and a row in
// all_sections.cc; what it writes is said at its function, and read by one module of html/. Lists are columns: entry i
// of every list of one object is of the same op, tensor or transition, by its id in the plan.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "graph/phases.h"
#include "memory/memory.h"
#include "page/options.h"
#include "plan/plan.h"
#include "render/outline_tree.h"
#include "schedule/schedule.h"

namespace sbp {

using Json = nlohmann::json;

// What several sections ask of a plan, found once. Of a bare graph (render/facts.h, IsBareGraph) `order`, `schedule`
// and `lifetimes` are empty.
struct PageFacts {
  const Plan& plan;
  const PageOptions& options;
  bool bare = false;
  std::vector<Phase> phases;  // per op (page/step_phases.h)
  Outline outline;
  StepOrder order;
  Schedule schedule;
  std::vector<Lifetime> lifetimes;
};
PageFacts FindPageFacts(const Plan& plan, const PageOptions& options);

struct SectionRow {
  std::string_view name;  // the key in the document
  Json (*write)(const PageFacts& facts);
  bool of_graph = false;  // also of a bare graph; others are null there
};
std::span<const SectionRow> AllSections();

// The sections -------------------------------------------------------------------------------------------------------

// name, title (the model as all pictures call it: render/facts.h, TitleOf), file (PageOptions::file), version,
// warnings, mesh {axes [[name, size]], ranks}, cluster {name, device, memory_bytes, devices_per_node}, strategy,
// measure, memory_limit; `summary`: what `infer --format json` prints (report.h, SummaryJson), null of a bare graph, as
// all that follows: totals (rows of the summary: name, figure, text), gap ("8.9 %", "": not known), replicated
// [[tensor, why]].
Json HeadSection(const PageFacts& facts);

// What is computed: op_types; ops {name, type, inputs, outputs (ids of tensors, -1: absent; captures last), scope,
// phase (0 forward, 1 backward, 2 optimizer), attributes and notes (ids of `texts`, notes: metadata, lines "key:
// value")}; scopes; tensors {name, type, role (0 activation, 1 input, 2 parameter), label (of texts: what people call
// it, "": its name)}; types [{dtype, shape}]; inputs, outputs; texts (strings that many share; texts[0] is "").
Json GraphSection(const PageFacts& facts);

// The tree of scopes, repeated layers and ranges (render/outline.h): nodes {kind (0 scope, 1 range, 2 repeat), label,
// path, parent, items (an op i as i, a node n as -1 - n)}.
Json OutlineSection(const PageFacts& facts);

// What the graph shows at first: open (nodes of the outline whose items are shown, parents first; of a repeat its first
// copy), and of each: size [width, height], at [x, y of its items, in turn], edges [[from, to (places among its items),
// 1: a collective is on it]], routes (per edge [x, y, ...]). In CSS pixels at scale 1, from the group's inner corner.
Json LayoutSection(const PageFacts& facts);

// What was chosen: layouts [{text, axes ["S(0)", "B", ...]}]; records
// {inputs, outputs (ids of layouts), choice, reason, alternative (null, or {inputs, outputs}), price,
// alternative_price, unit, candidates}; of_op (record of each op); source (per tensor: the layout in which it is
// written or starts, -1: none); seconds, alone_seconds (per op, of compute); flops (per op: of the whole, each time it
// runs; null without the problem); peaks (flops per second of a device), peak_of (per op: which of them); sharing (per
// op: render/facts.h, Sharing); outputs (layouts in which the graph's outputs end); kernels {of_op (-1: none), kinds
// (per group)}; no_kernel (ids of ops).
Json DecisionsSection(const PageFacts& facts);

// Of tensors: spread [[parameter that the step updates, patterns (of `texts`, one per mesh axis: plan/patterns.h)]];
// pins [[tensor, pins (of `texts`, as written)]] and op_pins [[op, pins of its signature and of what it takes]], none
// without a problem; texts.
Json TensorsSection(const PageFacts& facts);

// Boxing: transitions {tensor, from, to (layouts of `decisions`), steps [[kind, axis, seconds, wire_bytes, start,
// end]], consumers [[op, operand]], seconds, wire_bytes, cut (compute seconds of what cuts a kernel group, not in
// `seconds`), exposed, reason (of `reasons`), runs (times a step; of `seconds`, `wire_bytes` and `cut` each time)};
// kinds
// [{name, color, is_local}]; reasons.
Json TransitionsSection(const PageFacts& facts);

// When things run: start, end (per op, seconds), summary {step, compute, collectives, exposed, slowed, idle}, runs (per
// op: times a step), micro_batches (schedule/micro_batches.h: each of its own; null: none, or too many tasks; else
// physical (those of the physical plan, each of which runs every task; else the graph's own), counts (micro-batches per
// part), seconds, and per task part, op, transition, step, start, end; -1: none). Steps of transitions have their times
// in `transitions`.
Json ScheduleSection(const PageFacts& facts);

// What memory holds: op_at (per position of the order of a step: the op that runs or is prepared), lifetimes {bytes,
// first, last (positions), tensor, transition (-1: none), kind (of `kinds`), part (of `parts`: what the summary splits
// the peak into)}, kinds, parts, workspace_bytes, peak_bytes, physical {arena_bytes (of a device), micro_batches,
// registers, tasks (their numbers)} (null: the plan has no physical plan), limit_bytes (null: none), device_bytes.
Json MemorySection(const PageFacts& facts);

// Why (explain/explain.h), of the distinct ops that take most of the step, within bounds of a page; null without a
// problem: of_op (per op: an entry, -1: none); criteria [[name, unit]]; entries {first (the op that is explained), ops
// (how many are alike), operands, results (their names in the rule), rule, criterion ("": of greedy), again ("": no op
// is run again), count (of all candidates), candidates [{signature, choice, chosen, allowed, compute, boxing,
// extra (seconds, null: cannot be), forced (null: not searched; else [at least, at most] more seconds of the whole step
// with all else chosen anew, null: no plan, none found), own (null, or {criterion, unit, price, terms [[what,
// value]]}), prices (by each of `criteria`, where there are few operands), terms (of each of `prices` [[what, value]],
// of the chosen one; null: of another)}], the chosen one first, then by price}.
Json ExplainSection(const PageFacts& facts);

// What would remove the dearest kinds of collectives (report/facts.h, GroupCollectives), one entry for each that was
// looked at, within bounds of a page; null without a problem: [{transition (the first of its kind), pin (as --pin takes
// it; null: none is known, and nothing else is said), where
// ("reader", "writer", "start": of an input or parameter), extra_seconds (of the step, with every other op as the plan
// has it, for this transition alone; null: it takes memory), extra_bytes (on a device), moves (unless other ops change
// too, the op's other side needs as much boxing)}].
Json RemovalsSection(const PageFacts& facts);

// Who sends to whom in a step, as cost/traffic.h says: devices, per_block, blocks, devices_per_node; intra_node,
// inter_node {name, bandwidth (bytes per second of a device, as reached), bandwidth_source, bytes}; flows, one per kind
// and mesh axis {kind (of `transitions`), axis, peers (0 the next of a ring, 1 all, 2 both neighbours), count, bytes,
// seconds, inside, across (bytes within nodes and between them), matrix [[from, to (blocks), bytes]]}. The bytes of all
// flows are the summary's bytes_moved, and so are those of all entries, but for a mesh of more than kMaxTrafficDevices,
// which has no entries.
Json TrafficSection(const PageFacts& facts);

// A run of the plan (PageOptions::trace; else null): path, kind ("measured", "predicted"), devices, shown (the devices
// whose events follow), micro_batches, seconds; op_seconds, transition_seconds (in a step, the mean of all devices);
// events {device, micro_batch, stream (0 compute, 1 communication), op (-1: none), transition, step (-1: none), start,
// end}, by device and start.
Json TraceSection(const PageFacts& facts);

}  // namespace sbp
