#include "stablehlo/reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/text.h"
#include "graph/builder.h"
#include "graph/producers.h"
#include "graph/tensor_type.h"
#include "sbp/sbp.h"
#include "stablehlo/cursor.h"
#include "stablehlo/donations.h"
#include "stablehlo/forms.h"
#include "stablehlo/known.h"
#include "stablehlo/marks.h"
#include "stablehlo/shardings.h"
#include "stablehlo/syntax.h"
#include "stablehlo/trace.h"
#include "stablehlo/values.h"

namespace sbp {
namespace stablehlo {
namespace {

constexpr int kMaxCallDepth = 32, kMaxLocationDepth = 16;
constexpr int64_t kMaxOps = 1000000;  // with functions that are called again, and loops
constexpr int64_t kMaxTurns = 10000;

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

// Values by name; a region sees those around it.
struct Frame {
  std::map<std::string_view, std::vector<ValueRef>> values;
  const Frame* outer = nullptr;

  ValueRef Find(const ValueName& name) const {
    for (const Frame* frame = this; frame != nullptr; frame = frame->outer) {
      const auto found = frame->values.find(name.name);
      if (found == frame->values.end()) continue;
      const bool is_one = name.index >= 0 && name.index < static_cast<int64_t>(found->second.size());
      return is_one ? found->second[static_cast<size_t>(name.index)] : nullptr;
    }
    return nullptr;
  }
};

// Pure ops that only hand on to functions or regions.
bool IsControl(std::string_view op) {
  return op == "func.call" || op == "stablehlo.composite" || op == "stablehlo.while" || op == "stablehlo.case" ||
         op == "stablehlo.if";
}

class FunctionReader {
 public:
  explicit FunctionReader(const Module& module)
      : module_(module), writer_(builder_), place_(module.text), marks_(module.text) {}

  Result<Graph> Run(std::string_view where) {
    builder_.graph().metadata.emplace_back(kProducerName, kStableHloProducer);
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
      marks_.AddOf(*main->second, "arg_attrs", i, frame.values[body.arguments[i].name].front()->tensor);
    }
    std::vector<ValueRef> results;
    SBP_RETURN_IF_ERROR(Body(body, frame, results, 0));
    Outputs(*main->second, results);
    SBP_RETURN_IF_ERROR(TieDonated(*main->second, results));
    SBP_ASSIGN_OR_RETURN(Graph graph, builder_.Build(where));
    SBP_RETURN_IF_ERROR(Verify(graph, where));  // of sizes that no machine has
    return graph;
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
    frame.values[argument.name] = {std::move(value)};
    return OkStatus();
  }

  // Levels of the location's name, behind those of the calls around it unless it names all from "jit(...)" on; without
  // what JAX wraps them in. Of loops each turn has a level of its own, "body.3".
  std::vector<std::string> Levels(const Location& at) const {
    std::vector<std::string> levels;
    if (!at.name.starts_with("jit(")) levels = calls_;
    for (std::string_view inner : Split(at.name, '/')) {
      for (const std::string_view wrap : {"transpose(", "jvp(", "vmap(", "checkpoint("}) {
        if (inner.starts_with(wrap) && inner.ends_with(')')) {
          inner = inner.substr(wrap.size(), inner.size() - wrap.size() - 1);
        }
      }
      const bool is_named = !inner.empty() && !inner.starts_with("jit(") && inner != "closed_call";
      if (is_named) levels.emplace_back(inner);
    }
    size_t turn = 0;
    for (size_t i = 1; i < levels.size(); ++i) {
      if (levels[i - 1] != "while" || !levels[i].starts_with("body")) continue;
      if (turn < turns_.size()) levels[i] = StrCat("body.", turns_[turn++]);
    }
    return levels;
  }

  // Scope, name and line of Python, from the location.
  void NotePlace(const Operation& op) {
    const Location* at = &Resolve(op.location);
    std::vector<std::string> levels = Levels(*at);
    const bool is_named = levels.size() > (at->name.starts_with("jit(") ? 0 : calls_.size());
    std::string name = is_named ? levels.back() : op.name.substr(op.name.find('.') + 1);
    if (is_named) levels.pop_back();
    const std::string scope = Join(levels, "/");
    if (!scope.empty()) name = StrCat(scope, "/", name);
    std::string source;
    for (int i = 0; i < kMaxLocationDepth && !at->parts.empty() && at->file.empty(); ++i) at = &Resolve(at->parts[0]);
    if (!at->file.empty()) source = StrCat(at->file.substr(at->file.rfind('/') + 1), ":", at->line);
    writer_.SetPlace(scope, name, source);
  }

  Status Body(const Region& body, Frame& frame, std::vector<ValueRef>& results, int depth) {
    if (depth > kMaxCallDepth) {
      const size_t at = body.operations.empty() ? 0 : body.operations.front().offset;
      return place_.ErrorAt(at, StrCat("functions and regions call each other deeper than ", kMaxCallDepth, " levels"));
    }
    for (const Operation& op : body.operations) {
      if (++ops_ > kMaxOps) return place_.ErrorAt(op.offset, "functions make too many ops");
      std::vector<ValueRef> operands;
      for (const ValueName& name : op.operands) {
        operands.push_back(frame.Find(name));
        if (operands.back() == nullptr) {
          return place_.ErrorAt(name.offset, StrCat(name.name, " is not defined above"));
        }
      }
      if (op.name == "func.return" || op.name == "stablehlo.return") {
        results = std::move(operands);
        return OkStatus();
      }
      SBP_RETURN_IF_ERROR(ReadOp(op, operands, frame, depth));
    }
    return BadInput("a function or region has no return");
  }

  Status ReadOp(const Operation& op, const std::vector<ValueRef>& operands, Frame& frame, int depth) {
    if (op.name == "sdy.manual_computation") {
      return place_.ErrorAt(op.offset,
                            StrCat(op.name,
                                   " is not read: lower the function without jax.shard_map, whose body is that "
                                   "of one device"));
    }
    if (op.name.starts_with("stablehlo.rng")) {
      return place_.ErrorAt(op.offset,
                            StrCat(op.name,
                                   " is not read: pass random numbers as arguments, or draw them from keys of "
                                   "threefry2x32, JAX's default, which are read as what computes them"));
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
    if (op.name == "func.call" || op.name == "stablehlo.composite") {
      SBP_RETURN_IF_ERROR(Call(op, operands, values, depth));
    } else if (op.name == "stablehlo.while") {
      SBP_RETURN_IF_ERROR(Loop(op, operands, frame, values, depth));
    } else if (IsControl(op.name)) {
      SBP_RETURN_IF_ERROR(Branch(op, operands, frame, values, depth));
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
    if (trace_ != nullptr && !IsControl(op.name)) trace_->push_back({&op, operands, values});
    size_t next = 0;
    for (const auto& [name, count] : op.results) {
      std::vector<ValueRef>& own = frame.values[name];
      own.clear();
      for (int64_t i = 0; i < count; ++i) own.push_back(values[next++]);
    }
    return OkStatus();
  }

  Status Call(const Operation& op, const std::vector<ValueRef>& operands, std::vector<ValueRef>& results, int depth) {
    const std::string name = Text(op, op.name == "func.call" ? "callee" : "decomposition");
    const auto callee = functions_.find(name);
    const bool known = callee != functions_.end() && callee->second->regions.size() == 1 &&
                       callee->second->regions[0].arguments.size() == operands.size();
    if (!known) return place_.ErrorAt(op.offset, StrCat("no function @", name, " takes these operands"));
    std::vector<std::string> around = Levels(Resolve(op.location));
    std::swap(calls_, around);
    const Status read = RegionOf(callee->second->regions[0], operands, nullptr, results, depth);
    calls_ = std::move(around);
    return read;
  }

  Status RegionOf(const Region& body, const std::vector<ValueRef>& operands, const Frame* outer,
                  std::vector<ValueRef>& results, int depth) {
    Frame frame;
    frame.outer = outer;
    for (size_t i = 0; i < operands.size(); ++i) frame.values[body.arguments[i].name] = {operands[i]};
    return Body(body, frame, results, depth + 1);
  }

  // Turn by turn, where counting alone decides how many there are: as lax.scan and fori_loop are lowered.
  Status Loop(const Operation& op, const std::vector<ValueRef>& operands, const Frame& frame,
              std::vector<ValueRef>& values, int depth) {
    const auto takes_all = [&](const Region& region) { return region.arguments.size() == operands.size(); };
    if (op.regions.size() != 2 || !std::ranges::all_of(op.regions, takes_all)) {
      return place_.ErrorAt(op.offset, "expected a condition and a body, which take the operands");
    }
    values = operands;
    // The derivative of a scan goes through its turns from the last one on.
    const bool is_backward = Resolve(op.location).name.find("transpose(") != std::string::npos;
    const int64_t bound = is_backward ? BoundOf(op.regions[0]) : 0;
    for (int64_t turn = 0;; ++turn) {
      std::vector<ValueRef> goes_on, next;
      SBP_RETURN_IF_ERROR(RegionOf(op.regions[0], values, &frame, goes_on, depth));
      const std::optional<int64_t> known = goes_on.size() == 1 ? KnownNumber(*goes_on[0]) : std::nullopt;
      if (!known) {
        return place_.ErrorAt(op.offset, StrCat(op.name,
                                                " is not read where data decide how often it turns: write it as "
                                                "lax.scan, or lax.fori_loop between two numbers"));
      }
      if (*known == 0) return OkStatus();
      if (turn == kMaxTurns) return place_.ErrorAt(op.offset, StrCat(op.name, " turns more than ", turn, " times"));
      turns_.push_back(is_backward && turn < bound ? bound - 1 - turn : turn);
      SBP_RETURN_IF_ERROR(RegionOf(op.regions[1], values, &frame, next, depth));
      turns_.pop_back();
      SBP_RETURN_IF_ERROR(CheckCarried(op, values, next));
      values = std::move(next);
    }
  }

  // The constant that the condition compares with; 0: none.
  int64_t BoundOf(const Region& condition) const {
    for (const Operation& op : condition.operations) {
      const auto value = op.attributes.find("value");
      if (op.name != "stablehlo.constant" || value == op.attributes.end()) continue;
      const Result<std::vector<int64_t>> numbers = IntegersOf(value->second, module_.text);
      if (numbers.ok() && numbers->size() == 1) return numbers->front();
    }
    return 0;
  }

  Status CheckCarried(const Operation& op, const std::vector<ValueRef>& before, const std::vector<ValueRef>& after) {
    bool fits = before.size() == after.size();
    for (size_t i = 0; fits && i < before.size(); ++i) fits = before[i]->type == after[i]->type;
    return fits ? OkStatus() : place_.ErrorAt(op.offset, "the body returns other types than it takes");
  }

  // The one that is known to be taken, as of a turn's number.
  Status Branch(const Operation& op, const std::vector<ValueRef>& operands, const Frame& frame,
                std::vector<ValueRef>& values, int depth) {
    const std::optional<int64_t> known = operands.size() == 1 ? KnownNumber(*operands[0]) : std::nullopt;
    if (!known || op.regions.empty()) {
      return place_.ErrorAt(op.offset, StrCat(op.name,
                                              " is not read where data decide which branch is taken: write it with "
                                              "jnp.where, or lax.select"));
    }
    const auto last = static_cast<int64_t>(op.regions.size()) - 1;
    const bool is_inside = *known >= 0 && *known <= last;
    const int64_t taken = op.name == "stablehlo.if" ? (*known != 0 ? 0 : last) : (is_inside ? *known : last);
    const Region& region = op.regions[static_cast<size_t>(taken)];
    if (!region.arguments.empty()) return place_.ErrorAt(op.offset, "expected branches without arguments");
    return RegionOf(region, {}, &frame, values, depth);
  }

  // A value that an op only hands on is copied, so that its other readers are free.
  void Mark(const Operation& op, const std::vector<ValueRef>& operands, std::vector<ValueRef>& values) {
    if (IsControl(op.name) || !Marks::IsMarked(op)) return;
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

  // An argument that is donated to a result: that is its next value, in its memory.
  Status TieDonated(const Operation& main, const std::vector<ValueRef>& results) {
    std::vector<TensorType> arguments, types;
    for (const BlockArgument& argument : main.regions[0].arguments) arguments.push_back(argument.type.tensor);
    for (const ValueRef& result : results) types.push_back(result->type);
    SBP_ASSIGN_OR_RETURN(const std::vector<Donation> donations, Donations(main, arguments, types, place_));
    for (const Donation& donation : donations) {
      builder_.AddTie(outputs_[donation.result], arguments_[donation.argument]);
    }
    return OkStatus();
  }

  const Module& module_;
  GraphBuilder builder_;
  Writer writer_;
  Cursor place_;
  Marks marks_;
  std::vector<TracedOp>* trace_ = nullptr;
  std::vector<std::string> arguments_, outputs_;  // of main
  std::map<std::string, const Operation*, std::less<>> functions_;
  std::vector<std::string> calls_;  // levels of the calls around what is read
  std::vector<int64_t> turns_;      // of the loops around what is read
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
