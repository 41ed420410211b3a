#include "page/trace.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "graph/graph.h"

namespace sbp {
namespace {

// An event as it stands in the file.
struct RawEvent {
  std::string phase, name, process_name;
  int64_t process = 0, thread = 0, micro_batch = 0;
  std::optional<double> start, duration;  // microseconds; none: missing, or no number
  size_t number = 0;                      // of the file's events, from 0
};

// Keeps what is asked of events, whatever else the file holds: memory stays small beside that of the text.
class TraceReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TraceReader(std::string_view text) : text_(text) {}

  std::vector<RawEvent> events;
  bool is_trace = false;  // it has a list "traceEvents"
  std::string error;      // ":line:column: what"

  bool null() override { return Value(); }
  bool boolean(bool /*value*/) override { return Value(); }
  bool number_integer(number_integer_t value) override { return Number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return Number(value); }
  bool string(string_t& value) override {
    if (depth_ == kEvent && key_ == "name") event_.name = value;
    if (depth_ == kEvent && key_ == "ph") event_.phase = value;
    if (depth_ == kArgs && in_args_ && key_ == "name") event_.process_name = value;
    return Value();
  }
  bool binary(binary_t& /*value*/) override { return Value(); }
  bool key(string_t& value) override {
    key_ = value;
    return true;
  }
  bool start_object(size_t /*size*/) override {
    if (depth_ == kEvent) in_args_ = key_ == "args";
    if (++depth_ == kEvent && in_events_) {
      event_ = {};
      event_.number = num_events_++;
    }
    return true;
  }
  bool end_object() override {
    if (depth_-- == kEvent && in_events_ && (event_.phase == "X" || event_.phase == "M")) {
      events.push_back(std::move(event_));
    }
    return true;
  }
  bool start_array(size_t /*size*/) override {
    // The format knows both a list of events and an object that holds one.
    if (depth_ == 0 || (depth_ == 1 && key_ == "traceEvents")) is_trace = in_events_ = true;
    depth_ += depth_ == 0 ? 2 : 1;
    return true;
  }
  bool end_array() override {
    if (--depth_ <= 1) in_events_ = false;
    return true;
  }
  bool parse_error(size_t position, const std::string& /*token*/, const nlohmann::detail::exception& /*why*/) override {
    const std::string_view before = text_.substr(0, position == 0 ? 0 : std::min(position - 1, text_.size()));
    const size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    error = StrCat(":", 1 + std::ranges::count(before, '\n'), ":", before.size() - line_start + 1,
                   ": not valid JSON; expected a trace as run --trace writes it");
    return false;
  }

 private:
  static constexpr int kEvent = 3, kArgs = 4;  // object, list, event, its arguments

  bool Value() { return true; }
  bool Number(double value) {
    if (depth_ == kEvent && in_events_) {
      if (key_ == "ts") event_.start = value;
      if (key_ == "dur") event_.duration = value;
      if (key_ == "pid") event_.process = Integer(value);
      if (key_ == "tid") event_.thread = Integer(value);
    } else if (depth_ == kArgs && in_args_ && key_ == "micro_batch") {
      event_.micro_batch = Integer(value);
    }
    return true;
  }
  static int64_t Integer(double value) {
    constexpr double kMost = std::numeric_limits<uint32_t>::max();
    return value >= 0 && value <= kMost ? static_cast<int64_t>(value) : -1;
  }

  std::string_view text_;
  std::string key_;
  RawEvent event_;
  size_t num_events_ = 0;
  int depth_ = 0;
  bool in_events_ = false, in_args_ = false;
};

// "device 3, measured".
struct Process {
  uint32_t device = 0;
  std::string kind;
};
std::optional<Process> ProcessNamed(std::string_view name) {
  constexpr std::string_view kDevice = "device ";
  const size_t comma = name.find(", ");
  if (!name.starts_with(kDevice) || comma == std::string_view::npos) return std::nullopt;
  const auto device = ParseInt(name.substr(kDevice.size(), comma - kDevice.size()));
  if (!device || *device < 0 || *device > std::numeric_limits<int32_t>::max()) return std::nullopt;
  return Process{static_cast<uint32_t>(*device), std::string(name.substr(comma + 2))};
}

// What a plan's events are called (runtime/actors/actor_graph.h).
class EventNames {
 public:
  explicit EventNames(const Plan& plan) {
    for (uint32_t i = 0; i < plan.graph.ops.size(); ++i) {
      const Op& op = plan.graph.ops[i];
      ops_[StrCat(plan.graph.type_of(op), " ", Quote(op.name))] = i;
    }
    for (uint32_t t = 0; t < plan.transitions.size(); ++t) {
      const Transition& transition = plan.transitions[t];
      for (uint32_t s = 0; s < transition.steps.size(); ++s) {
        const BoxingStep& step = transition.steps[s];
        steps_[StrCat(CollectiveKindName(step.kind), " over ", plan.mesh.axes[step.axis].name, " of ",
                      Quote(plan.graph.tensor(transition.tensor).name))]
            .emplace_back(t, s);
      }
    }
  }

  // Fills op or step of an event. False: the plan has none of that name.
  bool Find(std::string_view name, TraceEvent& event) {
    constexpr std::string_view kHalo = "halo of ";
    if (name.starts_with(kHalo)) name.remove_prefix(kHalo.size());
    if (const auto op = ops_.find(std::string(name)); op != ops_.end()) {
      event.op = OpId(op->second);
      return true;
    }
    const auto step = steps_.find(std::string(name));
    if (step == steps_.end()) return false;
    size_t& seen = seen_[{event.device, event.micro_batch, step->first}];
    const auto [t, s] = step->second[seen++ % step->second.size()];
    event.transition = static_cast<int32_t>(t);
    event.step = static_cast<int32_t>(s);
    return true;
  }

  std::vector<std::string> Known() const {
    std::vector<std::string> known;
    for (const auto& [name, op] : ops_) known.push_back(name);
    std::ranges::sort(known);
    return known;
  }

 private:
  std::unordered_map<std::string, uint32_t> ops_;
  std::unordered_map<std::string, std::vector<std::pair<uint32_t, uint32_t>>> steps_;
  std::map<std::tuple<uint32_t, uint32_t, std::string_view>, size_t> seen_;
};

// Longer than any run that is traced: what ends later has a time of another clock, or none at all.
constexpr double kMostSeconds = 86'400;

std::string EventText(const RawEvent& event) {
  return StrCat("traceEvents[", event.number, "], ", Quote(event.name.substr(0, 200)));
}

// Of an event that is shown: are its times what a run can have? `first`: the earliest event.
Status CheckTimes(const RawEvent& event, const RawEvent& first, std::string_view path) {
  for (const auto& [field, value] : {std::pair{"ts", event.start}, std::pair{"dur", event.duration}}) {
    if (!value) {
      return BadInput(StrCat(path, ": ", EventText(event), " has no number \"", field, "\"; expected microseconds"));
    }
  }
  if (*event.duration < 0) {
    return BadInput(StrCat(path, ": ", EventText(event), " has dur ", *event.duration, "; expected 0 or more"));
  }
  const double seconds = (*event.start + *event.duration - *first.start) * 1e-6;
  if (seconds <= kMostSeconds) return OkStatus();
  return BadInput(StrCat(path, ": ", EventText(event), " ends ", FormatSeconds(seconds), " after the start of ",
                         EventText(first), "; expected a run of a day at most"));
}

constexpr std::string_view kMeasured = "measured", kPredicted = "predicted";

// The processes of one kind, by their number in the file; measured ones where there are any.
std::map<int64_t, uint32_t> DevicesOf(const std::vector<RawEvent>& events, std::string& kind) {
  std::map<int64_t, Process> processes;
  for (const RawEvent& event : events) {
    if (event.phase != "M" || event.name != "process_name") continue;
    if (auto process = ProcessNamed(event.process_name)) processes[event.process] = *std::move(process);
  }
  const auto count = [&](std::string_view name) {
    return std::ranges::count_if(processes, [&](const auto& p) { return p.second.kind == name; });
  };
  kind = count(kMeasured) > 0 ? kMeasured : kPredicted;
  std::map<int64_t, uint32_t> devices;
  for (const auto& [number, process] : processes) {
    if (process.kind == kind) devices[number] = process.device;
  }
  return devices;
}

}  // namespace

Result<PlanTrace> ReadTrace(std::string_view text, std::string_view path, const Plan& plan) {
  TraceReader reader(text);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &reader)) return BadInput(StrCat(path, reader.error));
  if (!reader.is_trace) {
    return BadInput(StrCat(path, " is JSON, but no trace: expected a list \"traceEvents\", as run --trace writes it"));
  }
  PlanTrace trace{.path = std::string(path)};
  const std::map<int64_t, uint32_t> devices = DevicesOf(reader.events, trace.kind);
  if (devices.empty()) {
    return BadInput(StrCat(path, " is a trace of another program: expected processes that are named \"device 0, ",
                           kMeasured, "\", as run --trace names them"));
  }
  std::erase_if(reader.events, [&](const RawEvent& e) {
    return e.phase != "X" || !devices.contains(e.process) || e.name == "inputs" || e.name == "outputs";
  });
  std::ranges::stable_sort(reader.events, {}, [](const RawEvent& e) { return e.start; });  // those without one first
  EventNames names(plan);
  for (const RawEvent& raw : reader.events) {
    SBP_RETURN_IF_ERROR(CheckTimes(raw, reader.events.front(), path));
    TraceEvent event{.device = devices.at(raw.process),
                     .micro_batch = static_cast<uint32_t>(std::max<int64_t>(0, raw.micro_batch)),
                     .communication = raw.thread == 1,
                     .start = *raw.start * 1e-6,
                     .seconds = *raw.duration * 1e-6};
    if (!names.Find(raw.name, event)) {
      return BadInput(StrCat(path, ": event ", Quote(raw.name.substr(0, 200)),
                             " is of another plan: this one has no such op or boxing step",
                             DidYouMean(raw.name, names.Known())));
    }
    trace.events.push_back(event);
  }
  if (trace.events.empty()) return BadInput(StrCat(path, " holds no ", trace.kind, " event"));
  const double first = trace.events.front().start;
  std::ranges::stable_sort(trace.events, {}, &TraceEvent::device);
  for (TraceEvent& event : trace.events) {
    event.start -= first;
    trace.seconds = std::max(trace.seconds, event.start + event.seconds);
    trace.micro_batches = std::max(trace.micro_batches, event.micro_batch + 1);
  }
  trace.devices = static_cast<uint32_t>(devices.size());
  return trace;
}

}  // namespace sbp
