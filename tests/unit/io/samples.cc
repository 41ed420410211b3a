#include "unit/io/samples.h"

#include <limits>
#include <random>

#include "base/text.h"
#include "graph/builder.h"

namespace sbp {
namespace {

TensorType F32(Shape shape) { return {DType::kF32, std::move(shape)}; }

std::shared_ptr<const Graph> Branch() {
  GraphBuilder builder("branch");
  builder.AddInput("outer_x", F32({kUnknownDim, 16}), {"batch", ""});
  builder.AddOp("Neg", "neg", {"outer_x"}, {"negated"});
  builder.AddOutput("negated");
  return std::make_shared<Graph>(builder.Build("branch").value());
}

Literal Literals(DType dtype, size_t count) {
  Literal literal;
  literal.type = {dtype, {static_cast<int64_t>(count)}};
  return literal;
}

Attributes EveryAttribute() {
  Attributes attributes;
  attributes.Set("axis", int64_t{-1});
  attributes.Set("big", std::numeric_limits<int64_t>::min());
  attributes.Set("alpha", 1.0);
  attributes.Set("minus_zero", -0.0);
  attributes.Set("infinite", -std::numeric_limits<double>::infinity());
  attributes.Set("tiny", 5e-324);
  attributes.Set("mode", std::string("linear \"q\" \\ \n \t \x01 é"));
  attributes.Set("bytes", std::string("\xff\x00\x80", 3));
  attributes.Set("perm", std::vector<int64_t>{1, 0});
  attributes.Set("no_ints", std::vector<int64_t>{});
  attributes.Set("scales", std::vector<double>{1, 2.5});
  attributes.Set("bounds", std::vector<double>{0, std::numeric_limits<double>::infinity()});
  attributes.Set("no_floats", std::vector<double>{});
  attributes.Set("words", std::vector<std::string>{"a", ""});
  attributes.Set("no_words", std::vector<std::string>{});
  attributes.Set("blobs", std::vector<std::string>{"a", "\xfe"});
  Literal strings = Literals(DType::kString, 2);
  strings.strings = {"x", "\xc3"};
  attributes.Set("literal", std::make_shared<const Literal>(strings));
  Literal complex = Literals(DType::kC64, 1);
  complex.raw = std::string("\x01\x02\x03\x04\x05\x06\x07\xff", 8);
  attributes.Set("complex", std::make_shared<const Literal>(complex));
  attributes.Set("then_branch", Branch());
  return attributes;
}

}  // namespace

Graph FullGraph() {
  GraphBuilder builder("full");
  Graph& graph = builder.graph();
  graph.opsets = {{"", 17}, {"com.microsoft", 1}};
  graph.bindings = {{"seq", 8}};
  graph.metadata = {{"producer", "test"}, {"producer", "twice"}};
  builder.AddInput("x", F32({kUnknownDim, 16}), {"batch", ""});
  builder.AddInput("odd]name", {DType::kI64, {kUnknownDim, 8, kUnknownDim, kUnknownDim}},
                   {"a,b]'c\\", "seq", "", "p + 1"});
  builder.AddInput("unranked", {DType::kF32, {}, ValueKind::kSequence, false});
  graph.tensor(builder.AddParameter("w", F32({16, 32}))).data = DataReference{"weights.bin", 4096, 2048};
  graph.tensor(builder.AddParameter("w2", F32({16, 32}))).data = DataReference{"", 7, -1};
  graph.tensor(builder.Tensor("w")).layout_pin = NdSbp{Sbp::Broadcast(), Sbp::Split(1)};
  Literal sparse = Literals(DType::kF32, 2);
  sparse.floats = {0, -std::numeric_limits<double>::infinity()};
  sparse.sparse = true;
  builder.AddParameter("mask", sparse.type, std::make_shared<const Literal>(sparse));
  builder.AddParameter("axes", {DType::kI64, {1}}, std::make_shared<const Literal>(Literal::Ints({1})));
  const OpId fc = builder.AddOp("MatMul", "fc", {"x", "w", ""}, {"y", ""}, EveryAttribute(), "model/fc");
  const NdSbp split{Sbp::Split(0), Sbp::Partial(ReduceKind::kMax)};
  graph.op(fc).signature_pin = {split, split, NdSbp(2), split, NdSbp(2)};
  graph.op(fc).metadata = {{"pkg.torch.onnx.stack_trace", "line 1\nline 2"}};
  builder.DescribeTensor("y", F32({kUnknownDim, 32}), {"batch", ""});
  const OpId branch = builder.AddOp("If", "if", {"odd]name"}, {"z"});
  graph.op(branch).captures = {builder.Tensor("x"), builder.Tensor("y")};
  builder.AddOutput("y");
  builder.AddOutput("z");
  builder.AddTie("z", "w2");
  builder.AddTie("y", "x", true);
  graph.micro_batches = 4;
  return builder.Build("full").value();
}

Graph RandomGraph(uint32_t seed, int num_ops) {
  std::mt19937 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  GraphBuilder builder(StrCat("random", seed));
  std::vector<std::string> tensors;
  const size_t num_inputs = 1 + below(4);
  for (size_t i = 0; i < num_inputs; ++i) {
    tensors.push_back(StrCat("in", i));
    builder.AddInput(tensors.back(), F32({static_cast<int64_t>(below(64)), 16}));
  }
  const size_t num_parameters = 1 + below(6);
  for (size_t i = 0; i < num_parameters; ++i) {
    tensors.push_back(StrCat("layers.", i, ".weight"));
    builder.AddParameter(tensors.back(), F32({16, static_cast<int64_t>(below(1000))}));
  }
  constexpr const char* kTypes[] = {"MatMul", "Add", "Relu", "com.microsoft::Attention"};
  for (int i = 0; i < num_ops; ++i) {
    std::vector<std::string> inputs;
    const size_t num_operands = 1 + below(3);
    for (size_t j = 0; j < num_operands; ++j) inputs.push_back(below(8) == 0 ? "" : tensors[below(tensors.size())]);
    std::vector<std::string> outputs;
    const size_t num_results = 1 + below(2);
    for (size_t j = 0; j < num_results; ++j) outputs.push_back(StrCat("t", i, ".", j));
    Attributes attributes;
    if (below(2) == 0) attributes.Set("axis", static_cast<int64_t>(below(5)) - 2);
    if (below(4) == 0) attributes.Set("alpha", static_cast<double>(random()) / 7);
    builder.AddOp(kTypes[below(4)], StrCat("op", i), inputs, outputs, std::move(attributes), StrCat("block.", i / 10));
    for (const std::string& output : outputs) {
      if (below(3) > 0) builder.DescribeTensor(output, F32({static_cast<int64_t>(below(9)), kUnknownDim}));
      tensors.push_back(output);
    }
  }
  builder.AddOutput(tensors.back());
  return builder.Build("random").value();
}

namespace {

Graph SmallGraph() {
  GraphBuilder builder("small");
  builder.AddInput("x", F32({8, 16}));
  builder.AddParameter("w", F32({16, 32}));
  builder.AddOp("MatMul", "fc", {"x", "w"}, {"h"});
  builder.AddOp("Relu", "relu", {"h"}, {"y"});
  builder.AddOp("Relu", "relu2", {"y"}, {"z"});
  builder.DescribeTensor("h", F32({8, 32}));
  builder.DescribeTensor("y", F32({8, 32}));
  builder.DescribeTensor("z", F32({8, 32}));
  builder.AddOutput("z");
  return builder.Build("small").value();
}

PlanOptions FullOptions() {
  PlanOptions options;
  options.strategy = "einsum";
  options.criterion = "time";
  options.pins = {"w=(B, S(1))"};
  options.ties = {{"z", "x"}};
  options.ties_by_name = false;
  options.even_only = true;
  options.strict = true;
  options.memory_limit = 80'000'000'000;
  options.rule_files = {{"my.rules", "op Mine(Tensor x) -> Tensor y\n  rule ... -> ...\n"}};
  return options;
}

}  // namespace

Plan FullPlan() {
  const NdSbp rows{Sbp::Split(0), Sbp::Broadcast()};
  const NdSbp columns{Sbp::Broadcast(), Sbp::Split(1)};
  const NdSbp grid{Sbp::Split(0), Sbp::Split(1)};
  const NdSbp partial{Sbp::Split(0), Sbp::Partial()};
  Plan plan;
  plan.version = "0.1.0";
  plan.model_path = "models/small.onnx";
  plan.model_fingerprint = "fnv1a64:0123456789abcdef";
  plan.graph = SmallGraph();
  plan.mesh = ParseMesh("data=2,model=4@[0,1,2,3,4,6,5,7]").value();
  plan.cluster = FindPreset("8xH100").value();
  plan.options = FullOptions();
  plan.records = {{.signature = {{rows, columns}, {grid}},
                   .compute_seconds = 1.25e-5,
                   .choice = "splits factor m over data",
                   .reason = "least bytes",
                   .alternative = Signature{{grid, columns}, {partial}},
                   .price = 0,
                   .alternative_price = 1e300,
                   .price_unit = "bytes",
                   .num_candidates = 36},
                  {.signature = {{grid}, {grid}}, .compute_seconds = 0.1, .price = -3, .price_unit = "order value"}};
  plan.op_records = {0, 1, 1};
  plan.source_layouts = {rows, columns, grid, grid, rows};  // z lies otherwise than decided
  Transition transition;
  transition.tensor = TensorId(4);
  transition.from = grid;
  transition.to = rows;
  transition.steps = {{CollectiveKind::kAllGather, 1, grid, rows, 512.0, 1e-3, 1.0 / 3}};
  transition.consumers = {{OpId(1), 0}};
  transition.seconds = 1.0 / 3;
  transition.wire_bytes = 1024;
  transition.reason = "why";
  plan.transitions = {transition};
  plan.total = {0.1, 0.2, 1024};
  plan.memory = {100, 50, 40, 10, OpId(1), {{"w", "parameter", 50}}};
  plan.lower_bound_seconds = 0;
  plan.has_bound = true;
  plan.replicated = {{TensorId(0), "no legal split"}};
  plan.conflicts = {{"fc: x", "S(0)", "B", "merged"}};
  plan.warnings = {"careful"};
  return plan;
}

}  // namespace sbp
