#include "calibrate/cases.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <random>
#include <string>

#include "base/dtype.h"
#include "base/text.h"
#include "fold/resolve.h"
#include "graph/builder.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "runtime/data/value.h"
#include "runtime/run/tensor_store.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "verify/op_instance.h"
#include "verify/sample_data.h"

namespace sbp {
namespace {

constexpr int64_t kKeptApart = 16 << 20;

// `n` where a size or a value of a list may stand.
std::string WithSize(std::string_view row, int64_t n) {
  std::string text;
  for (size_t i = 0; i < row.size(); ++i) {
    const bool alone = row[i] == 'n' && i > 0 && i + 1 < row.size() && (row[i - 1] == '[' || row[i - 1] == ',') &&
                       (row[i + 1] == ']' || row[i + 1] == ',');
    text += alone ? std::to_string(n) : std::string(1, row[i]);
  }
  return text;
}

// What one op touches and computes, unsharded.
Result<bool> IsWithin(const OpInstance& instance, const RuleSet& rules, const CaseLimits& limits) {
  SBP_ASSIGN_OR_RETURN(const RuleInstanceRef rule, rules.Instantiate(instance.Query()));
  double bytes = 0;
  for (const InstanceOperand& operand : instance.operands) {
    if (operand.present) bytes += static_cast<double>(operand.type.num_bytes());
  }
  for (const TensorType& type : rule->results) bytes += static_cast<double>(type.num_bytes());
  return rule->flops <= limits.flops && bytes <= limits.bytes;
}

class CaseBuilder {
 public:
  explicit CaseBuilder(const RuleSet& rules) : rules_(rules) {}

  // The op twice on the same operands: once for what caches do not hold yet. Every result is an output: what nobody
  // reads would be dropped.
  Status Add(const OpInstance& instance) {
    const std::string name = StrCat("op", ops_++);
    std::vector<std::string> inputs;
    for (size_t i = 0; i < instance.operands.size(); ++i) {
      inputs.push_back(instance.operands[i].present ? StrCat(name, ".in", i) : "");
      SBP_RETURN_IF_ERROR(AddOperand(inputs.back(), instance.operands[i]));
    }
    for (const std::string& op : {StrCat(kFirstOp, name), name}) {
      std::vector<std::string> outputs;
      for (size_t r = 0; r < instance.results; ++r) {
        outputs.push_back(StrCat(op, ".out", r));
        builder_.AddOutput(outputs.back());
      }
      builder_.AddOp(instance.op, op, inputs, outputs, *instance.attributes);
    }
    return OkStatus();
  }

  void Input(const std::string& name, TensorType type) { builder_.AddInput(name, std::move(type)); }
  // f32, of one value all over.
  void Input(const std::string& name, const Shape& shape, float value) {
    TensorData data{name, {DType::kF32, shape}, {}};
    for (int64_t i = 0; i < data.type.num_elements(); ++i)
      data.bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    Input(name, data.type);
    case_.inputs.push_back(std::move(data));
  }
  void Op(std::string_view type, const std::string& name, const std::vector<std::string>& inputs,
          std::string_view pin = {}, Attributes attributes = {}) {
    builder_.AddOp(type, name, inputs, {name + ".y"}, std::move(attributes));
    if (!pin.empty()) case_.pins.emplace_back(StrCat(name, ": ", pin), "calibration");
  }
  void Output(const std::string& name) { builder_.AddOutput(name); }

  Result<CalibrationCase> Build() {
    SBP_ASSIGN_OR_RETURN(Graph graph, builder_.Build("calibration"));
    SBP_ASSIGN_OR_RETURN(Resolved resolved, Resolve(std::move(graph), rules_, {}));
    case_.graph = std::move(resolved.graph);
    return std::move(case_);
  }

 private:
  Status AddOperand(const std::string& name, const InstanceOperand& operand) {
    if (!operand.present) return OkStatus();
    if (operand.value != nullptr) {
      builder_.AddParameter(name, operand.type, operand.value);
      return OkStatus();
    }
    builder_.AddInput(name, operand.type);
    SBP_ASSIGN_OR_RETURN(const Value value, MakeOperand(operand, random_));
    case_.inputs.push_back(DataFromValue(name, value));
    return OkStatus();
  }

  const RuleSet& rules_;
  GraphBuilder builder_;
  CalibrationCase case_;
  std::mt19937_64 random_;
  int ops_ = 0;
};

// "(B, S(0))": `sbp` on one axis, B on the others.
std::string LayoutText(const Mesh& mesh, int axis, std::string_view sbp) {
  std::vector<std::string> parts;
  for (int a = 0; a < mesh.num_axes(); ++a) parts.emplace_back(a == axis ? sbp : "B");
  return StrCat("(", Join(parts, ", "), ")");
}

Result<std::vector<int64_t>> SizesOf(std::string_view list) {
  std::vector<int64_t> sizes;
  for (const std::string_view part : Split(list, ',')) {
    const auto size = ParseInt(Trim(part));
    if (!size || *size <= 0) return BadInput(StrCat("expected sizes after 'for n=', found ", Quote(part)));
    sizes.push_back(*size);
  }
  return sizes;
}

// nullopt: no size is within the limits.
Result<std::optional<CalibrationCase>> CaseOfRow(std::string_view row, const RuleSet& rules, const CaseLimits& limits) {
  constexpr std::string_view kFor = " for n=";
  const size_t mark = row.find(kFor);
  if (mark == std::string_view::npos) return BadInput(StrCat("expected 'OP OPERANDS... for n=SIZES', found ", row));
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, SizesOf(row.substr(mark + kFor.size())));
  CaseBuilder builder(rules);
  bool any = false;
  for (const int64_t n : sizes) {
    SBP_ASSIGN_OR_RETURN(const OpInstance instance, ParseInstance(WithSize(row.substr(0, mark), n)));
    SBP_ASSIGN_OR_RETURN(const bool within, IsWithin(instance, rules, limits));
    if (!within) continue;
    SBP_RETURN_IF_ERROR(builder.Add(instance));
    any = true;
  }
  if (!any) return std::optional<CalibrationCase>();
  SBP_ASSIGN_OR_RETURN(CalibrationCase made, builder.Build());
  return std::optional<CalibrationCase>(std::move(made));
}

}  // namespace

Result<std::vector<CalibrationCase>> OpCases(std::string_view text, std::string_view file, const RuleSet& rules,
                                             const CaseLimits& limits) {
  std::vector<CalibrationCase> cases;
  int line = 0;
  for (const std::string_view raw : Split(text, '\n')) {
    ++line;
    const std::string_view row = Trim(raw.substr(0, raw.find('#')));
    if (row.empty()) continue;
    Result<std::optional<CalibrationCase>> made = CaseOfRow(row, rules, limits);
    if (!made.ok()) return made.status().WithContext(StrCat(file, ":", line));
    if (made->has_value()) cases.push_back(**std::move(made));
  }
  return cases;
}

double MeasuredRun(double run_bytes) {
  if (run_bytes <= 0) return 0;
  const auto distance = [&](double run) { return std::abs(std::log(run / run_bytes)); };
  return *std::min_element(std::begin(kMeasuredRuns), std::end(kMeasuredRuns),
                           [&](double a, double b) { return distance(a) < distance(b); });
}

Graph WithRandomSplits(Graph graph, const Mesh& mesh, uint64_t number) {
  constexpr int64_t kLeastPart = 4;  // elements: smaller parts are not worth a split
  std::mt19937_64 random(number);
  const uint64_t one_in = 2 + number % 5;  // few splits or many
  for (Tensor& tensor : graph.tensors) {
    if (tensor.role != TensorRole::kParameter) continue;
    std::vector<int> dims;
    for (int d = 0; d < tensor.type.rank(); ++d) {
      if (tensor.type.shape[d] >= kLeastPart * mesh.size(0)) dims.push_back(d);
    }
    if (dims.empty() || random() % one_in != 0) continue;
    tensor.layout_pin = NdSbp(mesh.num_axes());
    tensor.layout_pin[0] = Sbp::Split(dims[random() % dims.size()]);
  }
  return graph;
}

Result<CalibrationCase> BoxingCase(const Mesh& mesh, int axis, int64_t bytes, double run_bytes, const RuleSet& rules) {
  const int64_t n = mesh.size(axis), elements = std::max<int64_t>(bytes / 4, n * n);
  int64_t columns = std::min<int64_t>(static_cast<int64_t>(run_bytes) / 4 * n, elements / n);
  columns = std::max(n, columns / n * n);
  const int64_t rows = std::max(n, elements / columns / n * n);
  CaseBuilder builder(rules);
  builder.Input("x", {DType::kF32, {rows, columns}});
  using Step = std::pair<std::string_view, std::string_view>;
  static constexpr Step kInRuns[] = {{"S(1)", "B"},    {"P", "S(1)"}, {"S(0)", "S(1)"},
                                     {"S(1)", "S(0)"}, {"B", "S(1)"}, {"S(1)", "P"}};
  static constexpr Step kWhole[] = {{"S(0)", "B"}, {"P", "B"}, {"P", "S(0)"}, {"B", "S(0)"}, {"B", "P"}, {"S(0)", "P"}};
  std::vector<Step> steps(std::begin(kInRuns), std::end(kInRuns));
  if (run_bytes == *std::rbegin(kMeasuredRuns)) steps.insert(steps.end(), std::begin(kWhole), std::end(kWhole));
  // Where that is not much, every copy gets memory of its own, so that none is in a cache because the last one was.
  const bool apart = bytes <= kKeptApart;
  std::string at = "x";
  int number = 0;
  for (const auto& [from, to] : steps) {
    for (const std::string_view sbp : {from, to}) {
      const std::string name = StrCat("step", number++), layout = LayoutText(mesh, axis, sbp);
      builder.Op("Identity", name, {at}, StrCat(layout, " -> ", layout));
      at = name + ".y";
      if (apart) builder.Output(at);
    }
  }
  builder.Op("Identity", "end", {at});
  builder.Output("end.y");
  return builder.Build();
}

Result<CalibrationCase> HaloCase(const Mesh& mesh, int64_t bytes, const RuleSet& rules) {
  constexpr int64_t kRows = 2;  // of a device
  const int64_t columns = std::max<int64_t>(1, bytes / 4);
  Attributes window;  // two rows that are one apart
  window.Set("dilations", std::vector<int64_t>{2, 1});
  window.Set("pads", std::vector<int64_t>{1, 0, 1, 0});
  CaseBuilder builder(rules);
  builder.Input("w", {1, 1, 2, 1}, 1.0F);
  builder.Input("all", {DType::kF32, {1, 1, kRows * mesh.size(0), columns}});
  builder.Input("own", {DType::kF32, {1, 1, kRows, columns}});
  const std::string whole = LayoutText(mesh, 0, "B"), rows = LayoutText(mesh, 0, "S(2)");
  for (const auto& [input, layout] : {std::pair("own", whole), std::pair("all", rows)}) {
    for (const std::string& name : {StrCat(kFirstOp, input), StrCat("again.", input)}) {
      builder.Op("Conv", name, {input, "w"}, StrCat(layout, ", ", whole, " -> ", layout), window);
      builder.Output(name + ".y");
    }
  }
  return builder.Build();
}

Result<CalibrationCase> OverlapCase(const Mesh& mesh, int products, bool collective, const RuleSet& rules) {
  constexpr int64_t kSize = 256, kRows = 2048, kColumns = 1024;
  CaseBuilder builder(rules);
  const std::string whole = LayoutText(mesh, 0, "B"), partial = LayoutText(mesh, 0, "P");
  builder.Input("w", {kSize, kSize}, 1.0F / kSize);  // its own square, so that no number of products overflows
  builder.Input("x", {DType::kF32, {kRows, kColumns}});
  std::string at = "w";
  for (int i = 0; i < products; ++i) {
    const std::string name = StrCat("product", i);
    builder.Op("MatMul", name, {at, "w"}, StrCat(whole, ", ", whole, " -> ", whole));
    at = name + ".y";
  }
  builder.Op("Identity", "left", {at}, StrCat(whole, " -> ", whole));
  builder.Output("left.y");
  builder.Op("Identity", "partial", {"x"}, StrCat(partial, " -> ", partial));
  const std::string after = collective ? whole : partial;
  builder.Op("Identity", "right", {"partial.y"}, StrCat(after, " -> ", after));
  builder.Output("right.y");
  return builder.Build();
}

}  // namespace sbp
