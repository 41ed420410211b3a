#include "runtime/run/run_results.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/dtype.h"
#include "base/status.h"
#include "graph/tensor_type.h"
#include "kernel/view.h"
#include "plan/physical_plan.h"
#include "plan/plan.h"
#include "runtime/actors/simulate.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// Plain values between processes of one program: as they lie in memory.
template <typename T>
void Put(const T& value, std::string& bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

template <typename T>
T Take(std::string_view& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return value;
}

std::string Encode(const TensorView& part) {
  std::string bytes;
  Put(part.dtype, bytes);
  Put(part.rank(), bytes);
  for (const int64_t size : part.whole) Put(size, bytes);
  for (const Range& range : part.ranges) Put(range, bytes);
  if (part.bytes() > 0) bytes.append(reinterpret_cast<const char*>(part.data), static_cast<size_t>(part.bytes()));
  return bytes;
}

Result<Value> Decode(std::string_view bytes) {
  const auto dtype = Take<DType>(bytes);
  const int rank = Take<int>(bytes);
  Shape whole, shape;
  std::vector<Range> ranges;
  for (int d = 0; d < rank; ++d) whole.push_back(Take<int64_t>(bytes));
  for (int d = 0; d < rank; ++d) {
    ranges.push_back(Take<Range>(bytes));
    shape.push_back(ranges.back().size());
  }
  if (dtype == DType::kUndefined) return Value();
  SBP_ASSIGN_OR_RETURN(Value part, MakeTensor(dtype, std::move(shape)));
  if (!bytes.empty()) std::memcpy(part.view.data, bytes.data(), bytes.size());
  part.view.whole = std::move(whole);
  part.view.ranges = std::move(ranges);
  return part;
}

// From one part a process to the parts of all devices.
Result<std::vector<Value>> GatherParts(const std::vector<Value>& mine, Backend& backend) {
  if (backend.num_processes() == 1) return mine;
  SBP_ASSIGN_OR_RETURN(const std::vector<std::string> all, backend.Gather(Encode(mine[0].view)));
  std::vector<Value> parts;
  for (const std::string& bytes : all) {
    SBP_ASSIGN_OR_RETURN(Value part, Decode(bytes));
    parts.push_back(std::move(part));
  }
  return parts;
}

// What a process has besides tensors.
struct Facts {
  double seconds = 0;
  int64_t device_bytes = 0;
  bool has_nan = false;
  ShardedRun::NaNOrigin first_nan;
};

Status GatherFacts(const ShardedRun& sharded, const EngineResult& engine, Backend& backend, RunResults& results) {
  const std::optional<ShardedRun::NaNOrigin> nan = sharded.first_nan();
  std::string mine;
  Put(Facts{engine.seconds, sharded.device_bytes(), nan.has_value(), nan.value_or(ShardedRun::NaNOrigin())}, mine);
  for (const Span& span : engine.spans) Put(span, mine);
  SBP_ASSIGN_OR_RETURN(const std::vector<std::string> all, backend.Gather(mine));
  for (std::string_view bytes : all) {
    const auto facts = Take<Facts>(bytes);
    results.seconds = std::max(results.seconds, facts.seconds);
    results.device_bytes = std::max(results.device_bytes, facts.device_bytes);
    if (facts.has_nan && (!results.first_nan || facts.first_nan < *results.first_nan)) {
      results.first_nan = facts.first_nan;
    }
    while (!bytes.empty()) results.spans.push_back(Take<Span>(bytes));
  }
  return OkStatus();
}

}  // namespace

Result<std::vector<Span>> GatherSpans(const EngineResult& engine, Backend& backend) {
  std::string mine;
  for (const Span& span : engine.spans) Put(span, mine);
  SBP_ASSIGN_OR_RETURN(const std::vector<std::string> all, backend.Gather(mine));
  std::vector<Span> spans;
  for (std::string_view bytes : all) {
    while (!bytes.empty()) spans.push_back(Take<Span>(bytes));
  }
  return spans;
}

Result<RunResults> GatherResults(const Plan& plan, const PhysicalPlan& physical, const ShardedRun& sharded,
                                 const EngineResult& engine, Backend& backend) {
  RunResults results;
  SBP_RETURN_IF_ERROR(GatherFacts(sharded, engine, backend, results));
  for (size_t i = 0; i < plan.graph.outputs.size(); ++i) {
    const bool tensor = plan.graph.tensor(plan.graph.outputs[i]).type.kind == ValueKind::kTensor;
    results.outputs.emplace_back();
    for (uint32_t mb = 0; mb < physical.micro_batches; ++mb) {
      std::vector<Value> parts = sharded.OutputParts(i, mb);
      if (tensor) {
        SBP_ASSIGN_OR_RETURN(parts, GatherParts(parts, backend));
      }
      results.outputs.back().push_back(std::move(parts));
    }
  }
  for (uint32_t r = 0; r < physical.registers.size(); ++r) {
    std::vector<Value> parts = sharded.RegisterParts(r);
    if (!parts.empty()) {
      SBP_ASSIGN_OR_RETURN(parts, GatherParts(parts, backend));
    }
    results.registers.push_back(std::move(parts));
  }
  return results;
}

Result<RunResults> GatherOutput(const Plan& plan, const ShardedRun& sharded, const EngineResult& engine, int output,
                                Backend& backend) {
  RunResults results;
  SBP_RETURN_IF_ERROR(GatherFacts(sharded, engine, backend, results));
  results.outputs.resize(plan.graph.outputs.size());
  if (output < 0) return results;
  SBP_ASSIGN_OR_RETURN(std::vector<Value> parts, GatherParts(sharded.OutputParts(output, 0), backend));
  results.outputs[output].push_back(std::move(parts));
  return results;
}

}  // namespace sbp
