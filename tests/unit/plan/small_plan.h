// A plan made by hand: y = relu(x w), split over k, so that the product is partial and an all-reduce makes it whole.
#pragma once

#include "graph/builder.h"
#include "plan/plan.h"

namespace sbp {

inline Plan SmallPlan() {
  GraphBuilder builder("small");
  builder.AddInput("x", *ParseTensorType("f32[4,8]"));
  builder.AddParameter("w", *ParseTensorType("f32[8,16]"));
  builder.DescribeTensor("h", *ParseTensorType("f32[4,16]"));
  builder.DescribeTensor("y", *ParseTensorType("f32[4,16]"));
  builder.AddOp("MatMul", "fc", {"x", "w"}, {"h"});
  builder.AddOp("Relu", "act", {"h"}, {"y"});
  builder.AddOutput("y");
  Plan plan;
  plan.model_path = "small.json";
  plan.model_fingerprint = "fnv1a64:0123456789abcdef";
  plan.graph = *builder.Build("");
  plan.mesh = *ParseMesh("model=4");
  plan.cluster = *FindPreset("8xH100");
  plan.records.resize(2);
  plan.records[0].signature = *ParseSignature("S(1), S(0) -> P(sum)", 1);
  plan.records[0].reason = "pinned";
  plan.records[1].signature = *ParseSignature("B -> B", 1);
  plan.records[1].reason = "only one left";
  plan.op_records = {0, 1};
  plan.source_layouts = {*ParseNdSbp("S(1)"), *ParseNdSbp("S(0)"), *ParseNdSbp("P"), *ParseNdSbp("B")};
  BoxingTable table(plan.mesh, plan.cluster, false, BoxingCriterion::kWireBytes);
  Transition transition;
  transition.tensor = TensorId(2);
  transition.from = *ParseNdSbp("P");
  transition.to = *ParseNdSbp("B");
  const BoxingPath& path = table.Path(plan.graph.tensors[2].type, transition.from, transition.to);
  transition.steps = path.steps;
  transition.wire_bytes = path.wire_bytes;
  transition.consumers = {{OpId(1), 0}};
  transition.reason = "fc reduces k over model";
  plan.transitions = {transition};
  plan.total.bytes_moved = path.wire_bytes;
  return plan;
}

}  // namespace sbp
