// What must hold of a built graph. Every message names the tensor or op.
#include <algorithm>
#include <cstdint>
#include <future>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "base/utf8.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  Status Run() {
    SBP_RETURN_IF_ERROR(CheckNames());
    for (const std::string& type : graph_.op_types) {
      if (type.size() > kLongestShown)
        return BadInput(StrCat("an op's type of ", type.size(), " characters: ", Start(type)));
    }
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      const Status status = CheckTensor(TensorId(i));
      if (!status.ok()) return status.WithContext("tensor " + Quote(graph_.tensors[i].name));
    }
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Status status = CheckOp(OpId(i));
      if (!status.ok()) return status.WithContext("op " + Quote(graph_.ops[i].name));
    }
    return CheckBoundary();
  }

 private:
  // Messages show types of ops and sizes of dimensions as they are.
  static constexpr size_t kLongestShown = 1000;
  static std::string Start(std::string_view text) { return Quote(CutAtCharacter(text, 60)) + "..."; }

  bool InRange(TensorId id) const { return id.valid() && id.index() < graph_.tensors.size(); }

  Status CheckNames() const {
    constexpr size_t kMany = 100'000;  // of so many this is most of the work
    const bool at_once = graph_.ops.size() > kMany;
    std::future<Status> ops;
    const auto check_ops = [this] { return CheckUnique(graph_.ops, "op"); };
    if (at_once) ops = std::async(std::launch::async, check_ops);
    Status status = CheckUnique(graph_.tensors, "tensor");
    const Status of_ops = at_once ? ops.get() : check_ops();
    return status.ok() ? of_ops : status;
  }

  // Equal names have equal hashes; only where two hashes are equal are the names themselves looked at.
  template <typename Item>
  static Status CheckUnique(const std::vector<Item>& items, std::string_view what) {
    std::vector<size_t> hashes;
    hashes.reserve(items.size());
    for (const Item& item : items) {
      if (item.name.empty()) return BadInput(StrCat(what == "op" ? "an " : "a ", what, " without a name"));
      hashes.push_back(HashOf(item.name));
    }
    std::sort(hashes.begin(), hashes.end());
    if (std::adjacent_find(hashes.begin(), hashes.end()) == hashes.end()) return OkStatus();
    std::unordered_set<std::string_view> names;
    for (const Item& item : items) {
      if (!names.insert(item.name).second) return BadInput(StrCat("two ", what, "s are called ", Quote(item.name)));
    }
    return OkStatus();
  }

  Status CheckTensor(TensorId id) const {
    const Tensor& tensor = graph_.tensor(id);
    const TensorType& type = tensor.type;
    if (type.shape.size() > kMaxRank) {
      return BadInput(StrCat(type.shape.size(), " dimensions, at most ", kMaxRank, " are possible"));
    }
    for (int64_t size : type.shape) {
      if (size < kUnknownDim) return BadInput(StrCat("a dimension of size ", size));
    }
    if (type.is_static() && type.num_bytes() == kInt64Max) {
      return BadInput("the size of " + ToString(type) + " in bytes does not fit 63 bits");
    }
    if (!tensor.symbols.empty() && type.has_rank && tensor.symbols.size() != type.shape.size()) {
      return BadInput(StrCat(tensor.symbols.size(), " symbols for ", type.shape.size(), " dimensions"));
    }
    for (const std::string& symbol : tensor.symbols) {
      if (symbol.size() > kLongestShown) {
        return BadInput(StrCat("a dimension of ", symbol.size(), " characters: ", Start(symbol)));
      }
    }
    if (tensor.role != TensorRole::kActivation) {
      return tensor.producer.valid() ? BadInput("an input or parameter that an op writes") : OkStatus();
    }
    if (!tensor.producer.valid()) return BadInput("no op writes it, and it is no input or parameter");
    if (tensor.producer.index() >= graph_.ops.size()) return BadInput("written by an op that does not exist");
    const Op& op = graph_.op(tensor.producer);
    if (tensor.producer_index >= op.outputs.size() || op.outputs[tensor.producer_index] != id) {
      return BadInput(StrCat("op ", Quote(op.name), " does not have it as result ", tensor.producer_index));
    }
    return OkStatus();
  }

  Status CheckOp(OpId id) const {
    const Op& op = graph_.op(id);
    if (op.type >= graph_.op_types.size()) return BadInput("its type is no known one");
    if (op.scope >= graph_.scopes.size()) return BadInput("its scope is no known one");
    if (op.attributes == nullptr) return BadInput("it has no attributes record");
    for (const std::vector<TensorId>* list : {&op.inputs, &op.captures}) {
      for (TensorId operand : *list) {
        if (!operand.valid()) continue;
        if (!InRange(operand)) return BadInput("it reads a tensor that does not exist");
        const Tensor& tensor = graph_.tensor(operand);
        if (tensor.producer.valid() && tensor.producer.index() >= id.index()) {
          return BadInput(StrCat("it reads ", Quote(tensor.name), " before op ", Quote(graph_.op(tensor.producer).name),
                                 " writes it"));
        }
      }
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const TensorId output = op.outputs[i];
      if (!output.valid()) continue;
      if (!InRange(output)) return BadInput("it writes a tensor that does not exist");
      const Tensor& tensor = graph_.tensor(output);
      if (tensor.producer != id || tensor.producer_index != i) {
        return BadInput(StrCat("its result ", Quote(tensor.name), " is written elsewhere too"));
      }
    }
    const size_t operands = op.inputs.size() + op.captures.size();
    const size_t pins = op.signature_pin.size();
    if (pins != 0 && pins != operands + op.outputs.size()) {
      return BadInput(StrCat("its pinned signature has ", pins, " layouts for ", operands, " operands and ",
                             op.outputs.size(), " results"));
    }
    return OkStatus();
  }

  Status CheckAssumption(const Assumption& assumption) const {
    const auto input =
        std::ranges::find_if(graph_.inputs, [&](TensorId id) { return graph_.tensor(id).name == assumption.input; });
    if (input == graph_.inputs.end()) {
      std::vector<std::string> names;
      for (const TensorId id : graph_.inputs) names.push_back(graph_.tensor(id).name);
      return BadInput(StrCat("no input has this name", DidYouMean(assumption.input, names)));
    }
    const TensorType& type = graph_.tensor(*input).type;
    if (assumption.value == nullptr || assumption.value->type != type)
      return BadInput(StrCat("its value is ", assumption.value ? ToString(assumption.value->type) : "missing",
                             "; the input is ", ToString(type)));
    if (!assumption.value->is_integral() && !IsFloat(type.dtype))
      return BadInput(StrCat("values of ", ToString(type), " shape no graph"));
    int64_t before = -1;
    for (const int64_t element : assumption.elements) {
      if (element <= before || element >= type.num_elements())
        return BadInput(StrCat("element ", element, ": expected ascending positions below ", type.num_elements()));
      before = element;
    }
    return before >= 0 ? OkStatus() : BadInput("it has no elements");
  }

  Status CheckBoundary() const {
    std::unordered_set<TensorId> listed;
    for (TensorId id : graph_.inputs) {
      if (!InRange(id)) return BadInput("an input that does not exist");
      const std::string& name = graph_.tensor(id).name;
      if (graph_.tensor(id).role != TensorRole::kInput) return BadInput("input " + Quote(name) + " is no input tensor");
      if (!listed.insert(id).second) return BadInput("input " + Quote(name) + " is listed twice");
    }
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      if (graph_.tensors[i].role == TensorRole::kInput && !listed.contains(TensorId(i))) {
        return BadInput("tensor " + Quote(graph_.tensors[i].name) + " is an input but not listed as one");
      }
    }
    for (TensorId id : graph_.outputs) {
      if (!InRange(id)) return BadInput("an output that does not exist");
    }
    for (const Assumption& assumption : graph_.assumptions) {
      const Status status = CheckAssumption(assumption);
      if (!status.ok()) return status.WithContext("assumption " + Quote(assumption.input));
    }
    if (graph_.micro_batches < 1) {
      return BadInput(StrCat("\"micro_batches\" is ", graph_.micro_batches, ", expected 1 or more"));
    }
    for (const Tie& tie : graph_.ties) {
      if (!InRange(tie.output) || !InRange(tie.input)) return BadInput("a tie of a tensor that does not exist");
      if (tie.restarts && graph_.tensor(tie.input).role != TensorRole::kInput) {
        return BadInput(StrCat("the tie to ", Quote(graph_.tensor(tie.input).name), " restarts, but that is no input"));
      }
    }
    return OkStatus();
  }

  const Graph& graph_;
};

}  // namespace

Status Verify(const Graph& graph, std::string_view where) {
  const Status status = Verifier(graph).Run();
  return where.empty() ? status : status.WithContext(where);
}

}  // namespace sbp
