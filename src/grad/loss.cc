#include "grad/loss.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "grad/appender.h"
#include "grad/between.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/phases.h"
#include "graph/producers.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// The ops that make a loss of what the model gives: a scope of their own, so that its layers stay alike.
uint32_t LossScope(Appender& appender) { return appender.ScopeIndex(std::string(kLossScope)); }

Result<TensorId> FloatOf(const Graph& graph, TensorId id) {
  const Tensor& tensor = graph.tensor(id);
  if (IsFloat(tensor.type.dtype)) return id;
  return BadInput(
      StrCat("--loss: ", Quote(tensor.name), " is ", ToString(tensor.type), "; only floats have derivatives"));
}

// Of "output:2": 2.
std::optional<int64_t> OutputIndex(std::string_view name) {
  constexpr std::string_view kOutput = "output:";
  if (!name.starts_with(kOutput)) return std::nullopt;
  const std::string_view digits = name.substr(kOutput.size());
  const bool is_number = !digits.empty() && digits.size() < 10 && digits.find_first_not_of("0123456789") == digits.npos;
  if (!is_number) return std::nullopt;
  int64_t index = 0;
  for (const char digit : digits) index = 10 * index + (digit - '0');
  return index;
}

// What the model returns. Programs of torch list next values of buffers before that.
std::vector<TensorId> Results(const Graph& graph) {
  std::vector<TensorId> results = graph.outputs;
  if (!IsProducedBy(graph, kTorchProducer)) return results;
  std::erase_if(results, [&](TensorId id) {
    return std::ranges::any_of(graph.ties, [&](const Tie& tie) { return tie.output == id; });
  });
  return results;
}

// By name; "output:N" is the model's result N, from 0, where no tensor has that name.
Result<TensorId> FindFloat(const Graph& graph, std::string_view name) {
  std::vector<std::string> near;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    if (tensor.name == name) return FloatOf(graph, TensorId(t));
  }
  if (const std::optional<int64_t> index = OutputIndex(name)) {
    const std::vector<TensorId> results = Results(graph);
    const auto count = static_cast<int64_t>(results.size());
    if (*index < count) return FloatOf(graph, results[static_cast<size_t>(*index)]);
    return BadInput(
        StrCat("--loss: ", name, ": the model has ", count, count == 1 ? " output" : " outputs", ", counted from 0"));
  }
  for (const TensorId id : graph.outputs) near.push_back(graph.tensor(id).name);
  std::string hint = DidYouMean(name, near);
  if (hint.empty()) hint = StrCat("; outputs: ", Join(near, ", "));
  return BadInput(StrCat("--loss: there is no tensor ", Quote(name), hint));
}

// A narrow float is summed in f32.
Result<TensorId> Widened(TensorId id, Appender& appender) {
  if (DTypeBits(appender.type(id).dtype) >= 32) return id;
  return appender.Call("Cast", {id}, {{"to", static_cast<int64_t>(DType::kF32)}}, "loss/cast", LossScope(appender));
}

Result<TensorId> Reduced(std::string_view op, TensorId id, Appender& appender) {
  SBP_ASSIGN_OR_RETURN(const TensorId wide, Widened(id, appender));
  return appender.Call(op, {wide}, {{"keepdims", int64_t{0}}}, "loss", LossScope(appender));
}

Result<TensorId> Itself(TensorId id, std::string_view /*options*/, Appender& appender) {
  const TensorType& type = appender.type(id);
  if (type.rank() == 0) return id;
  return BadInput(StrCat("--loss: ", Quote(appender.graph().tensor(id).name), " is ", ToString(type),
                         "; a loss is one number: sum:NAME or mean:NAME make one of it"));
}

Result<TensorId> SumOf(TensorId id, std::string_view /*options*/, Appender& appender) {
  return Reduced("ReduceSum", id, appender);
}

Result<TensorId> MeanOf(TensorId id, std::string_view /*options*/, Appender& appender) {
  return Reduced("ReduceMean", id, appender);
}

Result<TensorId> SquaredError(TensorId id, std::string_view /*options*/, Appender& appender) {
  const std::string name = appender.graph().tensor(id).name;
  SBP_ASSIGN_OR_RETURN(const TensorId target, appender.AddInput(StrCat("target/", name), appender.type(id)));
  SBP_ASSIGN_OR_RETURN(const TensorId difference,
                       appender.Call("Sub", {id, target}, {}, "loss/difference", LossScope(appender)));
  SBP_ASSIGN_OR_RETURN(const TensorId square,
                       appender.Call("Mul", {difference, difference}, {}, "loss/square", LossScope(appender)));
  return MeanOf(square, "", appender);
}

constexpr int64_t kNoLabel = -100;  // that which does not count, as PyTorch has it
constexpr std::string_view kIgnoreNone = "ignore=-100";

std::optional<int64_t> IgnoredLabel(std::string_view options) {
  return options.starts_with("ignore=") ? ParseInt(options.substr(7)) : std::nullopt;
}

// Labels of the next token: the last one, which has none, does not count.
Result<TensorId> NextLabels(TensorId labels, int64_t ignored, Appender& appender) {
  const int64_t length = appender.type(labels).shape.back();
  if (length == 0) return labels;
  const TensorId last = appender.Ints({-1});
  SBP_ASSIGN_OR_RETURN(const TensorId later,
                       appender.Call("Slice", {labels, appender.Ints({1}), appender.Ints({length}), last}, {},
                                     "loss/later", LossScope(appender)));
  const TensorId fill = appender.Constant(Literal::Scalar(ignored));
  return appender.Call("Pad", {later, appender.Ints({0, 1}), fill, last}, {}, "loss/next", LossScope(appender));
}

Result<TensorId> CrossEntropy(TensorId id, std::string_view options, Appender& appender, bool of_next = false) {
  const TensorType type = appender.type(id);
  if (type.rank() < 1) return BadInput("--loss: logits need a last dimension of classes");
  Appender::AttributeList attributes = {{"reduction", std::string("mean")}};
  if (options.starts_with("ignore=")) {
    const std::optional<int64_t> ignored = IgnoredLabel(options);
    if (!ignored) return BadInput(StrCat("--loss: ignore=N takes a label, not ", Quote(options.substr(7))));
    attributes.emplace_back("ignore_index", *ignored);
  } else if (!options.empty()) {
    return BadInput(StrCat("--loss: cross-entropy takes ignore=N, not ", Quote(options)));
  }
  const Shape rows(type.shape.begin(), type.shape.end() - 1);
  SBP_ASSIGN_OR_RETURN(TensorId labels, appender.AddInput("labels", {DType::kI64, rows}));
  if (of_next) {
    SBP_ASSIGN_OR_RETURN(labels, NextLabels(labels, IgnoredLabel(options).value_or(kNoLabel), appender));
  }
  SBP_ASSIGN_OR_RETURN(TensorId logits, Widened(id, appender));
  if (type.rank() != 2) {
    const int64_t classes = type.shape.back();
    const int64_t count = classes == 0 ? 0 : type.num_elements() / classes;
    SBP_ASSIGN_OR_RETURN(logits, appender.Call("Reshape", {logits, appender.Ints({count, classes})}, {}, "loss/logits",
                                               LossScope(appender)));
    SBP_ASSIGN_OR_RETURN(
        labels, appender.Call("Reshape", {labels, appender.Ints({count})}, {}, "loss/labels", LossScope(appender)));
  }
  return appender.Call("SoftmaxCrossEntropyLoss", {logits, labels}, std::move(attributes), "loss", LossScope(appender));
}

Result<TensorId> CrossEntropyOf(TensorId id, std::string_view options, Appender& appender) {
  return CrossEntropy(id, options, appender);
}

// As transformers' ForCausalLMLoss: each token's logits are compared with the label of the next.
Result<TensorId> CausalLm(TensorId id, std::string_view options, Appender& appender) {
  const TensorType& type = appender.type(id);
  if (type.rank() == 3) return CrossEntropy(id, options.empty() ? kIgnoreNone : options, appender, true);
  return BadInput(StrCat("--loss: causal-lm takes logits (batch, sequence, classes); ",
                         Quote(appender.graph().tensor(id).name), " is ", ToString(type)));
}

struct FormRow {
  std::string_view name;
  Result<TensorId> (*make)(TensorId id, std::string_view options, Appender& appender);
  bool has_labels = false;  // of which ",ignore=N" names one that does not count
};
constexpr std::array<FormRow, 5> kForms = {{{"sum", SumOf},
                                            {"mean", MeanOf},
                                            {"mse", SquaredError},
                                            {"cross-entropy", CrossEntropyOf, true},
                                            {"causal-lm", CausalLm, true}}};

// "NAME,OPTIONS" of a form that has no labels; a name may hold a comma.
Status RefuseOptions(const FormRow& form, std::string_view name, std::string_view options, const Graph& graph) {
  const auto is_named = [&](const Tensor& tensor) { return tensor.name == StrCat(name, ",", options); };
  if (std::ranges::any_of(graph.tensors, is_named)) return OkStatus();
  std::vector<std::string_view> others;
  for (const FormRow& row : kForms) {
    if (row.has_labels) others.push_back(row.name);
  }
  return BadInput(StrCat("--loss: ", form.name, " takes no options, and ", Quote(options), " is one; ",
                         Join(others, " and "), " take ignore=N"));
}

Result<Loss> Cotangents(std::string_view names, const Graph& graph) {
  Loss loss{.given = true};
  if (names.empty()) {
    for (const TensorId id : graph.outputs) {
      if (IsFloat(graph.tensor(id).type.dtype)) loss.seeds.push_back({id, TensorId()});
    }
    if (loss.seeds.empty()) return BadInput("--loss cotangents: no output is a float");
    return loss;
  }
  for (const std::string_view name : Split(names, ',')) {
    SBP_ASSIGN_OR_RETURN(const TensorId id, FindFloat(graph, name));
    loss.seeds.push_back({id, TensorId()});
  }
  return loss;
}

}  // namespace

Result<Loss> AddLoss(const std::string& form, Appender& appender) {
  const Graph& graph = appender.graph();
  const std::string_view text = form;
  if (text == "cotangents") return Cotangents("", graph);
  if (text.starts_with("cotangents:")) return Cotangents(text.substr(11), graph);
  // Names may hold colons: "output:0".
  for (const FormRow& row : kForms) {
    if (!text.starts_with(row.name) || text.substr(row.name.size(), 1) != ":") continue;
    std::string_view name = text.substr(row.name.size() + 1), options;
    if (const size_t comma = name.find(','); comma != std::string_view::npos) {
      options = name.substr(comma + 1);
      if (row.has_labels) {
        name = name.substr(0, comma);
      } else {
        SBP_RETURN_IF_ERROR(RefuseOptions(row, name.substr(0, comma), options, graph));
      }
    }
    SBP_ASSIGN_OR_RETURN(const TensorId of, FindFloat(graph, name));
    SBP_ASSIGN_OR_RETURN(const TensorId loss, row.make(of, options, appender));
    const bool of_next = row.make == CausalLm;
    Loss made{.loss = loss, .seeds = {{loss, TensorId()}}};
    if (row.has_labels) made.ignored = IgnoredLabel(of_next && options.empty() ? kIgnoreNone : options);
    if (made.ignored) made.labels = graph.op(graph.tensor(loss).producer).inputs[1];  // of the cross entropy
    return made;
  }
  SBP_ASSIGN_OR_RETURN(const TensorId of, FindFloat(graph, text));
  SBP_ASSIGN_OR_RETURN(const TensorId loss, Itself(of, "", appender));
  return Loss{.loss = loss, .seeds = {{loss, TensorId()}}};
}

Status AddShare(Loss& loss, Appender& appender) {
  if (!loss.ignored) return OkStatus();
  if (!loss.labels.valid()) return Defect("the labels of the loss are gone");
  const TensorId ignored = appender.Constant(Literal::Scalar(*loss.ignored));
  SBP_ASSIGN_OR_RETURN(const TensorId equal,
                       appender.Call("Equal", {loss.labels, ignored}, {}, "loss/ignored", LossScope(appender)));
  SBP_ASSIGN_OR_RETURN(const TensorId counts, appender.Call("Not", {equal}, {}, "loss/counts", LossScope(appender)));
  SBP_ASSIGN_OR_RETURN(
      const TensorId numbers,
      appender.Call("Cast", {counts}, {{"to", static_cast<int64_t>(DType::kF32)}}, "loss/ones", LossScope(appender)));
  SBP_ASSIGN_OR_RETURN(loss.share, appender.Call("ReduceMean", {numbers}, {{"keepdims", int64_t{0}}}, "loss/share",
                                                 LossScope(appender)));
  return OkStatus();
}

Status AddSeeds(Loss& loss, double scale, Appender& appender) {
  for (Seed& seed : loss.seeds) {
    const TensorType type = appender.type(seed.tensor);
    if (!loss.given) {
      seed.cotangent = appender.Number(scale, type.dtype);
      if (loss.share.valid()) {
        const Appender::AttributeList to = {{"to", static_cast<int64_t>(type.dtype)}};
        SBP_ASSIGN_OR_RETURN(const TensorId share,
                             appender.Call("Cast", {loss.share}, to, "loss/share_cast", LossScope(appender)));
        SBP_ASSIGN_OR_RETURN(seed.cotangent,
                             appender.Call("Mul", {share, seed.cotangent}, {}, "loss/seed", LossScope(appender)));
      }
      continue;
    }
    const std::string name = StrCat("cotangent/", appender.graph().tensor(seed.tensor).name);
    SBP_ASSIGN_OR_RETURN(seed.cotangent, appender.AddInput(name, type));
  }
  return OkStatus();
}

}  // namespace sbp
