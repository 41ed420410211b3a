// The report as text and as JSON.
#include "runtime/run/run_report.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace sbp {
namespace {

TensorReport Compared(std::string name, double error, double largest) {
  TensorReport tensor;
  tensor.name = std::move(name);
  tensor.type = {DType::kF32, {2, 3}};
  tensor.compared = true;
  tensor.difference.relative_error = error;
  tensor.difference.max_abs_error = largest;
  tensor.difference.elements = 6;
  return tensor;
}

TaskReport TaskTook(const char* name, const char* kind, double predicted, double measured) {
  TaskReport task;
  task.name = name;
  task.kind = kind;
  task.predicted_seconds = predicted;
  task.measured_seconds = measured;
  return task;
}

RunReport GoodReport() {
  RunReport report;
  report.what = "2 tasks on 2 devices (cpu), mesh data=2";
  report.against = "the unsharded run";
  report.outputs = {Compared("y", 1.5e-7, 2e-6)};
  report.tensors = {Compared("h", 0, 0)};
  report.tolerance = 1e-4;
  report.predicted_seconds = 1e-3;
  report.measured_seconds = 2e-3;
  report.reference_seconds = 3e-3;
  report.peak_bytes = 4096;
  report.tasks = {TaskTook("a", "MatMul", 1e-6, 5e-6), TaskTook("all-reduce of y", "all-reduce", 1e-3, 1.5e-3),
                  TaskTook("b", "Neg", 0, 1)};
  report.random_inputs = {"x", "mask"};
  report.random_parameters = 3;
  report.notes = {"a note"};
  return report;
}

TEST(RunReport, Text) {
  EXPECT_EQ(FormatRunReport(GoodReport()),
            "ran 2 tasks on 2 devices (cpu), mesh data=2\n"
            "outputs against the unsharded run:\n"
            "  y  f32[2,3]  error 1.50e-07, largest 2.00e-06\n"
            "other tensors:\n"
            "  h  f32[2,3]  error 0.00e+00, largest 0.00e+00\n"
            "random inputs: x, mask (give real ones with --inputs)\n"
            "random parameters: 3 whose values are not at hand\n"
            "a note\n"
            "step: measured 2.00 ms, predicted 1.00 ms; unsharded 3.00 ms; 4.10 kB a device\n"
            "largest gaps between predicted and measured:\n"
            "  all-reduce of y (all-reduce): predicted 1.00 ms, measured 1.50 ms\n"
            "  a (MatMul): predicted 1.00 us, measured 5.00 us\n"
            "good: largest error 1.50e-07, tolerance 1e-04\n");
}

TEST(RunReport, ComparisonByKind) {
  RunReport report = GoodReport();
  report.tasks.push_back(TaskTook("c", "MatMul", 3e-6, 3e-6));
  StepComparison& step = report.comparison.emplace();
  step.repeats = 7;
  step.predicted_seconds = 9e-4;
  step.measured = {1.8e-3, 0.05};
  step.predicted_peak_bytes = 5120;
  step.constants = "box (measured)";
  EXPECT_THAT(FormatRunReport(report),
              ::testing::HasSubstr("predicted against measured, medians of 7 warm steps:\n"
                                   "  kind                         tasks   predicted    measured       error\n"
                                   "  Neg                              1         0 s      1.00 s    -100.0 %\n"
                                   "  all-reduce                       1     1.00 ms     1.50 ms     -33.3 %\n"
                                   "  MatMul                           2     4.00 us     8.00 us     -50.0 %\n"
                                   "  step, overlapped                        900 us     1.80 ms     -50.0 %\n"
                                   "  the steps' spread, from the first to the third quartile: 5.0 %\n"
                                   "  memory of a device: predicted 5.12 kB, allocated 4.10 kB (+25.0 %)\n"
                                   "  constants of box (measured)\n"));
}

TEST(RunReport, BadTensorsAreMarked) {
  RunReport report = GoodReport();
  report.tasks.clear();
  report.outputs.push_back(Compared("z", 2e-4, 1));
  report.outputs.push_back(Compared("n", std::numeric_limits<double>::infinity(), 1));
  report.outputs.back().difference.nan = 2;
  TensorReport other;
  other.name = "s";
  other.problem = "is f32[2]; expected f32[3]";
  report.outputs.push_back(other);
  EXPECT_FALSE(report.good());
  const std::string text = FormatRunReport(report);
  EXPECT_NE(text.find("  z  f32[2,3]  error 2.00e-04, largest 1.00e+00  <- above the tolerance\n"), std::string::npos);
  EXPECT_NE(text.find("  n  f32[2,3]  error inf, largest 1.00e+00, 2 NaN  <- above the tolerance\n"),
            std::string::npos);
  EXPECT_NE(text.find("  <- is f32[2]; expected f32[3]\n"), std::string::npos);
  EXPECT_NE(text.find("BAD: largest error inf, tolerance 1e-04\n"), std::string::npos);
}

TEST(RunReport, ElementsAreJudgedOneByOne) {
  RunReport report = GoodReport();
  report.elementwise = true;
  report.outputs[0].difference.relative_error = 1;  // does not count
  EXPECT_TRUE(report.good());
  report.outputs[0].difference.outside = 2;
  EXPECT_FALSE(report.good());
  const std::string text = FormatRunReport(report);
  EXPECT_NE(text.find(", 2 of 6 outside  <- above the tolerance\n"), std::string::npos);
  EXPECT_NE(text.find("BAD: largest error 1.00e+00 (judged element by element)\n"), std::string::npos);
}

TEST(RunReport, ManyGoodTensorsAreCutBadOnesAreNot) {
  RunReport report = GoodReport();
  report.outputs.clear();
  for (int i = 0; i < 30; ++i) report.outputs.push_back(Compared("t" + std::to_string(i), i == 29 ? 1 : 0, 0));
  const std::string text = FormatRunReport(report);
  EXPECT_NE(text.find("  t19  "), std::string::npos);
  EXPECT_EQ(text.find("  t20  "), std::string::npos);
  EXPECT_NE(text.find("  t29  "), std::string::npos);
  EXPECT_NE(text.find("  ... and 9 more, all good\n"), std::string::npos);
}

TEST(RunReport, NothingComparedIsNoVerdict) {
  RunReport report;
  report.what = "1 op, unsharded";
  TensorReport tensor = Compared("y", 0, 0);
  tensor.compared = false;
  report.outputs = {tensor};
  EXPECT_TRUE(report.good());
  EXPECT_EQ(FormatRunReport(report), "ran 1 op, unsharded\noutputs:\n  y  f32[2,3]\nstep: measured 0 s\n");
}

TEST(RunReport, Json) {
  RunReport report = GoodReport();
  report.outputs.push_back(Compared("n", std::numeric_limits<double>::infinity(), 1));
  const nlohmann::json json = nlohmann::json::parse(RunReportJson(report));
  EXPECT_EQ(json["ran"], report.what);
  EXPECT_EQ(json["good"], false);
  EXPECT_EQ(json["outputs"][0].dump(), R"({"good":true,"max_abs_error":2e-06,"name":"y","nan":0,)"
                                       R"("relative_error":1.5e-07,"type":"f32[2,3]"})");
  EXPECT_TRUE(json["outputs"][1]["relative_error"].is_null());
  EXPECT_EQ(json["outputs"][1]["good"], false);
  EXPECT_TRUE(json["max_relative_error"].is_null());
  EXPECT_EQ(json["tensors"].size(), 1U);
  EXPECT_EQ(json["tasks"].size(), 3U);
  EXPECT_EQ(json["tasks"][0]["measured_seconds"], 5e-6);
  EXPECT_EQ(json["random_inputs"], (std::vector<std::string>{"x", "mask"}));
  EXPECT_EQ(json["peak_bytes"], 4096);
  EXPECT_EQ(json["notes"][0], "a note");
}

}  // namespace
}  // namespace sbp
