// The library as a program sees it: api/sbp_plan.h alone, linked as sbp::sbp-plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/sbp_plan.h"
#include "graph/builder.h"

namespace sbp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kModel = SBP_SOURCE_DIR "/examples/megatron/graph.json";

RuleSet BuiltinRules() { return LoadRules().value(); }

PlanningInput SmallModel(const char* mesh) {
  PlanningInput input;
  input.model = kModel;
  input.resolve.bindings = {{"batch", 4}, {"seq", 8}};
  if (mesh != nullptr) input.mesh = ParseMesh(mesh).value();
  return input;
}

Result<Plan> MakeSmallPlan(const RuleSet& rules) {
  SBP_ASSIGN_OR_RETURN(PlanRequest request, PreparePlan(SmallModel("data=2,model=2"), rules));
  return MakePlan(std::move(request));
}

// A file of this process, removed at the end.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, std::string_view content)
      : path_(std::filesystem::temp_directory_path() / (std::to_string(::getpid()) + name)) {
    EXPECT_TRUE(WriteFile(path(), content).ok());
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(Planning, OneAxisOverTheClusterWhereNoMeshIsGiven) {
  const RuleSet rules = BuiltinRules();
  std::vector<std::string> notes;
  const auto note = [&](std::string_view text) { notes.emplace_back(text); };
  const auto request = PreparePlan(SmallModel(nullptr), rules, note);
  ASSERT_TRUE(request.ok()) << request.status().message();
  EXPECT_EQ(request->mesh.num_devices(), 8);
  EXPECT_EQ(request->cluster.name, kDefaultCluster);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("one axis over all devices of 8xH100")));
}

TEST(Planning, GrowsThePresetToTheMesh) {
  const RuleSet rules = BuiltinRules();
  std::vector<std::string> notes;
  const auto note = [&](std::string_view text) { notes.emplace_back(text); };
  const auto request = PreparePlan(SmallModel("data=4,model=8"), rules, note);
  ASSERT_TRUE(request.ok()) << request.status().message();
  EXPECT_EQ(request->cluster.num_devices(), 32);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("grown to 4 nodes")));
}

TEST(Planning, NamesWhatIsWrongAsTheCommandLineDoes) {
  const RuleSet rules = BuiltinRules();
  PlanningInput input = SmallModel("2");
  input.resolve.bindings.erase("seq");
  EXPECT_THAT(PreparePlan(input, rules).status().message(), HasSubstr("--dim seq=N"));
  input = SmallModel("2");
  input.strategy = "optimall";
  EXPECT_THAT(PreparePlan(input, rules).status().message(), HasSubstr("optimal"));
  input = SmallModel("2");
  input.cluster = "8xH10";
  EXPECT_THAT(PreparePlan(input, rules).status().message(), HasSubstr("8xH100"));
}

TEST(Planning, PlansAreFiles) {
  const RuleSet rules = BuiltinRules();
  const auto plan = MakeSmallPlan(rules);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const TemporaryFile file("plan.json", WritePlan(*plan, Encoding::kJson));
  const auto read = ReadPlanFile(file.path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(WritePlan(*read, Encoding::kJson), WritePlan(*plan, Encoding::kJson));
  const auto its_rules = RulesOfPlan(*read);
  ASSERT_TRUE(its_rules.ok());
  EXPECT_THAT(FindViolations(*read, *its_rules), IsEmpty());
  EXPECT_TRUE(RefuseWrongPlan(*read, *its_rules, file.path()).ok());
  const auto differences = CompareWithModel(*read, *its_rules, kModel);
  ASSERT_TRUE(differences.ok());
  EXPECT_THAT(*differences, IsEmpty());
}

TEST(Planning, RefusesAPlanThatIsWrong) {
  const RuleSet rules = BuiltinRules();
  auto plan = MakeSmallPlan(rules);
  ASSERT_TRUE(plan.ok());
  plan->total.compute_seconds *= 2;
  EXPECT_THAT(RefuseWrongPlan(*plan, rules, "my.json").message(), HasSubstr("my.json: not a plan that can be trusted"));
}

TEST(Planning, SameBytesFromSeveralThreads) {
  const RuleSet rules = BuiltinRules();
  std::vector<std::string> plans(4);
  std::vector<std::thread> threads;
  for (std::string& text : plans) {
    threads.emplace_back([&] {
      const auto plan = MakeSmallPlan(rules);
      if (plan.ok()) text = WritePlan(*plan, Encoding::kJson);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(plans[0].empty());
  for (const std::string& text : plans) EXPECT_EQ(text, plans[0]);
}

TEST(Differentiating, AModelIntoADocumentThatIsPlannedAndTrained) {
  const RuleSet rules = BuiltinRules();
  GradInput input{.model = SBP_SOURCE_DIR "/examples/library/linear.json", .resolve = {.bindings = {{"batch", 4}}}};
  input.request.loss = "mean:no such tensor";
  EXPECT_EQ(MakeGradOfModel(input, rules).status().code(), Code::kBadInput);
  input.request.loss = "mean:y";
  input.request.update.optimizer.optimizer = "sgd";
  const auto made = MakeGradOfModel(input, rules);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_THAT(made->graph.ties, SizeIs(2));  // of w and b
  const TemporaryFile file("train.json", WriteGraph(made->graph, Encoding::kJson));

  PlanningInput planning{.model = file.path(), .mesh = ParseMesh("data=2").value()};
  auto request = PreparePlan(std::move(planning), rules);
  ASSERT_TRUE(request.ok()) << request.status().message();
  const auto plan = MakePlan(*std::move(request));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto backend = StartBackend("cpu");
  ASSERT_TRUE(backend.ok());
  const auto run = TrainPlan(*plan, rules, file.path(), {}, **backend, {}, {.steps = 2});
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_TRUE(run->report.good());
  EXPECT_THAT(run->report.steps, SizeIs(2));
}

TEST(Differentiating, WeightsStayWhereTheModelHasThem) {
  const TemporaryFile model("weights.onnx", "");
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  Graph graph;
  graph.tensors.resize(3);
  graph.tensors[0].data = DataReference{"", 8, 16};
  graph.tensors[1].data = DataReference{"parts/w.bin", 0, 16};
  EXPECT_TRUE(LocateWeights(model.path(), (folder / "train.json").string(), graph));
  EXPECT_EQ(graph.tensors[0].data->location, std::filesystem::path(model.path()).filename());
  EXPECT_EQ(graph.tensors[0].data->offset, 8);
  EXPECT_EQ(graph.tensors[1].data->location, "parts/w.bin");
  EXPECT_FALSE(graph.tensors[2].data.has_value());
  // From a folder that the model is not below.
  EXPECT_FALSE(LocateWeights(model.path(), SBP_SOURCE_DIR "/train.json", graph));
  EXPECT_FALSE(graph.tensors[0].data.has_value());  // nor does it point into the document
}

TEST(Exporting, TheProblemOfAModel) {
  const RuleSet rules = BuiltinRules();
  auto request = PreparePlan(SmallModel("data=2"), rules);
  ASSERT_TRUE(request.ok()) << request.status().message();
  const auto posed = PoseProblem(*std::move(request));
  ASSERT_TRUE(posed.ok()) << posed.status().message();
  const auto exporter = FindExporter(AllExports().front().name);
  ASSERT_TRUE(exporter.ok());
  const auto content = (*exporter)->write((*posed)->problem, {});
  ASSERT_TRUE(content.ok()) << content.status().message();
  EXPECT_THAT(*content, HasSubstr("\"nodes\""));
  EXPECT_EQ(FindExporter("no such form").status().code(), Code::kUsage);
}

TEST(Explaining, AnOpByName) {
  const RuleSet rules = BuiltinRules();
  const auto plan = MakeSmallPlan(rules);
  ASSERT_TRUE(plan.ok());
  const std::string& op = plan->graph.ops.front().name;
  const auto text = ExplainPlan(*plan, rules, op);
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_THAT(*text, HasSubstr(op));
  EXPECT_EQ(ExplainPlan(*plan, rules, "no such op").status().code(), Code::kBadInput);
}

TEST(Running, ThePlanAgainstItsModel) {
  const RuleSet rules = BuiltinRules();
  const auto plan = MakeSmallPlan(rules);
  ASSERT_TRUE(plan.ok());
  const auto backend = StartBackend("cpu");
  ASSERT_TRUE(backend.ok());
  const auto run = RunPlan(*plan, rules, kModel, {}, **backend, {});
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_TRUE(run->report.good());
  ASSERT_FALSE(run->outputs.empty());
}

TEST(Running, TheModelAloneAgainstWhatIsExpected) {
  const RuleSet rules = BuiltinRules();
  auto model = LoadModelFile(kModel);
  ASSERT_TRUE(model.ok());
  const ResolveOptions resolve{.bindings = {{"batch", 1}, {"seq", 4}}};
  const auto run = RunModel(*model, rules, resolve, {}, {});
  ASSERT_TRUE(run.ok()) << run.status().message();
  ASSERT_FALSE(run->outputs.empty());
  RunData data;
  data.expected.push_back(DataFromValue(run->outputs[0].first, run->outputs[0].second));
  const auto again = RunModel(*model, rules, resolve, std::move(data), {.expected_from = "the first run"});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(again->report.good());
  RunData other;
  other.expected.push_back(DataFromValue(run->outputs[0].first, run->outputs[0].second));
  const auto differs =
      RunModel(*model, rules, resolve, std::move(other), {.seed = 1, .expected_from = "the first run"});
  ASSERT_TRUE(differs.ok()) << differs.status().message();
  EXPECT_FALSE(differs->report.good());
}

TEST(Running, LabelsAreClassesOrIgnored) {
  GraphBuilder builder;
  builder.AddInput("labels", {DType::kI64, {2, 2}});
  builder.AddInput("scores", {DType::kF32, {4, 3}});
  builder.AddParameter("rows", {DType::kI64, {1}}, std::make_shared<const Literal>(Literal::Ints({4})));
  builder.AddOp("Reshape", "flat", {"labels", "rows"}, {"flat"});
  Attributes ignores;
  ignores.Set("ignore_index", int64_t{-1});
  builder.AddOp("SoftmaxCrossEntropyLoss", "loss", {"scores", "flat"}, {"loss"}, ignores);
  const Graph graph = builder.Build("").value();
  const auto labels = [](std::vector<int64_t> values) {
    std::string bytes(values.size() * sizeof(int64_t), '\0');
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return std::vector<TensorData>{{"labels", {DType::kI64, {2, 2}}, bytes, {}}};
  };
  EXPECT_TRUE(CheckLabels(graph, labels({0, 2, -1, 1})).ok());
  EXPECT_EQ(CheckLabels(graph, labels({0, 2, -100, 1})).message(),
            "--inputs: \"labels\": label -100 of element 2 is no class; there are 0 to 2, and -1 is ignored");
  EXPECT_FALSE(CheckLabels(graph, labels({3, 2, 0, 1})).ok());
  EXPECT_TRUE(CheckLabels(graph, {}).ok());
}

TEST(Running, FindsTheModelOfAPlan) {
  const RuleSet rules = BuiltinRules();
  auto plan = MakeSmallPlan(rules);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(FindModelOfPlan(*plan, "anywhere/plan.json").value(), kModel);
  const TemporaryFile other("other.json", "{}");
  EXPECT_THAT(FindModelOfPlan(*plan, "plan.json", other.path()).status().message(),
              HasSubstr("not the model that was planned"));
  plan->model_path = "moved away.json";
  EXPECT_EQ(FindModelOfPlan(*plan, "anywhere/plan.json").value(), "");
}

}  // namespace
}  // namespace sbp
