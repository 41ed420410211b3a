// A dimension's text is an expression over symbols. Each value given (by flag, by a real input's shape) is an equation:
// expression = number. Equations without unknown symbols are checks, those with one unknown are solved, until nothing
// changes; what is then unknown is reported at once.
#include "fold/bind.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "fold/dim_expression.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

constexpr size_t kMaxListed = 20;        // symbols in an error, so that it fits one screen
constexpr size_t kMaxListedTensors = 4;  // uses of each

struct Equation {
  std::string text;
  int64_t value = 0;
  std::string origin;  // "--dim batch=8"
  bool done = false;
};

class Binder {
 public:
  Binder(Graph& graph, const ResolveOptions& options) : graph_(graph), options_(options), bindings_(graph.bindings) {
    for (const TensorId id : graph_.inputs) {
      const Tensor& tensor = graph_.tensor(id);
      inputs_.emplace(tensor.name, id);
      for (size_t axis = 0; axis < tensor.type.shape.size(); ++axis) {
        if (tensor.type.shape[axis] == kUnknownDim) own_names_.insert(StrCat(tensor.name, "[", axis, "]"));
      }
    }
  }

  Status Run() {
    SBP_RETURN_IF_ERROR(AddShapes());
    SBP_RETURN_IF_ERROR(AddFlags());
    SBP_RETURN_IF_ERROR(Solve());
    SBP_RETURN_IF_ERROR(CheckAllBound());
    for (const TensorId id : graph_.inputs) SBP_RETURN_IF_ERROR(FillIn(graph_.tensor(id)));
    graph_.bindings = bindings_;
    return OkStatus();
  }

 private:
  // The expression of a text; "x[0]" is one symbol even where the input's name looks like arithmetic. Cached: a model
  // has few different texts.
  const DimExpression& Parse(const std::string& text) {
    const auto [entry, is_new] = parsed_.try_emplace(text);
    if (is_new) entry->second = own_names_.contains(text) ? DimExpression::Symbol(text) : DimExpression::Parse(text);
    return entry->second;
  }

  static std::string SymbolOf(const Tensor& tensor, size_t axis) {
    const bool named = axis < tensor.symbols.size() && !tensor.symbols[axis].empty() && tensor.symbols[axis] != "?";
    return named ? tensor.symbols[axis] : StrCat(tensor.name, "[", axis, "]");
  }

  // A value for one dimension of an input: an equation, or a check against the number in the file.
  Status AddDim(const Tensor& tensor, size_t axis, int64_t value, const std::string& origin) {
    const int64_t size = tensor.type.shape[axis];
    if (size != kUnknownDim) {
      if (size == value) return OkStatus();
      return BadInput(StrCat(origin, " says ", value, ", but the model fixes dimension ", axis, " of input ",
                             Quote(tensor.name), " to ", size));
    }
    equations_.push_back({SymbolOf(tensor, axis), value, origin});
    return OkStatus();
  }

  Status AddShapes() {
    for (const auto& [name, shape] : options_.input_shapes) {
      const auto input = inputs_.find(name);
      if (input == inputs_.end()) {
        if (IsParameter(name)) continue;  // files of inputs often hold weights too
        return BadInput(StrCat("--inputs: the model has no input ", Quote(name), SuggestInput(name)));
      }
      Tensor& tensor = graph_.tensor(input->second);
      if (!tensor.type.has_rank) {
        tensor.type.has_rank = true;
        tensor.type.shape = shape;
        continue;
      }
      if (tensor.type.shape.size() != shape.size()) {
        return BadInput(StrCat("--inputs: ", Quote(name), " has ", shape.size(), " dimensions, the model's input has ",
                               tensor.type.shape.size(), ": ", ToString(tensor.type)));
      }
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        SBP_RETURN_IF_ERROR(AddDim(tensor, axis, shape[axis], StrCat("--inputs: ", Quote(name))));
      }
    }
    return OkStatus();
  }

  Status AddFlags() {
    for (const auto& [name, value] : options_.bindings) {
      const std::string origin = StrCat("--dim ", name, "=", value);
      if (value < 0) return BadInput(StrCat(origin, ": a size cannot be negative"));
      const size_t bracket = name.rfind('[');
      if (bracket != std::string::npos && name.back() == ']') {
        const auto input = inputs_.find(name.substr(0, bracket));
        const std::optional<int64_t> axis =
            ParseInt(std::string_view(name).substr(bracket + 1, name.size() - bracket - 2));
        if (input != inputs_.end() && axis) {
          const Tensor& tensor = graph_.tensor(input->second);
          if (*axis < 0 || *axis >= tensor.type.rank()) {
            return BadInput(StrCat(origin, ": input ", Quote(tensor.name), " has rank ", tensor.type.rank()));
          }
          SBP_RETURN_IF_ERROR(AddDim(tensor, static_cast<size_t>(*axis), value, origin));
          continue;
        }
      }
      if (!IsKnown(name))
        return BadInput(StrCat(origin, ": the model has no symbolic dimension ", Quote(name), Suggest(name)));
      equations_.push_back({std::string(Trim(name)), value, origin});
    }
    return OkStatus();
  }

  Status Solve() {
    for (bool changed = true; changed;) {
      changed = false;
      for (Equation& equation : equations_) {
        if (equation.done) continue;
        const DimExpression& expression = Parse(equation.text);
        std::vector<std::string> open;
        for (const std::string& symbol : expression.symbols()) {
          if (!bindings_.contains(symbol)) open.push_back(symbol);
        }
        if (open.size() > 1) continue;
        changed = equation.done = true;
        if (open.empty()) {
          SBP_RETURN_IF_ERROR(Check(equation, expression));
          continue;
        }
        const std::optional<int64_t> value =
            equation.text == open[0] ? equation.value : expression.SolveFor(open[0], equation.value, bindings_);
        if (!value) {
          return BadInput(StrCat(equation.origin, ": no size of ", Quote(open[0]), " makes ", Quote(equation.text),
                                 " equal ", equation.value));
        }
        bindings_[open[0]] = *value;
        origins_[open[0]] = equation.origin;
      }
    }
    for (const Equation& equation : equations_) {
      if (!equation.done)
        whole_.emplace(equation.text, equation.value);  // decides at least dimensions of the same text
    }
    return OkStatus();
  }

  Status Check(const Equation& equation, const DimExpression& expression) {
    const Result<int64_t> value = expression.Evaluate(bindings_);
    if (!value.ok()) return value.status().WithContext(StrCat("dimension ", Quote(equation.text)));
    if (*value == equation.value) return OkStatus();
    std::vector<std::string> others;
    for (const std::string& symbol : expression.symbols()) {
      const auto origin = origins_.find(symbol);
      if (origin != origins_.end()) others.push_back(origin->second);
    }
    return BadInput(StrCat(equation.origin, " contradicts ",
                           others.empty() ? "the model's bindings" : Join(others, ", "), ": ", Quote(equation.text),
                           " is ", *value, " there, and ", equation.value, " here"));
  }

  std::optional<int64_t> ValueOf(const std::string& text) {
    if (const auto found = whole_.find(text); found != whole_.end()) return found->second;
    const Result<int64_t> value = Parse(text).Evaluate(bindings_);
    return value.ok() ? std::optional(*value) : std::nullopt;
  }

  Status CheckAllBound() {
    std::vector<std::string> order;
    std::map<std::string, std::vector<std::string>> uses;
    for (const TensorId id : graph_.inputs) {
      const Tensor& tensor = graph_.tensor(id);
      if (!tensor.type.has_rank && tensor.type.kind == ValueKind::kTensor) {
        return BadInput(
            StrCat("input ", Quote(tensor.name), " has no shape in the model; give real inputs with --inputs X.npz"));
      }
      if (!tensor.type.has_rank) {
        return BadInput(StrCat("input ", Quote(tensor.name), " is a ", ToString(tensor.type),
                               " whose elements have no shape in the model; state it there"));
      }
      for (size_t axis = 0; axis < tensor.type.shape.size(); ++axis) {
        if (tensor.type.shape[axis] != kUnknownDim) continue;
        const std::string text = SymbolOf(tensor, axis);
        if (whole_.contains(text)) continue;
        for (const std::string& symbol : Parse(text).symbols()) {
          if (bindings_.contains(symbol)) continue;
          std::vector<std::string>& list = uses[symbol];
          if (list.empty()) order.push_back(symbol);
          list.push_back(
              StrCat(Quote(tensor.name), " dimension ", axis, text == symbol ? "" : StrCat(" (", text, ")")));
        }
      }
    }
    if (order.empty()) return OkStatus();
    std::string message =
        StrCat(order.size(), order.size() == 1 ? " symbolic dimension has" : " symbolic dimensions have", " no size:");
    std::string flags;
    for (size_t i = 0; i < order.size(); ++i) {
      if (i == kMaxListed) {
        message += StrCat("\n  ... and ", order.size() - i, " more");
        flags += " ...";
        break;
      }
      std::vector<std::string> list = uses[order[i]];
      const size_t all = list.size();
      if (all > kMaxListedTensors) list.resize(kMaxListedTensors);
      message += StrCat("\n  ", order[i], ": ", Join(list, ", "),
                        all > list.size() ? StrCat(", and ", all - list.size(), " more") : "");
      flags += StrCat(" --dim ", NeedsQuotes(order[i]) ? StrCat("'", order[i], "=N'") : StrCat(order[i], "=N"));
    }
    return BadInput(StrCat(message, "\ngive", flags, ", or real inputs with --inputs X.npz"));
  }

  static bool NeedsQuotes(std::string_view name) {
    return std::ranges::any_of(
        name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.'; });
  }

  Status FillIn(Tensor& tensor) {
    for (size_t axis = 0; axis < tensor.type.shape.size(); ++axis) {
      int64_t& size = tensor.type.shape[axis];
      if (size != kUnknownDim) continue;
      const std::string text = SymbolOf(tensor, axis);
      const std::optional<int64_t> value = ValueOf(text);
      if (!value || *value < 0) {
        return BadInput(StrCat("dimension ", axis, " of input ", Quote(tensor.name), " is ", Quote(text), ", which is ",
                               value ? StrCat("negative: ", *value) : "no integer", " with these bindings"));
      }
      size = *value;
    }
    return OkStatus();
  }

  bool IsKnown(const std::string& name) {
    const std::string text(Trim(name));
    return AllTexts().contains(text) || std::ranges::all_of(Parse(text).symbols(), [&](const std::string& symbol) {
             return bindings_.contains(symbol) || AllTexts().contains(symbol);
           });
  }

  // Every text of a dimension anywhere in the graph, and every symbol in them.
  const std::set<std::string>& AllTexts() {
    if (!texts_.empty()) return texts_;
    for (const Tensor& tensor : graph_.tensors) {
      for (const std::string& text : tensor.symbols) {
        if (text.empty() || text == "?" || !texts_.insert(text).second) continue;
        for (const std::string& symbol : Parse(text).symbols()) texts_.insert(symbol);
      }
    }
    for (const std::string& name : own_names_) texts_.insert(name);
    texts_.insert("");  // so that an empty list is not built again
    return texts_;
  }

  // The inputs' dimensions that are this symbol, " (ids[0], labels[0])"; "" where its name says so.
  std::string PlacesOf(const std::string& symbol) const {
    std::vector<std::string> places;
    for (const TensorId id : graph_.inputs) {
      const Tensor& tensor = graph_.tensor(id);
      for (size_t axis = 0; axis < tensor.symbols.size(); ++axis) {
        if (tensor.symbols[axis] == symbol) places.push_back(StrCat(tensor.name, "[", axis, "]"));
      }
    }
    if (places.size() > kMaxListedTensors) places.resize(kMaxListedTensors);
    return places.empty() ? "" : StrCat(" (", Join(places, ", "), ")");
  }

  std::string Suggest(const std::string& name) {
    std::vector<std::string> known;  // names; what is computed of them is no use here
    for (const std::string& text : AllTexts()) {
      const std::vector<std::string>& symbols = Parse(text).symbols();
      if (!text.empty() && (own_names_.contains(text) || (symbols.size() == 1 && symbols[0] == text)))
        known.push_back(text);
    }
    const std::string nearest = DidYouMean(name, known);
    if (!nearest.empty() || known.empty()) return known.empty() ? "; all its sizes are numbers" : nearest;
    if (known.size() > kMaxListed) known.resize(kMaxListed);
    for (std::string& text : known) text += PlacesOf(text);
    return StrCat("; it has ", Join(known, ", "));
  }

  std::string SuggestInput(const std::string& name) const {
    std::vector<std::string> names;
    for (const TensorId id : graph_.inputs) names.push_back(graph_.tensor(id).name);
    const std::string nearest = DidYouMean(name, names);
    if (!nearest.empty()) return nearest;
    if (names.size() > kMaxListed) names.resize(kMaxListed);
    return StrCat("; its inputs are ", Join(names, ", "));
  }
  bool IsParameter(const std::string& name) const {
    return std::ranges::any_of(graph_.tensors, [&](const Tensor& tensor) { return tensor.name == name; });
  }

  Graph& graph_;
  const ResolveOptions& options_;
  std::map<std::string, int64_t> bindings_;
  std::map<std::string, std::string> origins_;
  std::map<std::string, int64_t> whole_;  // values of texts that could not be taken apart
  std::unordered_map<std::string, TensorId> inputs_;
  std::set<std::string> own_names_;  // "x[0]"
  std::unordered_map<std::string, DimExpression> parsed_;
  std::vector<Equation> equations_;
  std::set<std::string> texts_;
};

}  // namespace

Status BindInputs(Graph& graph, const ResolveOptions& options) { return Binder(graph, options).Run(); }

TensorType WithBindings(const TensorType& type, const std::vector<std::string>& symbols,
                        const std::map<std::string, int64_t>& bindings) {
  TensorType bound = type;
  for (size_t axis = 0; axis < bound.shape.size() && axis < symbols.size(); ++axis) {
    if (bound.shape[axis] != kUnknownDim || symbols[axis].empty() || symbols[axis] == "?") continue;
    const Result<int64_t> value = DimExpression::Parse(symbols[axis]).Evaluate(bindings);
    if (value.ok() && *value >= 0) bound.shape[axis] = *value;
  }
  return bound;
}

}  // namespace sbp
