#include "runtime/execute/local_program.h"

#include <algorithm>

#include "base/dtype.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/number_text.h"
#include "base/text.h"
#include "decompose/decompose.h"
#include "decompose/primitives.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "memory/memory.h"
#include "physical/physical.h"
#include "plan/physical_plan.h"
#include "rule/factor_map.h"
#include "rule/in_place.h"
#include "rule/op_query.h"
#include "runtime/execute/blame_rule.h"
#include "runtime/execute/local_layouts.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

constexpr int kMaxDepth = 16;  // of expansions within expansions

// Builds the steps of one op.
class ProgramBuilder {
 public:
  // `without_declining`: of kernels that always run.
  ProgramBuilder(const RuleSet& rules, const Mesh& mesh, std::span<const KernelRow> gpu_kernels,
                 const LocalProgram* like, bool without_declining = false)
      : rules_(rules), mesh_(mesh), gpu_kernels_(gpu_kernels), like_(like), without_declining_(without_declining) {}

  Result<LocalProgram> Run(const OpForm& form, const OpQuery& query) {
    SBP_ASSIGN_OR_RETURN(const RuleInstanceRef instance, rules_.Instantiate(query));
    std::vector<int32_t> inputs, outputs;
    for (size_t i = 0; i < query.operands.size(); ++i) {
      const bool present = query.operands[i].present;
      inputs.push_back(present ? static_cast<int32_t>(program_.slots.size()) : -1);
      program_.slots.push_back({present ? query.operands[i].type : TensorType{}, LayoutAt(form.signature.inputs, i)});
    }
    program_.num_operands = static_cast<uint32_t>(inputs.size());
    program_.halos = like_ != nullptr ? like_->halos : HalosOf(instance, form.signature, mesh_);
    for (size_t r = 0; r < query.wanted.size(); ++r) {
      outputs.push_back(query.wanted[r] ? static_cast<int32_t>(program_.slots.size()) : -1);
      program_.slots.push_back(
          {query.wanted[r] ? instance->results[r] : TensorType{}, LayoutAt(form.signature.outputs, r)});
    }
    program_.num_results = static_cast<uint32_t>(outputs.size());
    SBP_RETURN_IF_ERROR(Emit(query, form.attributes, inputs, outputs, 0));
    program_.data_dependent = instance->bounded || !instance->computed_sizes.empty();
    if (!program_.data_dependent) TakeTransposesIntoProducts();
    PlaceWorkspace();
    program_.in_place = InPlaceResults(program_);
    for (LocalSlot& slot : program_.slots) {
      if (slot.constant == nullptr) continue;
      SBP_ASSIGN_OR_RETURN(slot.value, MakeTensor(*slot.constant));
    }
    return std::move(program_);
  }

 private:
  // On an axis of one device every layout is a copy.
  NdSbp LayoutAt(const std::vector<NdSbp>& layouts, size_t i) const {
    NdSbp layout = i < layouts.size() && layouts[i].size() == mesh_.num_axes() ? layouts[i] : NdSbp(mesh_.num_axes());
    for (int axis = 0; axis < mesh_.num_axes(); ++axis) {
      if (mesh_.size(axis) == 1) layout[axis] = Sbp::Broadcast();
    }
    return layout;
  }

  int32_t AddSlot(TensorType type, const NdSbp& layout, LiteralRef constant = nullptr) {
    program_.slots.push_back({std::move(type), layout, std::move(constant)});
    return static_cast<int32_t>(program_.slots.size() - 1);
  }

  DType DecidingTypeOf(const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs) const {
    for (const std::vector<int32_t>* list : {&inputs, &outputs}) {
      for (const int32_t slot : *list) {
        if (slot >= 0) return program_.slots[slot].type.dtype;
      }
    }
    return DType::kUndefined;
  }

  Status Emit(const OpQuery& query, const AttributesRef& attributes, const std::vector<int32_t>& inputs,
              const std::vector<int32_t>& outputs, int depth) {
    const DType type = DecidingTypeOf(inputs, outputs);
    if (!gpu_kernels_.empty()) return EmitForGpu(query, attributes, inputs, outputs, type, depth);
    if (const KernelRow* kernel = FindKernel(query.type, type)) {
      AddKernel(kernel, query, attributes, inputs, outputs);
      return OkStatus();
    }
    return Expand(query, inputs, outputs, type, depth);
  }

  void AddKernel(const KernelRow* kernel, const OpQuery& query, const AttributesRef& attributes,
                 const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs) {
    LocalStep step;
    step.kernel = kernel;
    step.on_host = !gpu_kernels_.empty() && kernel->device == KernelDevice::kCpu;
    step.op_type = query.type;
    step.attributes = attributes;
    step.inputs = inputs;
    step.outputs = outputs;
    for (size_t i = 0; i < inputs.size(); ++i) step.reads_value.push_back(rules_.ReadsValue(query.type, i));
    if (MakesResultOfOperand(step)) {
      const Result<RuleInstanceRef> instance = rules_.Instantiate(query);
      if (instance.ok()) step.pairs = InPlacePairs(**instance);
    }
    const PrimitiveRow* primitive = FindPrimitive(query.type);
    program_.draws_random |= primitive != nullptr && primitive->kind == PrimitiveClass::kRandom;
    program_.steps.push_back(std::move(step));
  }

  bool MakesResultOfOperand(const LocalStep& step) const {
    const auto operands = static_cast<int32_t>(program_.num_operands);
    const int32_t results = operands + static_cast<int32_t>(program_.num_results);
    return std::ranges::any_of(step.inputs, [&](int32_t slot) { return slot >= 0 && slot < operands; }) &&
           std::ranges::any_of(step.outputs, [&](int32_t slot) { return slot >= operands && slot < results; });
  }

  Status EmitForGpu(const OpQuery& query, const AttributesRef& attributes, const std::vector<int32_t>& inputs,
                    const std::vector<int32_t>& outputs, DType type, int depth) {
    const auto row = std::find_if(gpu_kernels_.begin(), gpu_kernels_.end(), [&](const KernelRow& r) {
      return r.op == query.type && r.device == KernelDevice::kCuda && r.types.has(type) &&
             !(without_declining_ && r.may_decline());
    });
    if (row != gpu_kernels_.end()) {
      AddKernel(&*row, query, attributes, inputs, outputs);
      return OkStatus();
    }
    const KernelRow* on_host = FindKernel(query.type, type);
    if (on_host == nullptr) return Expand(query, inputs, outputs, type, depth);
    const size_t number = program_.inner_layouts.size();
    const bool could_not =
        like_ != nullptr && number < like_->inner_layouts.size() && like_->inner_layouts[number].empty();
    if (HasExpansion(query.type, rules_)) {
      LocalProgram before = program_;
      if (!could_not && Expand(query, inputs, outputs, type, depth).ok()) return OkStatus();
      program_ = std::move(before);
      if (mesh_.num_axes() > 0) program_.inner_layouts.emplace_back();
    }
    AddKernel(on_host, query, attributes, inputs, outputs);
    return OkStatus();
  }

  Status Expand(const OpQuery& query, const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs,
                DType type, int depth) {
    if (!HasExpansion(query.type, rules_)) {
      return RunFailed(StrCat("no kernel and no expansion runs ", query.type, " on ", DTypeName(type)));
    }
    if (depth == kMaxDepth) {
      return ExpansionTooLarge(query.type, rules_, StrCat("does not end: more than ", kMaxDepth, " within each other"));
    }
    if (depth == 0) {
      left_ = budget_ = ExpansionBudgetOf(query.type, rules_);
      outer_ = query.type;
    }
    Result<Graph> graph = ExpandOp(query, rules_);
    if (!graph.ok()) return graph.status().WithContext(StrCat("expanding ", query.type));
    left_ -= static_cast<int64_t>(graph->ops.size()) + 1;
    if (left_ < 0) return ExpansionTooLarge(outer_, rules_, StrCat("is more than ", budget_, " ops"));
    return EmitExpansion(*graph, query, inputs, outputs, depth);
  }

  Status EmitExpansion(const Graph& graph, const OpQuery& query, const std::vector<int32_t>& inputs,
                       const std::vector<int32_t>& outputs, int depth) {
    std::vector<int32_t> slot_of(graph.tensors.size(), -1), present, wanted;
    for (const int32_t slot : inputs) {
      if (slot >= 0) present.push_back(slot);
    }
    for (const int32_t slot : outputs) {
      if (slot >= 0) wanted.push_back(slot);
    }
    if (present.size() != graph.inputs.size() || wanted.size() != graph.outputs.size()) {
      return Defect(StrCat("the expansion of ", query.type, " has ", graph.inputs.size(), " inputs and ",
                           graph.outputs.size(), " outputs; expected ", present.size(), " and ", wanted.size()));
    }
    for (size_t i = 0; i < present.size(); ++i) slot_of[graph.inputs[i].index()] = present[i];
    const std::vector<NdSbp> planned = LayoutsOf(present), planned_results = LayoutsOf(wanted);
    std::vector<NdSbp> given = planned, needed = planned_results;
    TakeSumsAsWhole(given, needed);
    SetLayouts(present, given);
    SetLayouts(wanted, needed);
    std::vector<Signature> signatures;
    if (mesh_.num_axes() > 0) {
      const size_t number = program_.inner_layouts.size();
      if (like_ != nullptr && number < like_->inner_layouts.size() &&
          like_->inner_layouts[number].size() == graph.ops.size()) {
        signatures = like_->inner_layouts[number];
      } else {
        auto laid_out = LayOutExpansion(graph, rules_, mesh_, {given, HalosOfSlots(present)}, needed);
        if (!laid_out.ok()) {
          std::vector<std::string> types = {std::string(query.type)};
          for (const Op& op : graph.ops) types.push_back(graph.type_of(op));
          return BlameUserRule(laid_out.status(), rules_, types).WithContext(types[0]);
        }
        signatures = *std::move(laid_out);
      }
      program_.inner_layouts.push_back(signatures);
    }
    for (size_t o = 0; o < graph.ops.size(); ++o) {
      const Signature& signature = signatures.empty() ? Signature{} : signatures[o];
      SBP_RETURN_IF_ERROR(EmitInner(graph, graph.ops[o], signature, wanted, slot_of, depth));
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      const int32_t from = SlotOf(graph, graph.outputs[i], slot_of);
      if (from != wanted[i]) AddChange(from, wanted[i]);
    }
    SetLayouts(present, planned);
    SetLayouts(wanted, planned_results);
    return OkStatus();
  }

  std::vector<NdSbp> LayoutsOf(const std::vector<int32_t>& slots) const {
    std::vector<NdSbp> layouts;
    for (const int32_t slot : slots) layouts.push_back(program_.slots[slot].layout);
    return layouts;
  }
  std::vector<HaloWidths> HalosOfSlots(const std::vector<int32_t>& slots) const {
    std::vector<HaloWidths> halos;
    for (const int32_t slot : slots) {
      halos.push_back(slot < static_cast<int32_t>(program_.halos.size()) ? program_.halos[slot] : HaloWidths());
    }
    return halos;
  }
  void SetLayouts(const std::vector<int32_t>& slots, const std::vector<NdSbp>& layouts) {
    for (size_t i = 0; i < slots.size(); ++i) program_.slots[slots[i]].layout = layouts[i];
  }

  // Along an axis on which nothing is split and operands are partial, each device runs the op on its own values as if
  // they were whole: that is what the rule says of partial values, whatever the expansion is made of.
  void TakeSumsAsWhole(std::vector<NdSbp>& given, std::vector<NdSbp>& needed) const {
    for (int axis = 0; axis < mesh_.num_axes(); ++axis) {
      const auto split = [&](const NdSbp& layout) { return layout[axis].is_split(); };
      const auto partial = [&](const NdSbp& layout) { return layout[axis].is_partial(); };
      if (std::any_of(given.begin(), given.end(), split) || std::any_of(needed.begin(), needed.end(), split) ||
          std::none_of(given.begin(), given.end(), partial)) {
        continue;
      }
      for (std::vector<NdSbp>* layouts : {&given, &needed}) {
        for (NdSbp& layout : *layouts) layout[axis] = Sbp::Broadcast();
      }
    }
  }

  Status EmitInner(const Graph& graph, const Op& op, const Signature& signature, const std::vector<int32_t>& wanted,
                   std::vector<int32_t>& slot_of, int depth) {
    const OpQuery query = QueryFor(graph, rules_, op);
    std::vector<int32_t> inputs, outputs;
    const std::vector<TensorId> operands = graph.OperandsOf(op);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].valid()) {
        inputs.push_back(-1);
        continue;
      }
      const int32_t slot = SlotOf(graph, operands[i], slot_of);
      inputs.push_back(InLayout(slot, LayoutAt(signature.inputs, i)));
    }
    for (size_t r = 0; r < op.outputs.size(); ++r) {
      if (!op.outputs[r].valid()) {
        outputs.push_back(-1);
        continue;
      }
      const NdSbp layout = LayoutAt(signature.outputs, r);
      int32_t slot = -1;
      // What is a result already, in its layout, is written right there.
      for (size_t i = 0; i < graph.outputs.size() && slot < 0; ++i) {
        const bool is_result = graph.outputs[i] == op.outputs[r] && program_.slots[wanted[i]].layout == layout;
        if (is_result) slot = wanted[i];
      }
      if (slot < 0) slot = AddSlot(graph.tensor(op.outputs[r]).type, layout);
      slot_of[op.outputs[r].index()] = slot;
      outputs.push_back(slot);
    }
    return Emit(query, op.attributes, inputs, outputs, depth + 1);
  }

  // The slot of an inner tensor; constants get theirs when first met.
  int32_t SlotOf(const Graph& graph, TensorId id, std::vector<int32_t>& slot_of) {
    int32_t& slot = slot_of[id.index()];
    if (slot < 0) slot = AddSlot(graph.tensor(id).type, NdSbp(mesh_.num_axes()), graph.tensor(id).literal);
    return slot;
  }

  int32_t InLayout(int32_t slot, const NdSbp& layout) {
    if (program_.slots[slot].layout == layout) return slot;
    const int32_t changed = AddSlot(program_.slots[slot].type, layout);
    AddChange(slot, changed);
    return changed;
  }

  void AddChange(int32_t from, int32_t to) {
    LocalStep step;
    step.inputs = {from};
    step.outputs = {to};
    step.from = program_.slots[from].layout;
    step.to = program_.slots[to].layout;
    program_.steps.push_back(std::move(step));
  }

  // A product reads matrices that lie transposed as well: a Transpose of which it is the only reader is left out.
  void TakeTransposesIntoProducts() {
    std::vector<int> readers(program_.slots.size(), 0);
    std::vector<int32_t> writer(program_.slots.size(), -1);
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      for (const int32_t slot : program_.steps[s].inputs) {
        if (slot >= 0) ++readers[slot];
      }
      for (const int32_t slot : program_.steps[s].outputs) {
        if (slot >= 0) writer[slot] = static_cast<int32_t>(s);
      }
    }
    std::vector<bool> left_out(program_.steps.size());
    for (LocalStep& step : program_.steps) {
      if (step.kernel == nullptr || step.op_type != "MatMul") continue;
      for (const size_t side : {0, 1}) {
        int32_t& slot = step.inputs[side];
        const bool inner = slot >= static_cast<int32_t>(program_.num_operands + program_.num_results);
        if (!inner || readers[slot] != 1 || writer[slot] < 0) continue;
        const LocalStep& before = program_.steps[static_cast<size_t>(writer[slot])];
        if (!SwapsMatrices(before) || before.kernel->device != step.kernel->device) continue;
        left_out[static_cast<size_t>(writer[slot])] = true;
        slot = before.inputs[0];
        Attributes attributes = *step.attributes;
        attributes.Set(side == 0 ? "transA" : "transB", int64_t{1});
        step.attributes = std::make_shared<const Attributes>(std::move(attributes));
      }
    }
    size_t s = 0;
    std::erase_if(program_.steps, [&](const LocalStep&) { return left_out[s++]; });
  }

  // Is it a Transpose of the last two dimensions alone?
  bool SwapsMatrices(const LocalStep& step) const {
    if (step.kernel == nullptr || step.op_type != "Transpose") return false;
    const size_t rank = program_.slots[step.inputs[0]].type.shape.size();
    const std::vector<int64_t>* perm = step.attributes->Ints("perm");
    if (perm == nullptr) return rank == 2;
    if (rank < 2 || perm->size() != rank) return false;
    for (size_t d = 0; d + 2 < rank; ++d) {
      if ((*perm)[d] != static_cast<int64_t>(d)) return false;
    }
    return (*perm)[rank - 1] == static_cast<int64_t>(rank) - 2;
  }

  // Offsets of what lives only within the program, as small as first-fit makes it.
  void PlaceWorkspace() {
    std::vector<Register> registers;
    std::vector<int32_t> owners;
    std::vector<int32_t> index(program_.slots.size(), -1);
    for (uint32_t s = 0; s < program_.steps.size(); ++s) {
      for (const std::vector<int32_t>* list : {&program_.steps[s].outputs, &program_.steps[s].inputs}) {
        for (const int32_t slot : *list) {
          if (slot < static_cast<int32_t>(program_.num_operands + program_.num_results)) continue;
          LocalSlot& held = program_.slots[slot];
          if (held.constant != nullptr) continue;
          if (index[slot] < 0) {
            index[slot] = static_cast<int32_t>(registers.size());
            owners.push_back(slot);
            held.bytes = LocalBytes(held.type, held.layout, mesh_);
            Register r;
            r.bytes = held.bytes;
            r.first = s;
            registers.push_back(r);
          }
          registers[index[slot]].last = s;
        }
      }
    }
    program_.workspace_bytes = PlaceFirstFit(program_.steps.size(), registers);
    for (size_t i = 0; i < registers.size(); ++i) program_.slots[owners[i]].offset = registers[i].offset;
  }

  const RuleSet& rules_;
  const Mesh& mesh_;
  const std::span<const KernelRow> gpu_kernels_;
  const LocalProgram* like_;
  const bool without_declining_;
  std::string outer_;              // the op's type
  int64_t left_ = 0, budget_ = 0;  // ops that its expansion may still become, and in all
  LocalProgram program_;
};

std::string KeyOf(const OpForm& form, const std::vector<TensorType>& operands, const std::vector<LiteralRef>& values,
                  const LocalProgram* like, const RuleSet& rules) {
  std::string key = StrCat(form.type, " ", like, " ", reinterpret_cast<uintptr_t>(form.attributes.get()), " ");
  for (const NdSbp& layout : form.signature.inputs) key += ToString(layout);
  key += ">";
  for (const NdSbp& layout : form.signature.outputs) key += ToString(layout);
  for (size_t i = 0; i < operands.size(); ++i) {
    key += StrCat(";", operands[i].dtype == DType::kUndefined ? "-" : ToString(operands[i]));
    if (values[i] != nullptr && rules.ReadsValue(form.type, i)) key += ToString(*values[i], kMaxLiteralElements);
  }
  for (const bool wanted : form.wanted) key += wanted ? '1' : '0';
  for (const TensorType& type : form.stated) key += ToString(type);
  return key;
}

}  // namespace

Result<LocalProgramRef> LocalCompiler::Compile(const OpForm& form, const std::vector<TensorType>& operands,
                                               const std::vector<LiteralRef>& values, const LocalProgram* like) {
  const std::string key = KeyOf(form, operands, values, like, rules_);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto known = programs_.find(key);
    if (known != programs_.end()) return known->second;
  }
  OpQuery query;
  query.type = form.type;
  query.attributes = form.attributes.get();
  query.has_subgraphs = HasSubgraph(*form.attributes);
  query.wanted = form.wanted;
  query.stated = form.stated;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool present = operands[i].dtype != DType::kUndefined;
    query.operands.push_back({present, operands[i], values[i].get()});
  }
  SBP_ASSIGN_OR_RETURN(LocalProgram program, ProgramBuilder(rules_, mesh_, gpu_kernels_, like).Run(form, query));
  if (std::any_of(program.steps.begin(), program.steps.end(),
                  [](const LocalStep& step) { return step.kernel != nullptr && step.kernel->may_decline(); })) {
    const LocalProgram* const other_like = like != nullptr ? like->if_declined.get() : nullptr;
    SBP_ASSIGN_OR_RETURN(LocalProgram other,
                         ProgramBuilder(rules_, mesh_, gpu_kernels_, other_like, true).Run(form, query));
    program.if_declined = std::make_shared<const LocalProgram>(std::move(other));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  kept_.push_back(form.attributes);
  return programs_.try_emplace(key, std::make_shared<const LocalProgram>(std::move(program))).first->second;
}

std::string Dump(const LocalProgram& program) {
  PlainStream out;
  for (size_t s = 0; s < program.slots.size(); ++s) {
    const LocalSlot& slot = program.slots[s];
    if (slot.type.dtype == DType::kUndefined) continue;
    out << "%" << s << " " << ToString(slot.type) << " " << ToString(slot.layout);
    if (slot.constant != nullptr) out << " = " << ToString(*slot.constant);
    out << "\n";
  }
  const auto list = [](const std::vector<int32_t>& slots) {
    std::vector<std::string> names;
    for (const int32_t slot : slots) names.push_back(slot < 0 ? "-" : StrCat("%", slot));
    return Join(names, ", ");
  };
  for (const LocalStep& step : program.steps) {
    out << list(step.outputs) << " = " << (step.kernel == nullptr ? "change" : step.op_type) << "(" << list(step.inputs)
        << (step.on_host ? ") on the host" : ")") << "\n";
  }
  if (program.if_declined != nullptr) out << "if a kernel declines:\n" << Dump(*program.if_declined);
  return out.str();
}

}  // namespace sbp
