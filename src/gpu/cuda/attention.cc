// The graph is the one that cuDNN's documentation gives for flash attention: product, scale, bias, causal mask, softmax
// from its parts, product. The library finds an engine by that form, so every step stands where it expects it; the
// logarithms of the sums (which training would keep) are among its results, as some engines want them.
#include "gpu/cuda/attention.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "gpu/gpu.h"

namespace sbp::gpu::cuda {

#if CUDNN_VERSION >= 90800

using Raw = cudnnBackendDescriptor_t;

struct DestroyDescriptor {
  void operator()(Raw descriptor) const { cudnnBackendDestroyDescriptor(descriptor); }
};
using Descriptor = std::unique_ptr<std::remove_pointer_t<Raw>, DestroyDescriptor>;

// Makes descriptors until one is refused.
class DescriptorBuilder {
 public:
  const Status& status() const { return status_; }

  Raw Make(cudnnBackendDescriptorType_t type) {
    Raw made = nullptr;
    if (status_.ok()) Check(cudnnBackendCreateDescriptor(type, &made), "cudnnBackendCreateDescriptor");
    if (!status_.ok()) return nullptr;
    owned_.emplace_back(made);
    return made;
  }
  void Set(Raw descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
           const void* values) {
    if (status_.ok()) {
      Check(cudnnBackendSetAttribute(descriptor, name, type, count, values), "cudnnBackendSetAttribute");
    }
  }
  void SetType(Raw descriptor, cudnnBackendAttributeName_t name, cudnnDataType_t type) {
    Set(descriptor, name, CUDNN_TYPE_DATA_TYPE, 1, &type);
  }
  void SetDescriptor(Raw descriptor, cudnnBackendAttributeName_t name, Raw value) {
    Set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
  }
  void SetInts(Raw descriptor, cudnnBackendAttributeName_t name, const std::vector<int64_t>& values) {
    Set(descriptor, name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
  }
  void SetFlag(Raw descriptor, cudnnBackendAttributeName_t name, bool value) {
    Set(descriptor, name, CUDNN_TYPE_BOOLEAN, 1, &value);
  }
  Raw Finish(Raw descriptor) {
    if (status_.ok()) Check(cudnnBackendFinalize(descriptor), "cudnnBackendFinalize");
    return descriptor;
  }
  void Get(Raw descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t most,
           int64_t& count, void* values) {
    if (status_.ok()) {
      Check(cudnnBackendGetAttribute(descriptor, name, type, most, &count, values), "cudnnBackendGetAttribute");
    }
  }

 private:
  void Check(cudnnStatus_t status, const char* what) {
    if (status == CUDNN_STATUS_SUCCESS) return;
    char why[1024] = {};
    cudnnGetLastErrorString(why, sizeof why - 1);
    status_ = RunFailed(StrCat(what, ": ", cudnnGetErrorString(status), " (", why, ")"));
  }

  Status status_;
  std::vector<Descriptor> owned_;
};

namespace {

// The names by which a call binds memory to the graph's tensors.
enum Tensor : int64_t { kQ = 1, kK, kV, kOut, kSums, kScale, kMasked, kBias, kFirstInner };

class GraphBuilder {
 public:
  explicit GraphBuilder(DescriptorBuilder& builder) : b_(builder) {}

  // Of memory that a call binds.
  Raw Bound(Tensor name, cudnnDataType_t type, const std::vector<int64_t>& dims, const std::vector<int64_t>& strides) {
    return MakeTensor(name, type, dims, strides, false, false);
  }
  // Of a number that a call gives.
  Raw Number(Tensor name) { return MakeTensor(name, CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true); }
  // Of the graph's own.
  Raw Inner(const std::vector<int64_t>& dims, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    std::vector<int64_t> strides(dims.size(), 1);
    for (size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
    return MakeTensor(next_inner_++, type, dims, strides, true, false);
  }

  void Product(Raw a, Raw b, Raw c) {
    Raw const how = b_.Make(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    b_.SetType(how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
    b_.Finish(how);
    AddOp(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, {{CUDNN_ATTR_OPERATION_MATMUL_ADESC, a},
                                                      {CUDNN_ATTR_OPERATION_MATMUL_BDESC, b},
                                                      {CUDNN_ATTR_OPERATION_MATMUL_CDESC, c},
                                                      {CUDNN_ATTR_OPERATION_MATMUL_DESC, how}});
  }
  void Reduce(cudnnReduceTensorOp_t mode, Raw x, Raw y) {
    Raw const how = b_.Make(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    b_.Set(how, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &mode);
    b_.SetType(how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    b_.Finish(how);
    AddOp(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, {{CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x},
                                                         {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y},
                                                         {CUDNN_ATTR_OPERATION_REDUCTION_DESC, how}});
  }
  struct PointwiseOptions {
    Raw b = nullptr, t = nullptr;  // the second operand; what chooses between the two
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    int64_t axis = -1;  // of indices
  };
  void Pointwise(cudnnPointwiseMode_t mode, Raw x, Raw y, const PointwiseOptions& options) {
    Raw const how = b_.Make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    b_.Set(how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    b_.SetType(how, CUDNN_ATTR_POINTWISE_MATH_PREC, options.compute);
    if (options.axis >= 0) b_.SetInts(how, CUDNN_ATTR_POINTWISE_AXIS, {options.axis});
    b_.Finish(how);
    AddOp(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, {{CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how},
                                                         {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x},
                                                         {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, options.b},
                                                         {CUDNN_ATTR_OPERATION_POINTWISE_TDESC, options.t},
                                                         {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y}});
  }
  Raw Graph() {
    Raw const graph = b_.Make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    b_.Set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(ops_.size()),
           ops_.data());
    return b_.Finish(graph);
  }

 private:
  // Of the descriptors that are there.
  void AddOp(cudnnBackendDescriptorType_t type,
             std::initializer_list<std::pair<cudnnBackendAttributeName_t, Raw>> parts) {
    Raw const op = ops_.emplace_back(b_.Make(type));
    for (const auto& [name, part] : parts) {
      if (part != nullptr) b_.SetDescriptor(op, name, part);
    }
    b_.Finish(op);
  }
  Raw MakeTensor(int64_t name, cudnnDataType_t type, const std::vector<int64_t>& dims,
                 const std::vector<int64_t>& strides, bool is_inner, bool is_number) {
    Raw const tensor = b_.Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    b_.SetType(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, type);
    b_.SetInts(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
    b_.SetInts(tensor, CUDNN_ATTR_TENSOR_STRIDES, strides);
    b_.SetInts(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, {name});
    b_.SetInts(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {is_number ? 4 : AttentionCall::kAlignment});
    b_.SetFlag(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_inner);
    b_.SetFlag(tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, is_number);
    return b_.Finish(tensor);
  }

  DescriptorBuilder& b_;
  std::vector<Raw> ops_;
  int64_t next_inner_ = kFirstInner;
};

std::vector<int64_t> Strides(const std::array<int64_t, 3>& strides, bool transposed) {
  if (transposed) return {strides[0], strides[1], 1, strides[2]};
  return {strides[0], strides[1], strides[2], 1};
}

Raw DescribeGraph(const AttentionCall& call, DescriptorBuilder& builder) {
  GraphBuilder g(builder);
  const cudnnDataType_t type = call.dtype == DType::kF16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16;
  const int64_t b = call.batch, h = call.heads, s = call.queries, t = call.keys;
  const std::vector<int64_t> score{b, h, s, t}, row{b, h, s, 1};
  Raw const q = g.Bound(kQ, type, {b, h, s, call.size}, Strides(call.q_strides, false));
  Raw const k = g.Bound(kK, type, {b, call.kv_heads, call.size, t}, Strides(call.k_strides, true));
  Raw const v = g.Bound(kV, type, {b, call.kv_heads, t, call.value_size}, Strides(call.v_strides, false));
  Raw const out = g.Bound(kOut, type, {b, h, s, call.value_size}, Strides(call.out_strides, false));

  Raw scores = g.Inner(score);
  g.Product(q, k, scores);
  const auto then = [&](cudnnPointwiseMode_t mode, const GraphBuilder::PointwiseOptions& options) {
    Raw const next = g.Inner(score);
    g.Pointwise(mode, scores, next, options);
    scores = next;
  };
  then(CUDNN_POINTWISE_MUL, {.b = g.Number(kScale)});
  if (call.has_bias()) {
    const int64_t matrix = s * t;
    Raw const bias =
        g.Bound(kBias, type, {call.bias_batch, call.bias_heads, s, t}, {call.bias_heads * matrix, matrix, t, 1});
    then(CUDNN_POINTWISE_ADD, {.b = bias});
  }
  if (call.causal) {
    Raw const rows = g.Inner(score, CUDNN_DATA_INT32), columns = g.Inner(score, CUDNN_DATA_INT32);
    g.Pointwise(CUDNN_POINTWISE_GEN_INDEX, scores, rows, {.compute = CUDNN_DATA_INT32, .axis = 2});
    g.Pointwise(CUDNN_POINTWISE_GEN_INDEX, scores, columns, {.compute = CUDNN_DATA_INT32, .axis = 3});
    Raw const seen = g.Inner(score, CUDNN_DATA_BOOLEAN);
    g.Pointwise(CUDNN_POINTWISE_CMP_GE, rows, seen, {.b = columns, .compute = CUDNN_DATA_BOOLEAN});
    then(CUDNN_POINTWISE_BINARY_SELECT, {.b = g.Number(kMasked), .t = seen});
  }
  Raw const most = g.Inner(row), sum = g.Inner(row), log_sum = g.Inner(row);
  g.Reduce(CUDNN_REDUCE_TENSOR_MAX, scores, most);
  then(CUDNN_POINTWISE_SUB, {.b = most});
  then(CUDNN_POINTWISE_EXP, {});
  g.Reduce(CUDNN_REDUCE_TENSOR_ADD, scores, sum);
  g.Pointwise(CUDNN_POINTWISE_LOG, sum, log_sum, {});
  g.Pointwise(CUDNN_POINTWISE_ADD, most, g.Bound(kSums, CUDNN_DATA_FLOAT, row, {h * s, s, 1, 1}), {.b = log_sum});
  Raw const weights = g.Inner(score, type);
  g.Pointwise(CUDNN_POINTWISE_DIV, scores, weights, {.b = sum});
  g.Product(weights, v, out);
  return g.Graph();
}

// The engines that the heuristics name, the best first.
std::vector<Raw> FindEngines(const AttentionCall& call, Raw device, DescriptorBuilder& builder) {
  Raw const graph = DescribeGraph(call, builder);
  Raw const heuristics = builder.Make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  builder.SetDescriptor(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  builder.Set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  builder.SetDescriptor(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device);
  builder.Finish(heuristics);
  int64_t count = 0;
  builder.Get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, count, nullptr);
  std::vector<Raw> engines;
  for (int64_t i = 0; i < count; ++i) engines.push_back(builder.Make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
  int64_t found = 0;
  builder.Get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, found, engines.data());
  engines.resize(builder.status().ok() ? static_cast<size_t>(found) : 0);
  return engines;
}

bool IsAligned(const std::byte* data) {
  return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(AttentionCall::kAlignment) == 0;
}

int64_t SumsBytes(const AttentionCall& call) {
  return call.batch * call.heads * call.queries * static_cast<int64_t>(sizeof(float));
}

std::vector<int64_t> KeyOf(const AttentionCall& call) {
  std::vector<int64_t> key{static_cast<int64_t>(call.dtype),
                           call.batch,
                           call.heads,
                           call.kv_heads,
                           call.queries,
                           call.keys,
                           call.size,
                           call.value_size,
                           call.causal,
                           call.bias_batch,
                           call.has_bias() ? call.bias_heads : 0};
  for (const auto* strides : {&call.q_strides, &call.k_strides, &call.v_strides, &call.out_strides})
    key.insert(key.end(), strides->begin(), strides->end());
  return key;
}

}  // namespace

struct AttentionPlan {
  DescriptorBuilder builder;  // owns what the plan refers to
  Descriptor plan;
  int64_t workspace = 0;
};

namespace {

// The sums stand behind the engine's own workspace.
int64_t SumsOffset(const AttentionPlan& plan) {
  constexpr int64_t kBetween = 256;
  return (plan.workspace + kBetween - 1) / kBetween * kBetween;
}

// Of the library that runs, which may be another one than this was built with. NVIDIA's own front end takes no fused
// attention of 16-bit floats from 9.10.0 and 9.10.1, and before 9.10 none of a single query with a mask in order.
bool IsTrusted(const AttentionCall& call) {
  const size_t version = cudnnGetVersion();
  if (version < 90800 || version == 91000 || version == 91001) return false;
  return version >= 91000 || !call.causal || call.queries > 1;
}

// nullptr: the library has no engine that is ready to run.
std::unique_ptr<AttentionPlan> MakePlan(const AttentionCall& call, cudnnHandle_t handle) {
  auto made = std::make_unique<AttentionPlan>();
  Raw const device = made->builder.Make(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  made->builder.Set(device, CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  made->builder.Finish(device);
  for (Raw engine : FindEngines(call, device, made->builder)) {
    Raw raw = nullptr;
    if (cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &raw) != CUDNN_STATUS_SUCCESS) break;
    Descriptor plan(raw);
    Raw given = device;
    int64_t count = 0;
    const auto ok = [](cudnnStatus_t status) { return status == CUDNN_STATUS_SUCCESS; };
    if (ok(cudnnBackendSetAttribute(raw, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                    &engine)) &&
        ok(cudnnBackendSetAttribute(raw, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                    &given)) &&
        ok(cudnnBackendFinalize(raw)) &&
        ok(cudnnBackendGetAttribute(raw, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count,
                                    &made->workspace)) &&
        made->workspace <= static_cast<int64_t>(Dnn::kMostWorkspace)) {
      made->plan = std::move(plan);
      return made;
    }
  }
  return nullptr;
}

}  // namespace

Result<DnnAttention::Entry*> DnnAttention::Find(const AttentionCall& call, cudaStream_t stream) {
  const auto [it, added] = plans_.try_emplace(KeyOf(call));
  if (added && IsTrusted(call)) {
    SBP_ASSIGN_OR_RETURN(cudnnHandle_t const handle, dnn_.Handle(stream));
    it->second = MakePlan(call, handle);
  }
  return &it->second;
}

Result<std::byte*> DnnAttention::Room(const AttentionCall& call, const AttentionPlan& plan) {
  return dnn_.Workspace(static_cast<size_t>(SumsOffset(plan) + SumsBytes(call)));
}

Result<bool> DnnAttention::Has(const AttentionCall& call, cudaStream_t stream) {
  SBP_ASSIGN_OR_RETURN(const Entry* const entry, Find(call, stream));
  if (*entry == nullptr) return false;
  SBP_RETURN_IF_ERROR(Room(call, **entry).status());
  return true;
}

Result<bool> DnnAttention::Run(const AttentionCall& call, cudaStream_t stream) {
  for (const std::byte* data : {call.q, call.k, call.v, call.bias, static_cast<const std::byte*>(call.out)}) {
    if (!IsAligned(data)) return false;
  }
  SBP_ASSIGN_OR_RETURN(Entry* const entry, Find(call, stream));
  if (*entry == nullptr) return false;
  const AttentionPlan& plan = **entry;
  SBP_ASSIGN_OR_RETURN(std::byte * workspace, Room(call, plan));

  // As the library's front end gives it.
  using Limits = std::numeric_limits<float>;
  float scale = static_cast<float>(call.scale),
        masked = cudnnGetVersion() >= 91000 ? -Limits::infinity() : Limits::lowest();
  std::vector<int64_t> names{kQ, kK, kV, kOut, kSums, kScale};
  const auto pointer = [](const void* data) { return const_cast<void*>(data); };
  std::vector<void*> data{pointer(call.q), pointer(call.k), pointer(call.v), call.out, workspace + SumsOffset(plan),
                          &scale};
  if (call.causal) {
    names.push_back(kMasked);
    data.push_back(&masked);
  }
  if (call.has_bias()) {
    names.push_back(kBias);
    data.push_back(pointer(call.bias));
  }
  DescriptorBuilder builder;
  Raw const pack = builder.Make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  void* memory = workspace;
  builder.SetInts(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, names);
  builder.Set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<int64_t>(data.size()),
              data.data());
  builder.Set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &memory);
  builder.Finish(pack);
  SBP_RETURN_IF_ERROR(builder.status());
  SBP_ASSIGN_OR_RETURN(cudnnHandle_t const handle, dnn_.Handle(stream));
  const cudnnStatus_t done = cudnnBackendExecute(handle, plan.plan.get(), pack);
  if (IsNotSupported(done)) {  // the heuristics thought otherwise
    entry->reset();
    return false;
  }
  SBP_RETURN_IF_ERROR(Checked(done, "fused attention"));
  return true;
}

Result<int64_t> CountAttentionEngines(const AttentionCall& call, const std::string& device_properties) {
  DescriptorBuilder builder;
  Raw const device = builder.Make(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  builder.Set(device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
              static_cast<int64_t>(device_properties.size() + 1), device_properties.c_str());
  builder.Finish(device);
  const std::vector<Raw> engines = FindEngines(call, device, builder);
  SBP_RETURN_IF_ERROR(builder.status());
  return static_cast<int64_t>(engines.size());
}

#else

struct AttentionPlan {};
Result<bool> DnnAttention::Run(const AttentionCall&, cudaStream_t) { return false; }
Result<bool> DnnAttention::Has(const AttentionCall&, cudaStream_t) { return false; }
Result<int64_t> CountAttentionEngines(const AttentionCall&, const std::string&) { return int64_t{0}; }

#endif

DnnAttention::DnnAttention(Dnn& dnn) : dnn_(dnn) {}
DnnAttention::~DnnAttention() = default;

}  // namespace sbp::gpu::cuda
