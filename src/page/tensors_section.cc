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

Json PinsOf(const Pins& pins, Interned& texts) {
  std::map<uint32_t, std::set<std::string>> of_tensor;  // the pins' own order is none
  for (const auto* kind : {&pins.tensors, &pins.lies}) {
    for (const auto& [tensor, pin] : *kind) of_tensor[tensor.value].insert(pin.text);
  }
  Json list = Json::array();
  for (const auto& [tensor, found] : of_tensor) {
    Json ids = Json::array();
    for (const std::string& text : found) ids.push_back(texts.Find(text));
    list.push_back({tensor, std::move(ids)});
  }
  return list;
}

}  // namespace

Json TensorsSection(const PageFacts& facts) {
  Interned texts;
  Json spread = SpreadOf(facts.plan, texts);
  Json pins = facts.options.problem == nullptr ? Json::array() : PinsOf(facts.options.problem->pins, texts);
  return {{"spread", std::move(spread)}, {"pins", std::move(pins)}, {"texts", texts.all()}};
}

}  // namespace sbp
