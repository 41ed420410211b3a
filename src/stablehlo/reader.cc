#include "stablehlo/reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/text.h"
#include "graph/builder.h"
#include "graph/tensor_type.h"
#include "sbp/sbp.h"
#include "stablehlo/cursor.h"
#include "stablehlo/forms.h"
#include "stablehlo/marks.h"
#include "stablehlo/shardings.h"
#include "stablehlo/syntax.h"
#include "stablehlo/trace.h"
#include "stablehlo/values.h"

namespace sbp {
namespace stablehlo {
namespace {

constexpr int kMaxCallDepth = 32, kMaxLocationDepth = 16;
constexpr int64_t kMaxOps = 1000000;  // with functions that are called again

// "params['w'][0]" -> "params.w.0".
std::string Dotted(std::string_view text) {
  std::string name;
  for (const char c : text) {
    if (c == '[' || c == '.') {
      if (!name.empty() && name.back() != '.') name += '.';
    } else if (c != ']' && c != '\'' && c != '"') {
      name += c;
    }
  }
  return name;
}

using Frame = std::map<std::string_view, std::vector<ValueRef>>;

class FunctionReader {
 public:
  explicit FunctionReader(const Module& module)
      : module_(module), writer_(builder_), place_(module.text), marks_(module.text) {}

  Result<Graph> Run(std::string_view where) {
    builder_.graph().metadata.emplace_back("producer_name", "stablehlo");
    for (const Region& region : module_.top.regions) {
      for (const Operation& op : region.operations) {
        if (op.name == "func.func") {
          const std::string name = Text(op, "sym_name");
          functions_[name] = &op;
          if (name != "main") marks_.AddInner(op);
        }
        if (op.name == "sdy.mesh") marks_.AddMesh(Text(op, "sym_name"), op);
      }
    }
    const auto main = functions_.find("main");
    if (main == functions_.end() || main->second->regions.size() != 1) return BadInput("1:1: expected a function main");
    const Region& body = main->second->regions[0];
    Frame frame;
    for (size_t i = 0; i < body.arguments.size(); ++i) {
      SBP_RETURN_IF_ERROR(Input(body.arguments[i], frame));
      marks_.AddOf(*main->second, "arg_attrs", i, frame[body.arguments[i].name].front()->tensor);
    }
    std::vector<ValueRef> results;
    SBP_RETURN_IF_ERROR(Body(body, frame, results, 0));
    Outputs(*main->second, results);
    return builder_.Build(where);
  }

  // What each op that is read becomes is added there; the module must outlive it.
  void TraceTo(std::vector<TracedOp>* trace) { trace_ = trace; }
  const std::vector<std::string>& arguments() const { return arguments_; }
  const std::vector<std::string>& outputs() const { return outputs_; }

  Shardings TakeShardings(std::string_view where) { return marks_.Take(where); }

 private:
  static std::string Text(const Operation& op, std::string_view name) {
    const auto attribute = op.attributes.find(name);
    return attribute == op.attributes.end() ? "" : attribute->second.text;
  }

  const Location& Resolve(const Location& location) const {
    const Location* at = &location;
    for (int i = 0; i < kMaxLocationDepth && !at->alias.empty(); ++i) {
      const auto found = module_.locations.find(at->alias);
      if (found == module_.locations.end()) break;
      at = &found->second;
    }
    return *at;
  }

  Status CheckType(const Type& type, size_t offset) const {
    if (type.tensor.dtype != DType::kUndefined && type.tensor.is_static() && type.tensor.rank() <= kMaxRank) {
      return OkStatus();
    }
    return place_.ErrorAt(offset,
                          StrCat("values of type ", type.text, " are not read: expected a tensor of known sizes"));
  }

  Status Input(const BlockArgument& argument, Frame& frame) {
    const auto offset = static_cast<size_t>(argument.name.data() - module_.text.data());
    SBP_RETURN_IF_ERROR(CheckType(argument.type, offset));
    const std::string& given = Resolve(argument.location).name;
    const std::string name = writer_.NewName(given.empty() ? argument.name.substr(1) : std::string_view(Dotted(given)));
    const bool is_part = given.find('[') != std::string::npos;
    ValueRef value = std::make_shared<Value>();
    value->type = argument.type.tensor;
    value->tensor = name;
    arguments_.push_back(name);
    if (is_part && IsFloat(value->type.dtype)) {
      builder_.AddParameter(name, value->type);
    } else {
      builder_.AddInput(name, value->type);
    }
    frame[argument.name] = {std::move(value)};
    return OkStatus();
  }

  // Scope, name and line of Python, from the location.
  void NotePlace(const Operation& op) {
    const Location* at = &Resolve(op.location);
    std::vector<std::string> levels;
    for (const std::string_view level : Split(at->name, '/')) {
      std::string_view inner = level;
      for (const std::string_view wrap : {"transpose(", "jvp(", "vmap(", "checkpoint("}) {
        if (inner.starts_with(wrap) && inner.ends_with(')')) {
          inner = inner.substr(wrap.size(), inner.size() - wrap.size() - 1);
        }
      }
      if (!inner.empty() && !inner.starts_with("jit(")) levels.emplace_back(inner);
    }
    std::string name = levels.empty() ? op.name.substr(op.name.find('.') + 1) : levels.back();
    if (!levels.empty()) levels.pop_back();
    const std::string scope = Join(levels, "/");
    if (!scope.empty()) name = StrCat(scope, "/", name);
    std::string source;
    for (int i = 0; i < kMaxLocationDepth && !at->parts.empty() && at->file.empty(); ++i) at = &Resolve(at->parts[0]);
    if (!at->file.empty()) source = StrCat(at->file.substr(at->file.rfind('/') + 1), ":", at->line);
    writer_.SetPlace(scope, name, source);
  }

  Status Body(const Region& body, Frame& frame, std::vector<ValueRef>& results, int depth) {
    if (depth > kMaxCallDepth) return BadInput("functions call each other too deeply");
    for (const Operation& op : body.operations) {
      if (++ops_ > kMaxOps) return place_.ErrorAt(op.offset, "functions make too many ops");
      std::vector<ValueRef> operands;
      for (const ValueName& name : op.operands) {
        const auto value = frame.find(name.name);
        if (value == frame.end() || name.index < 0 || name.index >= static_cast<int64_t>(value->second.size())) {
          return place_.ErrorAt(name.offset, StrCat(name.name, " is not defined above"));
        }
        operands.push_back(value->second[static_cast<size_t>(name.index)]);
      }
      if (op.name == "func.return") {
        results = std::move(operands);
        return OkStatus();
      }
      SBP_RETURN_IF_ERROR(ReadOp(op, operands, frame, depth));
    }
    return BadInput("a function has no func.return");
  }

  Status ReadOp(const Operation& op, const std::vector<ValueRef>& operands, Frame& frame, int depth) {
    if (op.name == "stablehlo.while" || op.name == "stablehlo.case" || op.name == "stablehlo.if") {
      return place_.ErrorAt(op.offset, StrCat(op.name,
                                              " is not read: write loops without lax.scan, fori_loop and "
                                              "while_loop (scan has unroll=True), and branches with jnp.where"));
    }
    if (op.name == "sdy.manual_computation") {
      return place_.ErrorAt(op.offset,
                            StrCat(op.name,
                                   " is not read: lower the function without jax.shard_map, whose body is that "
                                   "of one device"));
    }
    if (op.name.starts_with("stablehlo.rng")) {
      return place_.ErrorAt(op.offset, StrCat(op.name, " is not read: pass random numbers as arguments"));
    }
    std::vector<ValueRef> values;
    std::vector<TensorType> types;
    for (const Type& type : op.result_types) {
      SBP_RETURN_IF_ERROR(CheckType(type, op.offset));
      types.push_back(type.tensor);
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      if (op.operand_types[i].tensor == operands[i]->type) continue;
      return place_.ErrorAt(
          op.offset, StrCat("operand ", i, " is ", ToString(operands[i]->type), ", not ", op.operand_types[i].text));
    }
    if (op.name == "func.call") {
      const auto callee = functions_.find(Text(op, "callee"));
      const bool known = callee != functions_.end() && callee->second->regions.size() == 1 &&
                         callee->second->regions[0].arguments.size() == operands.size();
      if (!known)
        return place_.ErrorAt(op.offset, StrCat("no function @", Text(op, "callee"), " takes these operands"));
      Frame called;
      const Region& body = callee->second->regions[0];
      for (size_t i = 0; i < operands.size(); ++i) called[body.arguments[i].name] = {operands[i]};
      SBP_RETURN_IF_ERROR(Body(body, called, values, depth + 1));
    } else {
      if (types.empty()) return place_.ErrorAt(op.offset, StrCat(op.name, " has no result, and is not read"));
      NotePlace(op);
      Result<std::vector<ValueRef>> made = WriteForm({op, operands, types, module_.text, writer_});
      if (!made.ok()) return place_.ErrorAt(op.offset, StrCat(op.name, ": ", made.status().message()));
      values = *std::move(made);
    }
    if (values.size() != types.size()) return place_.ErrorAt(op.offset, "expected as many results as types");
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i]->type != types[i]) {
        return place_.ErrorAt(op.offset,
                              StrCat("result ", i, " is ", ToString(values[i]->type), ", not ", ToString(types[i])));
      }
    }
    Mark(op, operands, values);
    if (trace_ != nullptr && op.name != "func.call") trace_->push_back({&op, operands, values});
    size_t next = 0;
    for (const auto& [name, count] : op.results) {
      std::vector<ValueRef>& own = frame[name];
      own.clear();
      for (int64_t i = 0; i < count; ++i) own.push_back(values[next++]);
    }
    return OkStatus();
  }

  // A value that an op only hands on is copied, so that its other readers are free.
  void Mark(const Operation& op, const std::vector<ValueRef>& operands, std::vector<ValueRef>& values) {
    if (op.name == "func.call" || !Marks::IsMarked(op)) return;
    std::vector<std::string> tensors;
    for (ValueRef& value : values) {
      const auto is_it = [&](const ValueRef& operand) { return operand == value || operand->tensor == value->tensor; };
      const bool is_constraint = IsConstraint(op.name);
      if (is_constraint || (!value->tensor.empty() && std::ranges::any_of(operands, is_it)))
        value = writer_.Copied(value);
      tensors.push_back(value->literal == nullptr ? value->tensor : "");
    }
    marks_.AddOf(op, tensors);
  }

  void Outputs(const Operation& main, const std::vector<ValueRef>& results) {
    const auto given = main.attributes.find("res_attrs");
    for (size_t i = 0; i < results.size(); ++i) {
      std::string name = StrCat("result.", i);
      if (given != main.attributes.end() && i < given->second.list.size()) {
        const auto info = given->second.list[i].entries.find("jax.result_info");
        if (info != given->second.list[i].entries.end() && !info->second.text.empty()) name = Dotted(info->second.text);
      }
      name = writer_.NewName(name);
      builder_.AddOp("Identity", name, {writer_.Full(results[i])}, {name});
      marks_.AddOf(main, "res_attrs", i, name);
      outputs_.push_back(name);
      builder_.AddOutput(name);
    }
  }

  const Module& module_;
  GraphBuilder builder_;
  Writer writer_;
  Cursor place_;
  Marks marks_;
  std::vector<TracedOp>* trace_ = nullptr;
  std::vector<std::string> arguments_, outputs_;  // of main
  std::map<std::string, const Operation*, std::less<>> functions_;
  int64_t ops_ = 0;
};

}  // namespace
}  // namespace stablehlo

bool LooksLikeMlir(std::string_view text) {
  const std::string_view start = text.substr(0, 65536);
  const size_t first = start.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  const std::string_view begin = start.substr(first);
  return begin.starts_with("#loc") || begin.starts_with("\"builtin.module\"") || begin.starts_with("module @") ||
         begin.starts_with("module {") || begin.starts_with("module attributes");
}

namespace {

// `shardings`: null, or where to.
Result<Graph> ReadAll(std::string_view text, std::string_view where, Shardings* shardings) {
  const Result<stablehlo::Module> module = stablehlo::ParseModule(text);
  if (!module.ok()) return BadInput(StrCat(where, ":", module.status().message()));
  stablehlo::FunctionReader reader(*module);
  Result<Graph> graph = reader.Run(where);
  if (graph.ok() && shardings != nullptr) *shardings = reader.TakeShardings(where);
  if (graph.ok() || graph.status().message().starts_with(where)) return graph;
  return BadInput(StrCat(where, ":", graph.status().message()));
}

}  // namespace

Result<stablehlo::Trace> stablehlo::ReadTrace(std::string_view text, std::string_view where) {
  Result<Module> module = ParseModule(text);
  if (!module.ok()) return BadInput(StrCat(where, ":", module.status().message()));
  Trace trace;
  trace.module = std::make_shared<const Module>(*std::move(module));
  FunctionReader reader(*trace.module);
  reader.TraceTo(&trace.ops);
  SBP_RETURN_IF_ERROR(reader.Run(where).status());
  trace.arguments = reader.arguments();
  trace.outputs = reader.outputs();
  return trace;
}

Result<Graph> ReadStableHlo(std::string_view text, std::string_view where) { return ReadAll(text, where, nullptr); }

Result<Shardings> ReadShardings(std::string_view text, std::string_view where) {
  Shardings shardings;
  SBP_RETURN_IF_ERROR(ReadAll(text, where, &shardings).status());
  return shardings;
}

}  // namespace sbp
