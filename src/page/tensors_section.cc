// What is said of tensors beside their layouts: how a training step spreads parameters, and pins.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "page/interned.h"
#include "page/sections.h"
#include "plan/patterns.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

Json SpreadOf(const Plan& plan, Interned& texts) {
  Json list = Json::array();
  const PatternReader reader(plan);
  for (const TensorId parameter : reader.updated()) {
    Json patterns = Json::array();
    for (const AxisPattern& pattern : reader.Of(parameter)) {
      patterns.push_back(texts.Find(StrCat(plan.mesh.axes[pattern.axis].name, ": ", pattern.text)));
    }
    list.push_back({parameter.index(), std::move(patterns)});
  }
  return list;
}

using PinTextsById = std::map<uint32_t, std::set<std::string>>;  // the pins' own order is none

Json Listed(const PinTextsById& pins, Interned& texts) {
  Json list = Json::array();
  for (const auto& [id, found] : pins) {
    Json ids = Json::array();
    for (const std::string& text : found) ids.push_back(texts.Find(text));
    list.push_back({id, std::move(ids)});
  }
  return list;
}

PinTextsById PinsOfTensors(const Pins& pins) {
  PinTextsById found;
  for (const auto* kind : {&pins.tensors, &pins.lies}) {
    for (const auto& [tensor, pin] : *kind) found[tensor.value].insert(pin.text);
  }
  return found;
}

PinTextsById PinsOfOps(const Pins& pins) {
  PinTextsById found;
  for (const auto& [op, pin] : pins.signatures) found[op.value].insert(pin.text);
  for (const auto& [use, pin] : pins.uses) found[static_cast<uint32_t>(use >> 32)].insert(pin.text);
  return found;
}

}  // namespace

Json TensorsSection(const PageFacts& facts) {
  static const Pins kNoPins;
  const Pins& pins = facts.options.problem == nullptr ? kNoPins : facts.options.problem->pins;
  Interned texts;
  Json spread = SpreadOf(facts.plan, texts);
  Json of_tensors = Listed(PinsOfTensors(pins), texts), of_ops = Listed(PinsOfOps(pins), texts);
  return {{"spread", std::move(spread)},
          {"pins", std::move(of_tensors)},
          {"op_pins", std::move(of_ops)},
          {"texts", texts.all()}};
}

}  // namespace sbp
