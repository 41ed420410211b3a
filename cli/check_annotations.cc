#include "cli/check_annotations.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/annotations.h"
#include "base/ids.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cli/interrupt.h"
#include "cli/planning.h"
#include "cli/progress.h"
#include "cli/violations.h"
#include "cluster/collective_kind.h"
#include "graph/graph.h"
#include "pipeline/pipeline.h"
#include "pipeline/request.h"
#include "plan/plan.h"
#include "report/facts.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

std::string OpText(const Graph& graph, OpId op) {
  return StrCat(graph.type_of(graph.op(op)), " ", Quote(graph.op(op).name));
}

// `MatMul "mm" -> Add "add"`: who writes the tensor, and who reads it in the new layout.
std::string EndsText(const Plan& plan, const Transition& transition) {
  const OpId producer = plan.graph.tensor(transition.tensor).producer;
  std::string text = producer.valid() ? OpText(plan.graph, producer) : "where it starts";
  if (transition.consumers.empty()) return text + " -> as it is left or sent on";
  text += StrCat(" -> ", OpText(plan.graph, transition.consumers.front().op));
  if (transition.consumers.size() > 1) text += StrCat(" and ", transition.consumers.size() - 1, " more");
  return text;
}

std::vector<const Transition*> DearestFirst(const Plan& plan) {
  std::vector<const Transition*> transitions;
  for (const Transition& transition : plan.transitions) transitions.push_back(&transition);
  std::ranges::stable_sort(transitions, [](const auto* a, const auto* b) { return a->seconds > b->seconds; });
  return transitions;
}

struct Totals {
  double seconds = 0, bytes = 0;
};
Totals TotalsOf(const Plan& plan) {
  Totals totals;
  for (const Transition& transition : plan.transitions) {
    totals.seconds += transition.seconds;
    totals.bytes += transition.wire_bytes;
  }
  return totals;
}

std::string CommunicationText(const Plan& plan) {
  constexpr size_t kShown = 20;  // --format json has them all
  if (plan.transitions.empty()) return "\nimplied communication: none";
  const Totals totals = TotalsOf(plan);
  std::string text = StrCat("\nimplied communication on ", plan.cluster.name, ": ", plan.transitions.size(),
                            plan.transitions.size() == 1 ? " layout change, " : " layout changes, ",
                            FormatBytes(totals.bytes), " sent, ", FormatSeconds(totals.seconds));
  const std::vector<const Transition*> transitions = DearestFirst(plan);
  for (size_t i = 0; i < transitions.size() && i < kShown; ++i) {
    const Transition& t = *transitions[i];
    text += StrCat("\n  ", Quote(plan.graph.tensor(t.tensor).name), " ", ToString(t.from), " -> ", ToString(t.to), ": ",
                   DescribeSteps(plan, t), ", ", FormatBytes(t.wire_bytes), ", ", FormatSeconds(t.seconds), "\n      ",
                   EndsText(plan, t));
  }
  if (transitions.size() > kShown) text += StrCat("\n  ... and ", transitions.size() - kShown, " more");
  return text;
}

std::string GoodText(const AnnotationReport& report) {
  std::string text = StrCat("good: ", report.annotated, " of ", report.nodes, " nodes annotated");
  for (const ConfigurationReport& configuration : report.configurations) {
    text += StrCat(report.configurations.size() > 1 ? "\n" : ", ", "configuration ", Quote(configuration.name), ", ",
                   configuration.specs, " sharding specs");
    if (configuration.mesh) text += StrCat(", mesh ", ToString(*configuration.mesh));
    if (configuration.plan) text += CommunicationText(*configuration.plan);
  }
  return text;
}

nlohmann::ordered_json TransitionJson(const Plan& plan, const Transition& transition) {
  nlohmann::ordered_json readers = nlohmann::ordered_json::array();
  for (const Use& use : transition.consumers) readers.push_back(plan.graph.op(use.op).name);
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  for (const BoxingStep& step : transition.steps) {
    steps.push_back({{"collective", CollectiveKindName(step.kind)},
                     {"axis", plan.mesh.axes[static_cast<size_t>(step.axis)].name},
                     {"wire_bytes", step.wire_bytes},
                     {"seconds", step.seconds}});
  }
  const OpId producer = plan.graph.tensor(transition.tensor).producer;
  return {{"tensor", plan.graph.tensor(transition.tensor).name},
          {"producer", producer.valid() ? plan.graph.op(producer).name : ""},
          {"readers", readers},
          {"from", ToString(transition.from)},
          {"to", ToString(transition.to)},
          {"steps", steps},
          {"wire_bytes", transition.wire_bytes},
          {"seconds", transition.seconds}};
}

std::string ToJson(const AnnotationReport& report) {
  nlohmann::ordered_json document = {{"violations", ViolationsJson(report.violations)},
                                     {"notes", report.notes},
                                     {"nodes", report.nodes},
                                     {"annotated_nodes", report.annotated},
                                     {"configurations", nlohmann::ordered_json::array()}};
  for (const ConfigurationReport& configuration : report.configurations) {
    nlohmann::ordered_json entry = {{"name", configuration.name}, {"sharding_specs", configuration.specs}};
    if (configuration.mesh) entry["mesh"] = ToString(*configuration.mesh);
    if (configuration.plan) {
      const Totals totals = TotalsOf(*configuration.plan);
      entry["cluster"] = configuration.plan->cluster.name;
      entry["communication"] = nlohmann::ordered_json::array();
      for (const Transition& transition : configuration.plan->transitions) {
        entry["communication"].push_back(TransitionJson(*configuration.plan, transition));
      }
      entry["communication_wire_bytes"] = totals.bytes;
      entry["communication_seconds"] = totals.seconds;
    }
    document["configurations"].push_back(std::move(entry));
  }
  return document.dump(2);
}

}  // namespace

Status CheckAnnotatedModel(std::string_view bytes, const PlanningInput& input, const RuleSet& rules,
                           const OutputFlags& output) {
  const PlanMaker make_plan = [](PlanRequest request) {
    TellProgress("planning what the annotations leave open");
    const InterruptScope interruptible;
    StageObserver observer;
    observer.cancelled = InterruptAsker();
    request.bound = false;
    return MakePlan(std::move(request), observer);
  };
  SBP_ASSIGN_OR_RETURN(const AnnotationReport report, CheckAnnotations(bytes, input, rules, make_plan, NoteChoice));
  if (output.json()) {
    SBP_RETURN_IF_ERROR(Print(ToJson(report)));
  } else {
    for (const std::string& note : report.notes) Note(StrCat("note: ", note));
    SBP_RETURN_IF_ERROR(Print(report.violations.empty() ? GoodText(report) : FormatViolations(report.violations)));
  }
  return report.violations.empty() ? OkStatus() : Status(Code::kMismatch, "");
}

}  // namespace sbp
