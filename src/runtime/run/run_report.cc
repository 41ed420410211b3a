#include "runtime/run/run_report.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "base/number_text.h"
#include "base/text.h"

namespace sbp {
namespace {

constexpr size_t kShownTensors = 20, kShownTasks = 5;

std::string Scientific(double value) { return FormatScientific(value, 2); }

void AddLine(const RunReport& report, const TensorReport& tensor, std::string& text) {
  text += StrCat("  ", tensor.name, "  ", ToString(tensor.type));
  if (!tensor.problem.empty()) {
    text += StrCat("  <- ", tensor.problem);
  } else if (tensor.compared) {
    const Difference& d = tensor.difference;
    text += StrCat("  error ", Scientific(d.relative_error), ", largest ", Scientific(d.max_abs_error));
    if (tensor.allowed > report.tolerance && d.relative_error > report.tolerance && !report.Fails(tensor)) {
      text += StrCat(" (rounding: up to ", Scientific(tensor.allowed), ")");
    }
    if (d.nan > 0) text += StrCat(", ", d.nan, " NaN");
    if (report.elementwise && d.outside > 0) text += StrCat(", ", d.outside, " of ", d.elements, " outside");
  }
  if (tensor.problem.empty() && report.Fails(tensor)) text += "  <- above the tolerance";
  text += "\n";
}

// The largest errors first; all of them when they fail.
void AddTensors(const RunReport& report, const std::vector<TensorReport>& tensors, std::string& text) {
  size_t shown = 0;
  for (const TensorReport& tensor : tensors) {
    if (shown < kShownTensors || report.Fails(tensor)) {
      AddLine(report, tensor, text);
      ++shown;
    }
  }
  if (shown < tensors.size()) text += StrCat("  ... and ", tensors.size() - shown, " more, all good\n");
}

double RatioOf(const TaskReport& task) {
  if (task.predicted_seconds <= 0 || task.measured_seconds <= 0) return 0;
  return std::abs(std::log(task.measured_seconds / task.predicted_seconds));
}

void AddTasks(const RunReport& report, std::string& text) {
  std::vector<const TaskReport*> worst;
  for (const TaskReport& task : report.tasks) {
    if (RatioOf(task) > 0) worst.push_back(&task);
  }
  if (worst.empty()) return;
  const size_t n = std::min(kShownTasks, worst.size());
  std::partial_sort(worst.begin(), worst.begin() + static_cast<std::ptrdiff_t>(n), worst.end(),
                    [](const TaskReport* a, const TaskReport* b) {
                      const double x = std::abs(a->measured_seconds - a->predicted_seconds);
                      const double y = std::abs(b->measured_seconds - b->predicted_seconds);
                      return x != y ? x > y : a->name < b->name;
                    });
  text += "largest gaps between predicted and measured:\n";
  for (size_t i = 0; i < n; ++i) {
    text +=
        StrCat("  ", worst[i]->name, " (", worst[i]->kind, "): predicted ", FormatSeconds(worst[i]->predicted_seconds),
               ", measured ", FormatSeconds(worst[i]->measured_seconds), "\n");
  }
}

// All of a few steps; of many the first ones, the last ones, some between, and all that fail.
void AddSteps(const RunReport& report, std::string& text) {
  constexpr size_t kAll = 24, kEnds = 3;
  const size_t count = report.steps.size(), stride = std::max<size_t>(1, count / 10);
  for (size_t i = 0; i < count; ++i) {
    const StepReport& step = report.steps[i];
    const bool shown = count <= kAll || i < kEnds || i + kEnds >= count || i % stride == 0 || step.failed > 0;
    if (!shown) continue;
    text += StrCat("step ", step.step, ": loss ", FormatDouble(step.loss));
    if (!report.against.empty()) {
      text += StrCat(", unsharded ", FormatDouble(step.reference_loss), "; largest error ", Scientific(step.error));
      if (!step.worst.empty()) text += StrCat(", of ", step.worst);
    }
    if (step.failed > 0) text += StrCat("  <- ", step.failed, " above the tolerance");
    text += "\n";
  }
}

nlohmann::ordered_json StepsJson(const RunReport& report) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const StepReport& step : report.steps) {
    nlohmann::ordered_json entry = {{"step", step.step}, {"loss", step.loss}};
    if (!report.against.empty()) {
      entry["reference_loss"] = step.reference_loss;
      entry["max_relative_error"] = step.error;
      entry["worst"] = step.worst;
      entry["failed"] = step.failed;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

// Tasks of one kind together.
struct KindTimes {
  int64_t tasks = 0;
  double predicted = 0, measured = 0;
};

std::string Percent(double ratio) { return FormatFixed(100 * ratio, 1) + " %"; }
std::string ErrorOf(double predicted, double measured) {
  if (measured <= 0) return "-";
  const double error = predicted / measured - 1;
  return (error < 0 ? "" : "+") + Percent(error);
}

std::string ComparisonRow(std::string_view kind, std::string_view tasks, std::string_view predicted,
                          std::string_view measured, std::string_view error) {
  std::ostringstream row;
  row << "  " << std::left << std::setw(28) << kind << std::right << std::setw(6) << tasks << std::setw(12) << predicted
      << std::setw(12) << measured << std::setw(12) << error << "\n";
  return row.str();
}
std::string ComparisonRow(std::string_view kind, std::string_view tasks, double predicted, double measured) {
  return ComparisonRow(kind, tasks, FormatSeconds(predicted), FormatSeconds(measured), ErrorOf(predicted, measured));
}

void AddComparison(const RunReport& report, std::string& text) {
  const StepComparison& step = *report.comparison;
  std::map<std::string, KindTimes> kinds;
  for (const TaskReport& task : report.tasks) {
    KindTimes& kind = kinds[task.kind];
    ++kind.tasks;
    kind.predicted += task.predicted_seconds;
    kind.measured += task.measured_seconds;
  }
  std::vector<std::pair<std::string, KindTimes>> rows(kinds.begin(), kinds.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.measured > b.second.measured; });
  text += StrCat("predicted against measured, medians of ", step.repeats, " warm steps:\n");
  text += ComparisonRow("kind", "tasks", "predicted", "measured", "error");
  for (const auto& [name, kind] : rows) text += ComparisonRow(name, StrCat(kind.tasks), kind.predicted, kind.measured);
  text += ComparisonRow("step, overlapped", "", step.predicted_seconds, step.measured.median);
  text += StrCat("  the steps' spread, from the first to the third quartile: ", Percent(step.measured.spread), "\n");
  const auto predicted = static_cast<double>(step.predicted_peak_bytes), taken = static_cast<double>(report.peak_bytes);
  text += StrCat("  memory of a device: predicted ", FormatBytes(predicted), ", allocated ", FormatBytes(taken), " (",
                 ErrorOf(predicted, taken), ")\n  constants of ", step.constants, "\n");
}

nlohmann::ordered_json ComparisonJson(const RunReport& report) {
  const StepComparison& step = *report.comparison;
  return {{"repeats", step.repeats},
          {"predicted_seconds", step.predicted_seconds},
          {"measured_seconds", step.measured.median},
          {"spread", step.measured.spread},
          {"predicted_peak_bytes", step.predicted_peak_bytes},
          {"allocated_bytes", report.peak_bytes},
          {"constants", step.constants}};
}

nlohmann::ordered_json NumberOf(double value) {
  if (std::isfinite(value)) return value;
  return nullptr;  // JSON has no infinity
}

nlohmann::ordered_json ListOf(const RunReport& report, const std::vector<TensorReport>& tensors) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const TensorReport& t : tensors) {
    nlohmann::ordered_json entry = {{"name", t.name}, {"type", ToString(t.type)}};
    if (t.compared) {
      entry["relative_error"] = NumberOf(t.difference.relative_error);
      entry["max_abs_error"] = NumberOf(t.difference.max_abs_error);
      if (report.elementwise) entry["outside"] = t.difference.outside;
      entry["nan"] = t.difference.nan;
    }
    if (!t.problem.empty()) entry["problem"] = t.problem;
    entry["good"] = !report.Fails(t);
    list.push_back(std::move(entry));
  }
  return list;
}

std::string MemoryLine(const DeviceMemory& memory) {
  const auto bytes = [](int64_t count) { return FormatBytes(static_cast<double>(count)); };
  std::vector<std::string> phases;
  for (const DeviceMemory::Phase& phase : memory.phases) {
    if (phase.bytes != 0) phases.push_back(StrCat(bytes(phase.bytes), " ", phase.name));
  }
  return StrCat("memory of the first device, as it says itself: ", Join(phases, "; "), "; ", bytes(memory.free_bytes),
                " of ", bytes(memory.total_bytes), " are free\n");
}

nlohmann::ordered_json MemoryJson(const DeviceMemory& memory) {
  nlohmann::ordered_json phases = nlohmann::ordered_json::array();
  for (const DeviceMemory::Phase& phase : memory.phases)
    phases.push_back({{"phase", phase.name}, {"bytes", phase.bytes}});
  return {{"phases", std::move(phases)}, {"free_bytes", memory.free_bytes}, {"total_bytes", memory.total_bytes}};
}

}  // namespace

double RunReport::max_relative_error() const {
  double largest = 0;
  for (const std::vector<TensorReport>* list : {&outputs, &tensors}) {
    for (const TensorReport& tensor : *list) {
      if (tensor.compared) largest = std::max(largest, tensor.difference.relative_error);
    }
  }
  return largest;
}

bool RunReport::Fails(const TensorReport& tensor) const {
  if (!tensor.problem.empty()) return true;
  if (!tensor.compared) return false;
  return elementwise ? tensor.difference.outside > 0
                     : !(tensor.difference.relative_error <= std::max(tolerance, tensor.allowed));
}

bool RunReport::good() const {
  const auto fails = [&](const TensorReport& t) { return Fails(t); };
  const auto failed = [](const StepReport& step) { return step.failed > 0; };
  if (std::any_of(steps.begin(), steps.end(), failed)) return false;
  return std::none_of(outputs.begin(), outputs.end(), fails) && std::none_of(tensors.begin(), tensors.end(), fails);
}

std::string FormatRunReport(const RunReport& report) {
  std::string text = StrCat("ran ", report.what, "\n");
  AddSteps(report, text);
  if (!report.is_virtual)
    text += report.against.empty() ? "outputs:\n" : StrCat("outputs against ", report.against, ":\n");
  AddTensors(report, report.outputs, text);
  if (!report.tensors.empty()) {
    text += "other tensors:\n";
    AddTensors(report, report.tensors, text);
  }
  if (!report.random_inputs.empty()) {
    text += StrCat("random inputs: ", Join(report.random_inputs, ", "), " (give real ones with --inputs)\n");
  }
  if (report.random_parameters > 0) {
    text += StrCat("random parameters: ", report.random_parameters, " whose values are not at hand\n");
  }
  for (const std::string& note : report.notes) text += note + "\n";
  if (!report.device_memory.phases.empty()) text += MemoryLine(report.device_memory);
  text += report.is_virtual ? "step:" : StrCat("step: measured ", FormatSeconds(report.measured_seconds));
  if (report.predicted_seconds > 0)
    text += StrCat(report.is_virtual ? " predicted " : ", predicted ", FormatSeconds(report.predicted_seconds));
  if (report.reference_seconds > 0) text += StrCat("; unsharded ", FormatSeconds(report.reference_seconds));
  if (report.peak_bytes > 0) text += StrCat("; ", FormatBytes(static_cast<double>(report.peak_bytes)), " a device");
  text += "\n";
  if (report.comparison) AddComparison(report, text);
  AddTasks(report, text);
  if (!report.against.empty()) {
    text += report.good() ? "good: " : "BAD: ";
    text += StrCat("largest error ", Scientific(report.max_relative_error()));
    text +=
        report.elementwise ? " (judged element by element)" : StrCat(", tolerance ", FormatDouble(report.tolerance));
    text += "\n";
  }
  return text;
}

std::string RunReportJson(const RunReport& report) {
  nlohmann::ordered_json json;
  json["ran"] = report.what;
  if (!report.steps.empty()) json["steps"] = StepsJson(report);
  json["outputs"] = ListOf(report, report.outputs);
  if (!report.tensors.empty()) json["tensors"] = ListOf(report, report.tensors);
  json["max_relative_error"] = NumberOf(report.max_relative_error());
  json["tolerance"] = report.tolerance;
  json["against"] = report.against;
  json["good"] = report.good();
  json["predicted_seconds"] = report.predicted_seconds;
  json["measured_seconds"] = nullptr;  // of virtual time
  if (!report.is_virtual) json["measured_seconds"] = report.measured_seconds;
  json["reference_seconds"] = report.reference_seconds;
  json["peak_bytes"] = report.peak_bytes;
  if (!report.device_memory.phases.empty()) json["device_memory"] = MemoryJson(report.device_memory);
  nlohmann::ordered_json tasks = nlohmann::ordered_json::array();
  for (const TaskReport& task : report.tasks) {
    nlohmann::ordered_json entry = {{"name", task.name}, {"kind", task.kind}};
    if (!task.op.valid()) {
      entry["tensor_bytes"] = task.bytes;
      entry["ranks"] = task.ranks;
      if (task.run_bytes > 0) entry["run_bytes"] = task.run_bytes;
    }
    entry["predicted_seconds"] = task.predicted_seconds;
    entry["measured_seconds"] = task.measured_seconds;
    entry["spread"] = task.spread;
    tasks.push_back(std::move(entry));
  }
  if (report.comparison) json["comparison"] = ComparisonJson(report);
  if (!report.tasks.empty()) json["tasks"] = std::move(tasks);
  json["random_inputs"] = report.random_inputs;
  json["random_parameters"] = report.random_parameters;
  json["notes"] = report.notes;
  return json.dump(2);
}

}  // namespace sbp
