#include "runtime/actors/trace.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/text.h"
#include "graph/graph.h"
#include "physical/physical.h"
#include "plan/physical_plan.h"
#include "plan/plan.h"

namespace sbp {
namespace {

// Per actor the registers whose copies it begins to use, and per register those who end its use.
struct RegisterUses {
  std::vector<std::vector<uint32_t>> written;  // per actor
  std::vector<std::vector<uint32_t>> users;    // per register: readers, else the writer; of what lies over it too
  int64_t parameter_bytes = 0;
};

RegisterUses FindUses(const Plan& plan, const PhysicalPlan& physical, const ActorGraph& graph) {
  RegisterUses uses;
  uses.written.resize(graph.actors.size());
  uses.users.resize(physical.registers.size());
  const std::vector<uint32_t> owners = BufferOwners(physical.registers);
  for (uint32_t r = 0; r < physical.registers.size(); ++r) {
    const Register& reg = physical.registers[r];
    if (!reg.resident) continue;
    if (plan.graph.tensor(reg.tensor).role == TensorRole::kInput) {
      uses.written[graph.inputs_actor()].push_back(r);
    } else {
      uses.parameter_bytes += reg.footprint();
    }
  }
  for (uint32_t t = 0; t < physical.tasks.size(); ++t) {
    for (const uint32_t r : physical.tasks[t].writes) {
      if (r != kNoRegister && owners[r] == r) uses.written[t].push_back(r);
    }
    for (const uint32_t r : physical.tasks[t].reads) {
      if (r != kNoRegister) uses.users[owners[r]].push_back(t);
    }
  }
  for (const uint32_t r : OutputRegisters(plan, physical)) {
    if (r != kNoRegister) uses.users[owners[r]].push_back(graph.outputs_actor());
  }
  for (uint32_t a = 0; a < graph.actors.size(); ++a) {
    for (const uint32_t r : uses.written[a]) {
      if (uses.users[r].empty()) uses.users[r].push_back(a);
    }
  }
  return uses;
}

std::string JsonString(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Microseconds with three digits: nanoseconds are what clocks tell apart.
std::string Microseconds(double seconds) { return FormatDouble(std::round(seconds * 1e9) / 1e3); }

class TraceWriter {
 public:
  TraceWriter(const Plan& plan, const PhysicalPlan& physical, const ActorGraph& graph)
      : plan_(plan), physical_(physical), graph_(graph) {
    for (const Actor& actor : graph.actors) names_.push_back(JsonString(actor.name));
  }

  void Add(std::span<const Span> spans, std::string_view kind, uint32_t offset) {
    std::map<uint32_t, std::vector<Span>> devices;
    for (const Span& span : spans) devices[span.device].push_back(span);
    for (const auto& [device, own] : devices) {
      const uint32_t process = 2 * device + offset;
      AddProcess(process, StrCat("device ", device, ", ", kind));
      for (const Span& span : own) AddSpan(process, span);
      for (const MemorySample& sample : MemoryOverTime(plan_, physical_, graph_, own)) {
        Event(StrCat(R"({"name":"memory","ph":"C","pid":)", process, R"(,"ts":)", Microseconds(sample.seconds),
                     R"(,"args":{"bytes":)", sample.bytes, "}}"));
      }
    }
  }

  std::string Finish() { return text_ + "\n]}\n"; }

 private:
  void AddProcess(uint32_t process, const std::string& name) {
    Event(StrCat(R"({"name":"process_name","ph":"M","pid":)", process, R"(,"args":{"name":)", JsonString(name), "}}"));
    Event(
        StrCat(R"({"name":"process_sort_index","ph":"M","pid":)", process, R"(,"args":{"sort_index":)", process, "}}"));
    for (const Stream stream : {Stream::kCompute, Stream::kCommunication}) {
      Event(StrCat(R"({"name":"thread_name","ph":"M","pid":)", process, R"(,"tid":)", static_cast<int>(stream),
                   R"(,"args":{"name":)", JsonString(StreamName(stream)), "}}"));
    }
  }

  void AddSpan(uint32_t process, const Span& span) {
    const Actor& actor = graph_.actors[span.firing.actor];
    Event(StrCat(R"({"name":)", names_[span.firing.actor], R"(,"ph":"X","pid":)", process, R"(,"tid":)",
                 static_cast<int>(actor.stream), R"(,"ts":)", Microseconds(span.start), R"(,"dur":)",
                 Microseconds(span.end - span.start), R"(,"args":{"task":)", span.firing.actor, R"(,"micro_batch":)",
                 span.firing.micro_batch, R"(,"predicted_us":)", Microseconds(actor.seconds), "}}"));
  }

  void Event(std::string_view event) {
    text_ += first_ ? "\n" : ",\n";
    text_ += event;
    first_ = false;
  }

  const Plan& plan_;
  const PhysicalPlan& physical_;
  const ActorGraph& graph_;
  std::vector<std::string> names_;
  std::string text_ = R"({"displayTimeUnit":"ms","traceEvents":[)";
  bool first_ = true;
};

}  // namespace

std::vector<MemorySample> MemoryOverTime(const Plan& plan, const PhysicalPlan& physical, const ActorGraph& graph,
                                         std::span<const Span> spans) {
  const RegisterUses uses = FindUses(plan, physical, graph);
  std::vector<const Span*> of_firing(graph.actors.size() * graph.micro_batches, nullptr);
  const auto at = [&](uint32_t micro_batch, uint32_t actor) -> const Span*& {
    return of_firing[micro_batch * graph.actors.size() + actor];
  };
  for (const Span& span : spans) at(span.firing.micro_batch, span.firing.actor) = &span;
  std::map<double, int64_t> changes;
  if (!spans.empty()) changes[0] = uses.parameter_bytes;
  for (const Span& span : spans) {
    for (const uint32_t r : uses.written[span.firing.actor]) {
      const Register& reg = physical.registers[r];
      const int64_t bytes = reg.footprint() / reg.copies;
      double end = span.end;
      for (const uint32_t user : uses.users[r]) {
        const Span* use = at(span.firing.micro_batch, user);
        if (use != nullptr) end = std::max(end, use->end);
      }
      changes[span.start] += bytes;
      changes[end] -= bytes;
    }
  }
  std::vector<MemorySample> samples;
  int64_t bytes = 0;
  for (const auto& [seconds, change] : changes) {
    bytes += change;
    if (change != 0 || samples.empty()) samples.push_back({seconds, bytes});
  }
  return samples;
}

std::string TraceJson(const Plan& plan, const PhysicalPlan& physical, const ActorGraph& graph,
                      std::span<const Span> measured, std::span<const Span> predicted) {
  TraceWriter writer(plan, physical, graph);
  writer.Add(measured, "measured", 0);
  writer.Add(predicted, "predicted", 1);
  return writer.Finish();
}

}  // namespace sbp
