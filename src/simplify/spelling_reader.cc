#include "simplify/spelling_reader.h"

#include <algorithm>
#include <span>

#include "base/dtype.h"
#include "graph/producers.h"
#include "sbp/shard_math.h"
#include "simplify/positions.h"

namespace sbp::simplify {

bool RunsAsWritten(const Graph& graph) {
  return IsProducedBy(graph, kTorchProducer) || IsProducedBy(graph, kConfigProducer);
}

const Op* SpellingReader::Inner(TensorId id, std::string_view type, size_t operands, std::ptrdiff_t readers) const {
  if (!id.valid() || edit_.IsKept(id) || IsComputed(id)) return nullptr;
  const auto [begin, end] = uses_.of(id);
  const Op* op = edit_.Producer(id);
  if (end - begin != readers || op == nullptr || graph_.type_of(*op) != type || !op->signature_pin.empty())
    return nullptr;
  const bool complete = op->inputs.size() == operands && std::ranges::all_of(op->inputs, &TensorId::valid);
  return complete ? op : nullptr;
}

std::optional<double> SpellingReader::ConstantOf(TensorId id) {
  if (!id.valid() || IsWeight(id)) return std::nullopt;
  const PlaceValue* value = table_.Find(id);
  return value == nullptr ? std::nullopt : value->constant();
}

bool SpellingReader::IsWeight(TensorId id) const {
  const Tensor& tensor = graph_.tensor(id);
  return tensor.role == TensorRole::kParameter && IsFloat(tensor.type.dtype) && tensor.type.rank() > 0;
}

std::optional<SpellingReader::Scaled> SpellingReader::ScaledOf(TensorId x, std::ptrdiff_t readers) {
  const Op* product = Inner(x, "Mul", 2, readers);
  const Op* op = product != nullptr ? product : Inner(x, "Div", 2, readers);
  if (op == nullptr) return std::nullopt;
  if (const std::optional<double> number = ConstantOf(op->inputs[1]); number && *number != 0)
    return Scaled{op, op->inputs[0], product != nullptr ? *number : 1 / *number};
  const std::optional<double> number = product != nullptr ? ConstantOf(op->inputs[0]) : std::nullopt;
  return number && *number != 0 ? std::optional(Scaled{op, op->inputs[1], *number}) : std::nullopt;
}

std::optional<SpellingReader::Masked> SpellingReader::MaskedOf(TensorId x, std::ptrdiff_t readers) {
  const Shape shape = TypeOf(x).shape;
  const auto window_of = [&](const PlaceValue* mask) {
    return mask == nullptr ? std::nullopt : WindowOf(*mask, {}, shape[shape.size() - 2], shape.back(), 0);
  };
  const auto masked = [&](const Op* op, size_t scores, const KeyWindow& window) {
    const TensorId of = op->inputs[scores];
    return TypeOf(of).shape == shape ? std::optional(Masked{op, of, window}) : std::nullopt;
  };
  if (const Op* sum = Inner(x, "Add", 2, readers)) {
    for (const size_t side : {size_t{1}, size_t{0}}) {
      if (const std::optional<KeyWindow> window = window_of(table_.Find(sum->inputs[side])))
        return masked(sum, 1 - side, *window);
    }
  }
  const Op* choice = Inner(x, "Where", 3, readers);
  if (choice == nullptr) return std::nullopt;
  const PlaceValue* shown = table_.Find(choice->inputs[0]);
  if (shown == nullptr) return std::nullopt;
  for (const size_t low : {size_t{2}, size_t{1}}) {
    const PlaceValue* hidden = table_.Find(choice->inputs[low]);
    if (hidden == nullptr || !hidden->constant()) continue;
    // As a mask that is added: 0 where the scores are chosen.
    const bool chosen = low == 2;
    const double number = *hidden->constant();
    const MaybePlaces mask = Map(std::span(&shown, 1), {hidden->dtype, shown->shape},
                                 [&](std::span<const double> flag) { return (flag[0] != 0) == chosen ? 0 : number; });
    if (const std::optional<KeyWindow> window = window_of(mask ? &*mask : nullptr))
      return masked(choice, chosen ? 1 : 2, *window);
  }
  return std::nullopt;
}

}  // namespace sbp::simplify
