// Gradients against central differences, both in f64: of ONNX's node tests, which have every operator in many forms.
// Inputs are moved a little, off ties and kinks.
//
//   node_gradients [--every N] [--second | --expanded] [--list] FOLDER...
//
// FOLDER: tests, or one test (model.onnx and test_data_set_0). --second: gradients of gradients, by inputs and
// cotangents. --expanded: composite ops through their expansions. Exit code 77: there are no tests.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/model.h"
#include "api/tensors.h"
#include "base/dtype.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "fold/resolve.h"
#include "fold/resolve_options.h"
#include "grad/grad.h"
#include "grad/request.h"
#include "graph/graph.h"
#include "graph/tensor_data.h"
#include "rule/rule_set.h"
#include "runtime/data/value.h"
#include "runtime/execute/interpreter.h"
#include "runtime/execute/local_program.h"
#include "runtime/run/tensor_store.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

namespace fs = std::filesystem;

constexpr size_t kEntries = 6;       // compared of each input
constexpr double kMoved = 0.05;      // how far elements are moved at most
constexpr double kStep = 1e-5;       // of a difference, relative to the element where that is larger than 1
constexpr double kTolerance = 2e-6;  // of an entry, relative to the largest of its gradient
constexpr double kAgree = 1e-5;      // of differences of two widths
constexpr int kNothingFound = 77;    // for ctest

struct Flags {
  size_t every = 1;
  bool second = false, expanded = false, list = false;
  std::vector<fs::path> folders;
};

// Tests that are no matter of derivatives, with the reason.
struct Exception {
  std::string_view prefix;
  bool second_only;
  std::string_view why;
};
constexpr Exception kExceptions[] = {
    {"test_acosh_example", true, "at the end of its domain the second derivative is not finite"},
    {"test_layer_normalization", true, "its mean and deviation stay in f32: too coarse for differences"},
    {"test_training_dropout", false, "no derivative by its ratio, which is an input there"},
    {"test_unique", false, "what is moved is no longer equal: other sizes come out"},
};

bool HoldsF64(const Value& value) { return value.view.present() && value.view.dtype == DType::kF64; }

bool HoldsNaN(const std::vector<Value>& values) {
  return std::ranges::any_of(values, [](const Value& value) {
    const double* data = HoldsF64(value) ? value.view.as<double>() : nullptr;
    return data != nullptr && std::any_of(data, data + value.view.elements(), [](double v) { return std::isnan(v); });
  });
}

std::string FirstLine(const Status& status) { return status.message().substr(0, status.message().find('\n')); }

// A graph with all floats in f64, and what it reads.
class Program {
 public:
  Program(Graph graph, const RuleSet& rules, const std::string& path)
      : stored_(std::move(graph)),
        graph_(Retyped(stored_, rules, DType::kF64)),
        store_(graph_, stored_, 1, ReadDataOf(path)),
        compiler_(rules, Mesh()),
        interpreter_(compiler_, {.parameter = [this](const Graph& of, TensorId id) { return store_.GetIn(of, id); },
                                 .seen = nullptr}) {}

  const Graph& graph() const { return graph_; }
  TensorStore& store() { return store_; }
  const std::string& output(size_t i) const { return graph_.tensor(graph_.outputs[i]).name; }

  Result<std::vector<Value>> Run(const std::map<std::string, Value>& given) {
    std::vector<Value> inputs;
    for (const TensorId id : graph_.inputs) inputs.push_back(given.at(graph_.tensor(id).name));
    return interpreter_.Run(graph_, std::move(inputs));
  }

 private:
  Graph stored_, graph_;
  TensorStore store_;
  LocalCompiler compiler_;
  Interpreter interpreter_;
};

struct Outcome {
  std::string wrong, refused;  // "": neither; refused: it does not run forward
  int entries = 0;
};

class Subject {
 public:
  Subject(const RuleSet& rules, const fs::path& folder, const Flags& flags)
      : rules_(rules),
        path_((folder / "model.onnx").string()),
        data_((folder / "test_data_set_0").string()),
        flags_(flags),
        random_(HashRange(7, folder.filename().string())) {}

  Result<Outcome> Judge() {
    SBP_RETURN_IF_ERROR(Prepare());
    Result<std::vector<Value>> first = program_->Run(values_);
    if (!first.ok() || HoldsNaN(*first)) {  // moved out of the op's domain
      for (auto& [name, value] : values_) {
        SBP_ASSIGN_OR_RETURN(value, Copy(unmoved_.at(name)));
      }
      first = program_->Run(values_);
    }
    if (!first.ok()) return Outcome{.refused = "forward: " + FirstLine(first.status())};
    if (moved_.empty() || std::ranges::none_of(*first, HoldsF64)) return Outcome{};
    if (flags_.second) {
      const Result<GradGraph> made = Differentiate("cotangents");
      if (!made.ok()) return Outcome{.wrong = FirstLine(made.status())};
      SBP_RETURN_IF_ERROR(GoOnWith(made->graph));
      SBP_ASSIGN_OR_RETURN(first, program_->Run(values_));
    }
    Draw(*first);
    if (weights_.empty()) return Outcome{};
    std::vector<std::string> named;
    for (const auto& [name, weights] : weights_) named.push_back(name);
    Result<GradGraph> made = Differentiate("cotangents:" + Join(named, ","));
    if (!made.ok()) return Outcome{.wrong = FirstLine(made.status())};
    return CompareAll(std::move(made->graph));
  }

 private:
  double Uniform() { return static_cast<double>(random_() % 2000001) / 1e6 - 1; }

  static Result<Value> Copy(const Value& value) {
    if (!HoldsF64(value)) return value;
    SBP_ASSIGN_OR_RETURN(Value copy, MakeTensor(DType::kF64, value.view.shape));
    std::copy_n(value.view.as<double>(), value.view.elements(), copy.view.as<double>());
    return copy;
  }

  Status Prepare() {
    SBP_ASSIGN_OR_RETURN(LoadedModel model, LoadModelFile(path_));
    SBP_ASSIGN_OR_RETURN(std::vector<TensorData> inputs, ReadTensors(data_, model.graph, model.graph.inputs, "input"));
    ResolveOptions options;
    options.keep_floats = true;
    SBP_ASSIGN_OR_RETURN(Resolved resolved, ResolveWithInputs(std::move(model.graph), rules_, options, inputs));
    graph_ = std::move(resolved.graph);
    program_ = std::make_unique<Program>(graph_, rules_, path_);
    const NameIndex names(program_->graph());
    std::erase_if(inputs, [&](const TensorData& data) { return !names.tensor(data.name).valid(); });
    SBP_RETURN_IF_ERROR(program_->store().Give(inputs));
    for (const TensorId id : program_->graph().inputs) {
      const Tensor& tensor = program_->graph().tensor(id);
      SBP_ASSIGN_OR_RETURN(unmoved_[tensor.name], program_->store().Get(id));
      SBP_ASSIGN_OR_RETURN(values_[tensor.name], Copy(unmoved_[tensor.name]));
      const auto is_assumed = [&](const Assumption& assumption) { return assumption.input == tensor.name; };
      const bool is_tensor = tensor.type.kind == ValueKind::kTensor && HoldsF64(values_[tensor.name]);
      if (!is_tensor || std::ranges::any_of(graph_.assumptions, is_assumed)) continue;
      TensorView& view = values_[tensor.name].view;
      for (int64_t i = 0; i < view.elements(); ++i) view.as<double>()[i] += kMoved * Uniform();
      moved_.push_back(tensor.name);
    }
    return OkStatus();
  }

  Result<GradGraph> Differentiate(const std::string& loss) const {
    GradRequest request{.loss = loss, .wrt_inputs = moved_, .may_be_zero = true};
    if (flags_.expanded) request.expanded = {"*"};
    return MakeGradGraph(graph_, rules_, request);
  }

  // The gradient takes the place of the model, and its cotangents are inputs like others.
  Status GoOnWith(Graph gradient) {
    ResolveOptions options;
    options.keep_floats = true;
    SBP_ASSIGN_OR_RETURN(Resolved resolved, Resolve(std::move(gradient), rules_, options));
    graph_ = std::move(resolved.graph);
    program_ = std::make_unique<Program>(graph_, rules_, path_);
    for (const TensorId id : program_->graph().inputs) {
      const Tensor& tensor = program_->graph().tensor(id);
      if (values_.contains(tensor.name)) continue;
      SBP_ASSIGN_OR_RETURN(values_[tensor.name], MakeTensor(tensor.type.dtype, tensor.type.shape));
      if (tensor.type.dtype != DType::kF64) continue;
      Fill(values_[tensor.name]);
      moved_.push_back(tensor.name);
    }
    return OkStatus();
  }

  void Fill(Value& value) {
    for (int64_t i = 0; i < value.view.elements(); ++i) value.view.as<double>()[i] = Uniform();
  }

  void Draw(const std::vector<Value>& results) {
    for (size_t i = 0; i < results.size(); ++i) {
      if (!HoldsF64(results[i]) || (flags_.second && !program_->output(i).starts_with("grad/"))) continue;
      Value weights = *MakeTensor(DType::kF64, results[i].view.shape);
      Fill(weights);
      for (int64_t k = 0; k < weights.view.elements(); ++k) {
        if (!std::isfinite(results[i].view.as<double>()[k])) weights.view.as<double>()[k] = 0;
      }
      weights_[program_->output(i)] = weights;
    }
  }

  // The sum of the results, each times its weight.
  Result<double> Weighted() {
    SBP_ASSIGN_OR_RETURN(const std::vector<Value> results, program_->Run(values_));
    double sum = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      const auto weights = weights_.find(program_->output(i));
      if (weights == weights_.end()) continue;
      for (int64_t k = 0; k < results[i].view.elements(); ++k) {
        const double v = results[i].view.as<double>()[k];
        if (std::isfinite(v)) sum += v * weights->second.view.as<double>()[k];
      }
    }
    return sum;
  }

  // By five points; nothing where two widths disagree.
  Result<std::optional<double>> Difference(double& place) {
    const double middle = place;
    double estimates[2];
    for (int width = 0; width < 2; ++width) {
      const double h = kStep * std::max(1.0, std::abs(middle)) / (width + 1);
      double sum = 0;
      for (const auto& [step, factor] : {std::pair(-2, 1.0), {-1, -8.0}, {1, 8.0}, {2, -1.0}}) {
        place = middle + step * h;
        const Result<double> value = Weighted();
        place = middle;
        if (!value.ok()) return value.status();
        sum += factor * *value;
      }
      estimates[width] = sum / (12 * h);
    }
    const bool agree = std::abs(estimates[0] - estimates[1]) <= kAgree * (1 + std::abs(estimates[0]));
    return agree && std::isfinite(estimates[0]) ? std::optional(estimates[0]) : std::nullopt;
  }

  Result<Outcome> CompareAll(Graph gradient) {
    Program backward(std::move(gradient), rules_, path_);
    std::map<std::string, Value> given = values_, found;
    for (const auto& [name, weights] : weights_) given["cotangent/" + name] = weights;
    const Result<std::vector<Value>> results = backward.Run(given);
    if (!results.ok()) return Outcome{.wrong = "the gradient does not run: " + FirstLine(results.status())};
    for (size_t i = 0; i < results->size(); ++i) found[backward.output(i)] = (*results)[i];
    Outcome outcome;
    for (const std::string& name : moved_) {
      const std::string own = StrCat("grad/", name, weights_.contains("grad/" + name) ? "_2" : "");
      SBP_RETURN_IF_ERROR(Compare(name, found[own], outcome));
    }
    return outcome;
  }

  // `gradient`: absent where it is zero.
  Status Compare(const std::string& name, const Value& gradient, Outcome& outcome) {
    const TensorView& view = values_.at(name).view;
    const double* given = gradient.view.present() ? gradient.view.as<double>() : nullptr;
    if (given != nullptr && (gradient.view.shape != view.shape || !HoldsF64(gradient))) {
      outcome.wrong = StrCat("grad/", name, " is of another shape or type");
      return OkStatus();
    }
    double scale = 1;
    std::vector<int64_t> elements;
    for (int64_t i = 0; i < view.elements(); ++i) {
      if (given != nullptr && std::isfinite(given[i])) scale = std::max(scale, std::abs(given[i]));
      if (std::isfinite(view.as<double>()[i])) elements.push_back(i);
    }
    for (size_t i = 0; i < elements.size() && i < kEntries; ++i) {
      std::swap(elements[i], elements[i + random_() % (elements.size() - i)]);
      double& place = view.as<double>()[elements[i]];
      SBP_ASSIGN_OR_RETURN(const std::optional<double> difference, Difference(place));
      if (!difference) continue;
      ++outcome.entries;
      const double own = given == nullptr ? 0 : given[elements[i]];
      if (std::abs(own - *difference) <= kTolerance * scale) continue;
      outcome.wrong = StrCat("grad/", name, ", element ", elements[i], ", is ", std::to_string(own),
                             "; the central difference is ", std::to_string(*difference));
      return OkStatus();
    }
    return OkStatus();
  }

  const RuleSet& rules_;
  std::string path_, data_;
  Flags flags_;
  std::mt19937_64 random_;
  Graph graph_;                                    // that is differentiated
  std::unique_ptr<Program> program_;               // the same in f64
  std::map<std::string, Value> values_, unmoved_;  // by input
  std::map<std::string, Value> weights_;           // by output
  std::vector<std::string> moved_;                 // inputs that are differentiated by
};

std::vector<fs::path> FindTests(const Flags& flags) {
  std::vector<fs::path> tests;
  for (const fs::path& folder : flags.folders) {
    if (fs::exists(folder / "model.onnx")) {
      tests.push_back(folder);
      continue;
    }
    if (!fs::is_directory(folder)) continue;
    std::vector<fs::path> inside;
    for (const auto& entry : fs::directory_iterator(folder)) inside.push_back(entry.path());
    std::ranges::sort(inside);
    for (size_t i = 0; i < inside.size(); i += flags.every) {
      if (fs::exists(inside[i] / "model.onnx")) tests.push_back(inside[i]);
    }
  }
  return tests;
}

std::string_view WhyNot(const std::string& name, bool second) {
  for (const Exception& exception : kExceptions) {
    if (name.starts_with(exception.prefix) && (second || !exception.second_only)) return exception.why;
  }
  return "";
}

int RunAll(const Flags& flags) {
  const std::vector<fs::path> tests = FindTests(flags);
  const Result<RuleSet> rules = LoadRules();
  if (!rules.ok() || tests.empty()) return rules.ok() ? kNothingFound : 1;
  int right = 0, wrong = 0, beside = 0;
  for (const fs::path& test : tests) {
    const std::string name = test.filename().string();
    const std::string_view why_not = WhyNot(name, flags.second);
    const Result<Outcome> outcome = why_not.empty() ? Subject(*rules, test, flags).Judge()
                                                    : Result<Outcome>(Outcome{.refused = std::string(why_not)});
    std::string said = outcome.ok() ? outcome->wrong : "";
    if (!said.empty()) {
      ++wrong;
      std::printf("WRONG %s: %s\n", name.c_str(), said.c_str());
      continue;
    }
    const bool compared = outcome.ok() && outcome->entries > 0;
    ++(compared ? right : beside);
    if (compared || !flags.list) continue;
    said = outcome.ok() ? outcome->refused : FirstLine(outcome.status());
    std::printf("%s: %s\n", name.c_str(), said.empty() ? "no float passes" : said.c_str());
  }
  std::printf("%d right, %d wrong, %d with nothing to compare\n", right, wrong, beside);
  return wrong > 0 ? 1 : 0;
}

}  // namespace
}  // namespace sbp

int main(int argc, char** argv) {
  sbp::Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--second") flags.second = true;
    if (flag == "--expanded") flags.expanded = true;
    if (flag == "--list") flags.list = true;
    if (flag == "--every" && i + 1 < argc) flags.every = std::max<size_t>(1, std::strtoul(argv[++i], nullptr, 10));
    if (!flag.starts_with("--")) flags.folders.emplace_back(flag);
  }
  return sbp::RunAll(flags);
}
