#include "api/train.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/plan_inputs.h"
#include "api/reference.h"
#include "api/tensors.h"
#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/tensor_data.h"
#include "graph/tensor_type.h"
#include "io/file.h"
#include "io/npz.h"
#include "runtime/data/value.h"
#include "runtime/run/plan_run.h"
#include "runtime/run/tensor_store.h"
#include "runtime/run/training.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

constexpr std::string_view kStepEntry = "checkpoint/step", kSeedEntry = "checkpoint/seed";
constexpr std::string_view kRate = "lr", kStep = "step";

Result<int64_t> TakeNumber(std::vector<TensorData>& arrays, std::string_view name, std::string_view where) {
  const auto found = std::ranges::find_if(arrays, [&](const TensorData& data) { return data.name == name; });
  const TensorType wanted = {DType::kI64, {}};
  if (found == arrays.end() || found->type != wanted || found->bytes.size() != sizeof(int64_t)) {
    return BadInput(StrCat(where, ": no checkpoint: it has no number ", Quote(name)));
  }
  int64_t value = 0;
  std::memcpy(&value, found->bytes.data(), sizeof(value));
  arrays.erase(found);
  return value;
}

// The first states that the file lacks, has besides, or has of another type.
Status CompareStates(const std::vector<TensorData>& states, std::string_view where, const Graph& graph) {
  constexpr size_t kShown = 3;
  std::vector<std::string> problems, names, wanted;
  for (const TensorData& data : states) names.push_back(data.name);
  for (const TensorId id : StatesOf(graph)) wanted.push_back(graph.tensor(id).name);
  for (const TensorId id : StatesOf(graph)) {
    const Tensor& tensor = graph.tensor(id);
    const auto found = std::ranges::find(states, tensor.name, &TensorData::name);
    if (found == states.end()) {
      problems.push_back(StrCat("no ", Quote(tensor.name), DidYouMean(tensor.name, names)));
    } else if (Status fits = ValueFromData(*found, tensor.type).status(); !fits.ok()) {
      problems.push_back(StrCat(Quote(tensor.name), " ", fits.message()));
    }
  }
  for (const std::string& name : names) {
    if (std::ranges::find(wanted, name) == wanted.end()) {
      problems.push_back(StrCat(Quote(name), " is no state of the plan", DidYouMean(name, wanted)));
    }
  }
  if (problems.empty()) return OkStatus();
  const size_t more = problems.size() - std::min(kShown, problems.size());
  problems.resize(problems.size() - more);
  return BadInput(StrCat(where, ": a checkpoint of another model: ", Join(problems, "; "),
                         more > 0 ? StrCat("; and ", more, " more") : ""));
}

// Inputs that hold several batches, one after the other.
class Batches {
 public:
  Status Take(std::vector<TensorData>& inputs, const Graph& graph) {
    const NameIndex names(graph);
    for (TensorData& data : inputs) {
      const TensorId id = names.tensor(data.name);
      if (!id.valid() || graph.tensor(id).role != TensorRole::kInput) continue;
      const Shape& one = graph.tensor(id).type.shape;
      const Shape& all = data.type.shape;
      const bool batched = all.size() == one.size() + 1 && std::equal(one.begin(), one.end(), all.begin() + 1);
      if (!batched) continue;
      if (all[0] < 1) return BadInput(StrCat("--inputs: ", Quote(data.name), " holds no batch"));
      if (count_ != 0 && all[0] != count_) {
        return BadInput(StrCat("--inputs: ", Quote(data.name), " holds ", all[0], " batches, ",
                               Quote(batched_.front().name), " ", count_));
      }
      count_ = all[0];
      batched_.push_back(data);
      data = Batch(data, 0);
    }
    return OkStatus();
  }

  std::vector<TensorData> At(int64_t index) const {
    std::vector<TensorData> inputs;
    for (const TensorData& data : batched_) inputs.push_back(Batch(data, index % count_));
    return inputs;
  }

 private:
  static TensorData Batch(const TensorData& data, int64_t index) {
    TensorData one{data.name, data.type, {}};
    one.type.shape.erase(one.type.shape.begin());
    const size_t size = data.bytes.size() / static_cast<size_t>(data.type.shape[0]);
    one.bytes = data.bytes.substr(size * static_cast<size_t>(index), size);
    return one;
  }

  std::vector<TensorData> batched_;
  int64_t count_ = 0;
};

Status CheckRequest(const Graph& graph, const StepsRequest& request) {
  if (graph.ties.empty()) {
    return BadInput(
        "--steps: nothing is tied: no output of the plan is what an input is at the next step "
        "(`grad --optimizer` makes such graphs, --tie OUT=IN names them)");
  }
  if (request.lr && FindNumber(graph, kRate) == nullptr) {
    return BadInput("--lr: the plan has no input \"lr\" of rank 0");
  }
  return OkStatus();
}

// Before the run, so that what fails is not found after it.
Status CheckSave(const StepsRequest& request) {
  return request.save.empty() ? OkStatus() : CheckWritable(request.save);
}

Status WriteCheckpoint(const std::string& path, int64_t steps, uint64_t seed,
                       std::vector<std::pair<std::string, Value>> states) {
  for (const auto& [name, number] : {std::pair(kStepEntry, steps), std::pair(kSeedEntry, static_cast<int64_t>(seed))}) {
    SBP_ASSIGN_OR_RETURN(Value value, MakeTensor(DType::kI64, {}));
    *value.view.as<int64_t>() = number;
    states.emplace_back(name, std::move(value));
  }
  return WriteTensors(path, states);
}

}  // namespace

Result<Checkpoint> ParseCheckpoint(std::string_view bytes, std::string_view where, const Graph& graph) {
  Checkpoint checkpoint;
  SBP_ASSIGN_OR_RETURN(checkpoint.states, ReadNpzData(bytes, where));
  SBP_ASSIGN_OR_RETURN(checkpoint.steps, TakeNumber(checkpoint.states, kStepEntry, where));
  SBP_ASSIGN_OR_RETURN(const int64_t seed, TakeNumber(checkpoint.states, kSeedEntry, where));
  if (checkpoint.steps < 0) return BadInput(StrCat(where, ": no checkpoint: ", checkpoint.steps, " steps"));
  checkpoint.seed = static_cast<uint64_t>(seed);
  SBP_RETURN_IF_ERROR(CompareStates(checkpoint.states, where, graph));
  return checkpoint;
}

Result<Checkpoint> ReadCheckpoint(const std::string& path, const Graph& graph) {
  SBP_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  return ParseCheckpoint(bytes, path, graph);
}

Result<PlanRun> TrainPlan(Plan plan, const RuleSet& rules, const std::string& model_path, RunData data,
                          Backend& backend, const RunOptions& options, const StepsRequest& request) {
  SBP_RETURN_IF_ERROR(CheckRequest(plan.graph, request));
  if (backend.leads()) SBP_RETURN_IF_ERROR(CheckSave(request));
  Batches batches;
  SBP_RETURN_IF_ERROR(batches.Take(data.inputs, plan.graph));
  SBP_RETURN_IF_ERROR(CheckAgainstAssumptions(plan.graph, data.inputs));
  SBP_RETURN_IF_ERROR(CheckLabels(plan.graph, data.inputs));
  SBP_ASSIGN_OR_RETURN(const std::vector<TensorData> assumed, AssumedInputs(plan.graph, data.inputs));
  data.inputs.insert(data.inputs.end(), assumed.begin(), assumed.end());
  TrainingOptions training{.steps = request.steps, .save_every = request.save_every};
  uint64_t seed = options.seed;
  if (!request.load.empty()) {
    SBP_ASSIGN_OR_RETURN(Checkpoint loaded, ReadCheckpoint(request.load, plan.graph));
    training.first = loaded.steps;
    seed = loaded.seed;
    std::erase_if(data.inputs, [&](const TensorData& given) { return IsGiven(loaded.states, given.name); });
    std::ranges::move(loaded.states, std::back_inserter(data.inputs));
  }
  for (TensorData& state : FirstStates(plan.graph, data.inputs)) data.inputs.push_back(std::move(state));

  const Graph stored = plan.graph;
  if (options.dtype) plan.graph = Retyped(stored, rules, *options.dtype);
  TensorStore store(plan.graph, stored, seed, model_path.empty() ? DataReader() : ReadDataOf(model_path));
  store.set_cancelled(options.cancelled);
  SBP_RETURN_IF_ERROR(store.Give(data.inputs).WithContext("--inputs"));
  const Tensor *rate = FindNumber(plan.graph, kRate), *counter = FindNumber(plan.graph, kStep);
  training.feed = [&](int64_t step, int64_t micro_batch) {
    std::vector<TensorData> inputs = batches.At(step * plan.graph.micro_batches + micro_batch);
    if (counter != nullptr) inputs.push_back(NumberFor(*counter, static_cast<double>(step + 1)));
    if (rate != nullptr && request.lr) inputs.push_back(NumberFor(*rate, *request.lr));
    return inputs;
  };
  if (!request.save.empty()) {
    training.save = [&](int64_t steps, const std::vector<std::pair<std::string, Value>>& states) {
      return WriteCheckpoint(request.save, steps, seed, states);
    };
  }
  std::unique_ptr<TwinData> reference, exact;
  if (options.reference && backend.leads() && !backend.is_virtual()) {
    ReferenceRequest beside{model_path, &plan, &data.inputs, options.dtype, "", seed, true};
    SBP_ASSIGN_OR_RETURN(reference, MakeTwin(plan, stored, rules, beside, store));
    training.reference = reference->twin();
    if (options.dtype != DType::kF64) {
      beside.dtype = DType::kF64;
      beside.takes_folded = false;  // a mistake in these is no rounding
      SBP_ASSIGN_OR_RETURN(exact, MakeTwin(plan, stored, rules, beside, store));
      training.exact = exact->twin();
    }
  }
  PlanRunOptions run;
  run.reference = options.reference;
  run.seed = seed;
  run.tolerance = options.tolerance;
  run.progress = options.progress;
  run.cancelled = options.cancelled;
  return RunTraining(plan, rules, store, backend, run, training);
}

}  // namespace sbp
