// Traces read back beside a plan.
#include "page/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "graph/builder.h"
#include "page/sections.h"

namespace sbp {
namespace {

using testing::HasSubstr;

// y = relu(x), z = exp(y); y is gathered between, twice over one axis and called alike both times.
Plan TwoOps() {
  GraphBuilder b("two");
  const TensorType type{DType::kF32, {8}};
  b.AddInput("x", type);
  b.AddOp("Relu", "a \"b\"", {"x"}, {"y"});
  b.AddOp("Exp", "c", {"y"}, {"z"});
  for (const char* name : {"y", "z"}) b.DescribeTensor(name, type);
  b.AddOutput("z");
  Plan plan;
  plan.graph = *b.Build("two");
  plan.mesh = *ParseMesh("m=2");
  for (int i = 0; i < 2; ++i) {
    Transition transition{
        .tensor = NameIndex(plan.graph).tensor("y"), .from = *ParseNdSbp("S(0)"), .to = *ParseNdSbp("B")};
    transition.steps = {{CollectiveKind::kAllGather, 0, transition.from, transition.to}};
    plan.transitions.push_back(transition);
  }
  return plan;
}

std::string Process(int number, const std::string& name) {
  return StrCat(R"({"name":"process_name","ph":"M","pid":)", number, R"(,"args":{"name":")", name, R"("}},)", "\n");
}
std::string Event(int process, int thread, const std::string& name, double start, double duration) {
  return StrCat(R"({"name":")", name, R"(","ph":"X","pid":)", process, R"(,"tid":)", thread, R"(,"ts":)", start,
                R"(,"dur":)", duration, R"(,"args":{"task":0,"micro_batch":1,"predicted_us":1}},)", "\n");
}
std::string File(const std::string& events) {
  return StrCat(R"({"displayTimeUnit":"ms","traceEvents":[)", "\n", events,
                R"({"name":"memory","ph":"C","pid":0,"ts":1,"args":{"bytes":7}}]})");
}

const std::string kRelu = R"(Relu \"a \\\"b\\\"\")", kGather = R"(all-gather over m of \"y\")";

TEST(Trace, FindsOpsAndStepsByName) {
  const Plan plan = TwoOps();
  const std::string text = File(StrCat(
      Process(0, "device 0, measured"), Process(1, "device 0, predicted"), Process(2, "device 1, measured"),
      Event(0, 0, "inputs", 0, 1), Event(0, 0, kRelu, 10, 4), Event(0, 1, kGather, 14, 2), Event(0, 1, kGather, 16, 2),
      Event(2, 0, kRelu, 12, 8), Event(1, 0, R"(Exp \"c\")", 0, 99), Event(0, 1, R"(halo of Exp \"c\")", 20, 1)));
  const Result<PlanTrace> trace = ReadTrace(text, "t.json", plan);
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  EXPECT_EQ(trace->kind, "measured");
  EXPECT_EQ(trace->devices, 2U);
  EXPECT_EQ(trace->micro_batches, 2U);
  EXPECT_NEAR(trace->seconds, 11e-6, 1e-12);  // from 10 to 21 microseconds
  ASSERT_EQ(trace->events.size(), 5U);        // neither inputs nor what was predicted
  EXPECT_EQ(trace->events[0].op, OpId(0));
  EXPECT_EQ(trace->events[0].start, 0);
  EXPECT_NEAR(trace->events[0].seconds, 4e-6, 1e-12);
  EXPECT_EQ(trace->events[1].transition, 0);
  EXPECT_EQ(trace->events[2].transition, 1);  // the second of two that are called alike
  EXPECT_TRUE(trace->events[3].communication);
  EXPECT_EQ(trace->events[3].op, OpId(1));
  EXPECT_EQ(trace->events[4].device, 1U);

  const PageOptions options{.trace = &*trace};
  const Json section = TraceSection({.plan = plan, .options = options});
  EXPECT_NEAR(section["op_seconds"][0].get<double>(), 6e-6, 1e-12);  // the mean of 4 and 8
  EXPECT_EQ(section["op_seconds"][1].get<double>(), 0);              // communication is not compute
  EXPECT_EQ(section["shown"], Json({0, 1}));
}

TEST(Trace, WithoutMeasuredTimesPredictedOnesStand) {
  const Result<PlanTrace> trace =
      ReadTrace(File(StrCat(Process(1, "device 0, predicted"), Event(1, 0, kRelu, 0, 1))), "t.json", TwoOps());
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  EXPECT_EQ(trace->kind, "predicted");
}

void ExpectError(const std::string& text, const std::string& message) {
  const Result<PlanTrace> trace = ReadTrace(text, "t.json", TwoOps());
  ASSERT_FALSE(trace.ok()) << text;
  EXPECT_EQ(trace.status().code(), Code::kBadInput);
  EXPECT_THAT(std::string(trace.status().message()), HasSubstr(message));
}

TEST(Trace, SaysWhatIsWrong) {
  ExpectError("", "t.json:1:1: not valid JSON");
  ExpectError("{\"traceEvents\": [\n  {\"ph\": }]}", "t.json:2:10: not valid JSON");
  ExpectError("{}", "t.json is JSON, but no trace: expected a list \"traceEvents\"");
  ExpectError("7", "t.json is JSON, but no trace");
  ExpectError(R"([{"name":"x","ph":"X"}])", "t.json is a trace of another program");
  ExpectError(File(Process(0, "device 0, measured")), "t.json holds no measured event");
  ExpectError(File(StrCat(Process(0, "device 0, measured"), Event(0, 0, R"(Exp \"d\")", 0, 1))),
              R"(event "Exp \"d\"" is of another plan)");
  const std::string device = Process(0, "device 0, measured");
  const auto event = [](const std::string& times) {
    return StrCat(R"({"name":"Exp \"c\"","ph":"X","pid":0,"tid":0)", times, "},\n");
  };
  const std::string good = event(R"(,"ts":5,"dur":1)");
  ExpectError(File(StrCat(device, good, event(R"(,"ts":7,"dur":-5)"))),
              R"(t.json: traceEvents[2], "Exp \"c\"" has dur -5; expected 0 or more)");
  ExpectError(File(StrCat(device, good, event(R"(,"ts":7)"))), R"(traceEvents[2], "Exp \"c\"" has no number "dur")");
  ExpectError(File(StrCat(device, good, event(R"(,"ts":"7","dur":1)"))),
              R"(traceEvents[2], "Exp \"c\"" has no number "ts")");
  ExpectError(File(StrCat(device, good, event(R"(,"ts":1e17,"dur":1)"))), R"(after the start of traceEvents[1], "Exp)");
  // Nesting that means nothing, and numbers that fit nowhere.
  ExpectError(R"({"traceEvents":[{"args":{"name":{"name":"device 0, measured"}},"ph":"M","pid":-1e300}]})",
              "t.json is a trace of another program");
}

}  // namespace
}  // namespace sbp
