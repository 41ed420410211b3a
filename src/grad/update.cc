#include "grad/update.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "decompose/decompose.h"
#include "grad/appender.h"
#include "grad/between.h"
#include "grad/loss.h"
#include "grad/optimizer.h"
#include "grad/order.h"
#include "graph/graph.h"
#include "graph/phases.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

constexpr std::string_view kOptimizer = kOptimizerScope;
constexpr double kNormFloor = 1e-6;  // added to the norm, as torch.nn.utils.clip_grad_norm_ does

DType WideOf(DType type) { return DTypeBits(type) < 32 ? DType::kF32 : type; }

// Is the op split in no way, whatever the mesh?
bool StaysWhole(const RuleInstance& instance) {
  return instance.replicate_only || std::ranges::all_of(instance.map.factors, &Factor::whole);
}

class Updates {
 public:
  Updates(const Optimizer& optimizer, const UpdateRequest& request, Appender& appender)
      : optimizer_(optimizer),
        request_(request),
        appender_(appender),
        graph_(appender.graph()),
        scope_(appender.ScopeIndex(std::string(kOptimizer))),
        loss_scope_(appender.ScopeIndex(std::string(kLossScope))) {}

  Status Run(std::span<const Trained> trained, const Loss& loss) {
    FindReaders(trained);
    const bool accumulates = request_.accumulate > 1;
    SBP_ASSIGN_OR_RETURN(const TensorId share, Accumulated(accumulates, loss.share, "share", loss_scope_));
    SBP_ASSIGN_OR_RETURN(const TensorId total, LossOfStep(loss, share));
    std::vector<Trained> summed(trained.begin(), trained.end());
    for (Trained& entry : summed) {
      const Op& last = graph_.op(graph_.tensor(entry.gradient).producer);
      SBP_ASSIGN_OR_RETURN(entry.gradient, Accumulated(accumulates || request_.gradient_buffers, entry.gradient,
                                                       NameOf(entry.parameter), last.scope));
    }
    SBP_ASSIGN_OR_RETURN(lr_, appender_.AddInput("lr", {DType::kF32, {}}));
    SBP_ASSIGN_OR_RETURN(step_, appender_.AddInput("step", {DType::kI64, {}}));
    SBP_RETURN_IF_ERROR(MakeScale(summed, share));
    SetOutputs(loss, total);
    for (const Trained& entry : summed) {
      const Status updated = Update(entry);
      if (!updated.ok()) return updated.WithContext(StrCat("parameter ", Quote(NameOf(entry.parameter))));
    }
    graph_.outputs.insert(graph_.outputs.end(), nexts_.begin(), nexts_.end());
    graph_.micro_batches = request_.accumulate;
    MoveBehindProducers(graph_, accumulations_);
    return OkStatus();
  }

 private:
  std::string NameOf(TensorId id) const { return graph_.tensor(id).name; }  // a copy: tensors are added

  // Where parameters are read in the forward pass, and which are looked up in.
  void FindReaders(std::span<const Trained> trained) {
    for (const Trained& entry : trained) readers_.emplace(entry.parameter, Readers());
    for (const Op& op : graph_.ops) {
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const auto found = op.inputs[i].valid() ? readers_.find(op.inputs[i]) : readers_.end();
        if (found == readers_.end()) continue;
        if (!found->second.scope) found->second.scope = op.scope;
        found->second.looked_up = found->second.looked_up || (i == 0 && graph_.type_of(op) == "Gather");
      }
    }
  }

  Result<TensorId> Cast(TensorId id, DType type, const std::string& name, uint32_t scope) {
    if (appender_.type(id).dtype == type) return id;
    return appender_.Call("Cast", {id}, {{"to", static_cast<int64_t>(type)}}, name, scope);
  }

  // The sum of a tensor over the micro-batches; the tensor itself where it is none.
  Result<TensorId> Accumulated(bool is_summed, TensorId id, const std::string& name, uint32_t scope) {
    if (!is_summed || !id.valid()) return id;
    const TensorType type = {WideOf(appender_.type(id).dtype), appender_.type(id).shape};
    const size_t first = graph_.ops.size();
    SBP_ASSIGN_OR_RETURN(const TensorId wide, Cast(id, type.dtype, StrCat("acc/cast/", name), scope));
    SBP_ASSIGN_OR_RETURN(const TensorId before, appender_.AddInput(StrCat("acc/", name), type));
    SBP_ASSIGN_OR_RETURN(const TensorId after,
                         appender_.Call("Add", {before, wide}, {}, StrCat("next/acc/", name), scope));
    graph_.ties.push_back({after, before, true});
    nexts_.push_back(after);
    for (size_t i = first; i < graph_.ops.size(); ++i) accumulations_.push_back(OpId(i));
    return after;
  }

  // The mean over micro-batches, each with its share.
  Result<TensorId> LossOfStep(const Loss& loss, TensorId share) {
    if (request_.accumulate == 1 || loss.given) return loss.loss;
    TensorId weighted = loss.loss;
    if (loss.share.valid()) {
      SBP_ASSIGN_OR_RETURN(weighted, appender_.Call("Mul", {loss.loss, loss.share}, {}, "loss/weighted", loss_scope_));
    }
    const DType type = WideOf(appender_.type(weighted).dtype);
    SBP_ASSIGN_OR_RETURN(const TensorId sum, Accumulated(true, weighted, "loss", loss_scope_));
    const TensorId count = share.valid() ? share : appender_.Number(static_cast<double>(request_.accumulate), type);
    // A model may have named its own loss so; it is that of one micro-batch.
    if (NameOf(loss.loss) == "loss") appender_.Rename(loss.loss, "micro/loss");
    return appender_.Call("Div", {sum, count}, {}, "loss", scope_);
  }

  // The loss comes first, then what is given already: running statistics.
  void SetOutputs(const Loss& loss, TensorId total) {
    if (!loss.given) {
      for (const Seed& seed : loss.seeds) std::erase(graph_.outputs, seed.tensor);
      graph_.outputs.insert(graph_.outputs.begin(), total);
    }
    if (norm_.valid()) graph_.outputs.push_back(norm_);
  }

  // What gradients are multiplied by.
  Status MakeScale(std::span<const Trained> summed, TensorId share) {
    const double by =
        share.valid() ? request_.loss_scale : request_.loss_scale * static_cast<double>(request_.accumulate);
    if (share.valid()) {
      SBP_ASSIGN_OR_RETURN(
          scale_, appender_.Call("Div", {appender_.Number(1 / by, DType::kF32), share}, {}, "optimizer/scale", scope_));
    } else if (by != 1) {
      scale_ = appender_.Number(1 / by, DType::kF32);
    }
    return request_.clip_norm > 0 ? Clip(summed) : OkStatus();
  }

  Status Clip(std::span<const Trained> summed) {
    std::vector<TensorId> squares;
    for (const Trained& entry : summed) {
      SBP_ASSIGN_OR_RETURN(const TensorId sum, appender_.Call("sbp::SumOfSquares", {entry.gradient}, {},
                                                              StrCat("optimizer/squares/", NameOf(entry.parameter)),
                                                              ScopeOf(entry.parameter)));
      squares.push_back(sum);
    }
    SBP_ASSIGN_OR_RETURN(const TensorId sum,
                         appender_.Call("Sum", std::move(squares), {}, "optimizer/sum_of_squares", scope_));
    const std::string root_name = scale_.valid() ? "optimizer/scaled_norm" : "grad_norm";
    SBP_ASSIGN_OR_RETURN(norm_, appender_.Call("Sqrt", {sum}, {}, root_name, scope_));
    if (scale_.valid()) {
      SBP_ASSIGN_OR_RETURN(norm_, appender_.Call("Mul", {norm_, scale_}, {}, "grad_norm", scope_));
    }
    const auto number = [&](double value) { return appender_.Number(value, DType::kF32); };
    SBP_ASSIGN_OR_RETURN(const TensorId floored,
                         appender_.Call("Add", {norm_, number(kNormFloor)}, {}, "optimizer/floored_norm", scope_));
    SBP_ASSIGN_OR_RETURN(const TensorId share,
                         appender_.Call("Div", {number(request_.clip_norm), floored}, {}, "optimizer/share", scope_));
    SBP_ASSIGN_OR_RETURN(TensorId clipped, appender_.Call("Min", {share, number(1)}, {}, "optimizer/clip", scope_));
    if (scale_.valid()) {
      SBP_ASSIGN_OR_RETURN(clipped, appender_.Call("Mul", {clipped, scale_}, {}, "optimizer/clipped_scale", scope_));
    }
    scale_ = clipped;
    return OkStatus();
  }

  uint32_t ScopeOf(TensorId parameter) {
    const std::optional<uint32_t> reader = readers_.at(parameter).scope;
    const std::string& scope = graph_.scopes[reader.value_or(0)];
    return scope.empty() ? scope_ : appender_.ScopeIndex(StrCat(kOptimizer, "/", scope));
  }

  bool Decays(TensorId parameter) const {
    const std::vector<std::string>& patterns = request_.optimizer.no_decay;
    if (patterns.empty()) return appender_.type(parameter).rank() >= 2;
    return std::ranges::none_of(patterns, [&](const std::string& p) { return GlobMatch(p, NameOf(parameter)); });
  }

  // The op's operands by the schema's names; absent ones are invalid.
  std::vector<TensorId> Operands(const OpOverload& schema, const Trained& entry,
                                 const std::unordered_map<std::string, TensorId>& states) const {
    std::vector<TensorId> operands;
    for (const Parameter& parameter : schema.parameters) {
      if (parameter.keyword) continue;
      const auto state = states.find(parameter.name);
      TensorId operand = state == states.end() ? TensorId() : state->second;
      if (parameter.name == "x") operand = entry.parameter;
      if (parameter.name == "g") operand = entry.gradient;
      if (parameter.name == "lr") operand = lr_;
      if (parameter.name == "step") operand = step_;
      if (parameter.name == "scale") operand = scale_;
      operands.push_back(operand);
    }
    while (!operands.empty() && !operands.back().valid()) operands.pop_back();
    return operands;
  }

  Status Update(const Trained& entry) {
    const std::string name = NameOf(entry.parameter);
    const bool table = optimizer_.tables_apart && readers_.at(entry.parameter).looked_up;
    const UpdateOp& op = appender_.type(entry.parameter).rank() < 2 || table ? optimizer_.others : optimizer_.matrices;
    Attributes attributes = op.attributes;
    if (op.decays && !Decays(entry.parameter)) attributes.Set("weight_decay", 0.0);
    const AttributesRef shared = appender_.Shared(std::move(attributes));
    // States that are absent are zeros: what the op then says of its results is their type.
    SBP_ASSIGN_OR_RETURN(const RuleInstanceRef first,
                         appender_.Ask(op.type, Operands(*op.schema, entry, {}), *shared, op.schema->results.size()));
    std::unordered_map<std::string, TensorId> states;
    std::vector<std::string> results = {StrCat("next/", name)};
    std::vector<TensorId> sources = {entry.parameter};
    for (const std::string& state : StatesOf(*op.schema)) {
      SBP_ASSIGN_OR_RETURN(const TensorId input,
                           appender_.AddInput(StrCat(state, "/", name), first->results[sources.size()]));
      states.emplace(state, input);
      sources.push_back(input);
      results.push_back(StrCat("next/", state, "/", name));
    }
    std::vector<TensorId> operands = Operands(*op.schema, entry, states);
    SBP_ASSIGN_OR_RETURN(const RuleInstanceRef instance, appender_.Ask(op.type, operands, *shared, results.size()));
    const std::string op_name = StrCat(kOptimizer, "/", name);
    const uint32_t scope = ScopeOf(entry.parameter);
    std::vector<TensorId> outputs;
    if (StaysWhole(*instance) && HasExpansion(op.type, appender_.rules())) {
      SBP_ASSIGN_OR_RETURN(outputs, Expanded(*instance, operands, *shared, op_name, results, scope));
    } else {
      outputs = appender_.CallAll(*instance, std::move(operands), shared, op_name, results, scope);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      graph_.ties.push_back({outputs[i], sources[i]});
      nexts_.push_back(outputs[i]);
    }
    return OkStatus();
  }

  Result<std::vector<TensorId>> Expanded(const RuleInstance& instance, const std::vector<TensorId>& operands,
                                         const Attributes& attributes, const std::string& name,
                                         const std::vector<std::string>& results, uint32_t scope) {
    OpQuery query{.type = instance.op, .attributes = &attributes};
    std::vector<TensorId> present;
    for (const TensorId id : operands) {
      query.operands.push_back(id.valid() ? OperandInfo{true, appender_.type(id), nullptr} : OperandInfo{});
      if (id.valid()) present.push_back(id);
    }
    query.wanted.assign(results.size(), true);
    SBP_ASSIGN_OR_RETURN(const Graph graph, ExpandOp(query, appender_.rules()));
    Appender::Part part(graph);
    const std::vector<TensorId> map = appender_.Splice(part, present, name, scope);
    std::vector<TensorId> outputs;
    for (size_t r = 0; r < results.size(); ++r) {
      TensorId output = map[graph.outputs[r].index()];
      const bool is_own = graph.tensor(graph.outputs[r]).producer.valid() && std::ranges::count(outputs, output) == 0;
      if (is_own) {
        appender_.Rename(output, results[r]);
      } else {
        SBP_ASSIGN_OR_RETURN(output, appender_.Call("Identity", {output}, {}, results[r], scope));
      }
      outputs.push_back(output);
    }
    return outputs;
  }

  struct Readers {
    std::optional<uint32_t> scope;
    bool looked_up = false;
  };
  const Optimizer& optimizer_;
  const UpdateRequest& request_;
  Appender& appender_;
  Graph& graph_;
  uint32_t scope_, loss_scope_;
  std::unordered_map<TensorId, Readers> readers_;
  TensorId lr_, step_, scale_, norm_;
  std::vector<TensorId> nexts_;
  std::vector<OpId> accumulations_;
};

}  // namespace

Status AddUpdates(const Optimizer& optimizer, const UpdateRequest& request, std::span<const Trained> trained,
                  const Loss& loss, Appender& appender) {
  return Updates(optimizer, request, appender).Run(trained, loss);
}

}  // namespace sbp
