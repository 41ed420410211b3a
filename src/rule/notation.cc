// BindNotation: letters to factors, sizes from operands, shapes of results.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/checked_math.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "rule/expression.h"
#include "rule/factor_map.h"
#include "rule/instance_builder.h"
#include "rule/overload.h"
#include "rule/syntax.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

class NotationBinder {
 public:
  NotationBinder(const RuleLine& line, InstanceBuilder& builder)
      : line_(line), builder_(builder), map_(builder.out.map) {}

  Status Run() {
    SBP_RETURN_IF_ERROR(PairOperands());
    MakeEllipsisFactors();
    SBP_RETURN_IF_ERROR(MakeLetters());
    for (const Pair& pair : pairs_) SBP_RETURN_IF_ERROR(SingleDims(pair));
    SBP_RETURN_IF_ERROR(SolveSizes());
    for (const Pair& pair : pairs_) PlaceOperand(pair);
    return Results();
  }

 private:
  // A tensor of the notation with the operand that it describes.
  struct Pair {
    const NotationTensor* notation;
    int operand;
    int ellipsis;  // dimensions that "..." stands for; -1: it has none
  };

  const Shape& ShapeOf(const Pair& pair) const { return builder_.out.operands[pair.operand].shape; }
  const std::string& NameOf(const Pair& pair) const { return builder_.out.operand_names[pair.operand]; }

  // Calls visit(position in the tensor, dim of the notation, index within the ellipsis or -1) for each real dimension.
  template <typename Visit>
  static Status ForEachDim(const NotationTensor& notation, int ellipsis, Visit visit) {
    int position = 0;
    for (const NotationDim& dim : notation) {
      if (!dim.ellipsis) {
        SBP_RETURN_IF_ERROR(visit(position++, dim, -1));
        continue;
      }
      for (int i = 0; i < ellipsis; ++i) SBP_RETURN_IF_ERROR(visit(position++, dim, i));
    }
    return OkStatus();
  }

  Status PairOperands() {
    size_t tensor = 0;
    for (size_t i = 0; i < builder_.overload().parameters.size(); ++i) {
      const Parameter& parameter = builder_.overload().parameters[i];
      if (parameter.kind != ParameterKind::kTensor) continue;
      const NotationTensor& notation = line_.operands[tensor++];
      const ParameterSlot& slot = builder_.binding.parameters[i];
      for (int o = slot.first; o < slot.first + slot.count; ++o) {
        if (builder_.out.present[o]) SBP_RETURN_IF_ERROR(PairOperand(notation, o));
      }
    }
    return OkStatus();
  }

  Status PairOperand(const NotationTensor& notation, int operand) {
    const int rank = builder_.out.operands[operand].rank();
    const int named = static_cast<int>(
        std::count_if(notation.begin(), notation.end(), [](const NotationDim& dim) { return !dim.ellipsis; }));
    const bool has_ellipsis = named != static_cast<int>(notation.size());
    if (rank < named || (rank > named && !has_ellipsis)) {
      return BadInput(StrCat("argument '", builder_.out.operand_names[operand], "' must have rank ", named,
                             has_ellipsis ? " or more" : "", ", not ", rank, " (",
                             ToString(builder_.out.operands[operand]), ")"));
    }
    pairs_.push_back({&notation, operand, has_ellipsis ? rank - named : -1});
    ellipsis_ = std::max(ellipsis_, pairs_.back().ellipsis);
    return OkStatus();
  }

  // The letters of "..." are d0, d1, ...; or e0, ... where the notation has a d0 itself, and so on.
  void MakeEllipsisFactors() {
    char letter = 'd';
    while (letter < 'z' && UsesPrefix(letter)) ++letter;
    for (int i = 0; i < ellipsis_; ++i) {
      map_.AddFactor(StrCat(letter, i), -1);
      map_.factors.back().from_ellipsis = true;
    }
  }

  bool UsesPrefix(char letter) const {
    for (const auto* side : {&line_.operands, &line_.results}) {
      for (const NotationTensor& tensor : *side) {
        for (const NotationDim& dim : tensor) {
          for (const NotationFactor& factor : dim.factors) {
            if (factor.name.size() > 1 && factor.name[0] == letter && std::isdigit(factor.name[1]) != 0) return true;
          }
        }
      }
    }
    return false;
  }

  Status MakeLetters() {
    for (const auto* side : {&line_.operands, &line_.results}) {
      for (const NotationTensor& tensor : *side) {
        for (const NotationDim& dim : tensor) {
          for (const NotationFactor& letter : dim.factors) SBP_RETURN_IF_ERROR(MakeLetter(letter));
        }
      }
    }
    return OkStatus();
  }

  Status MakeLetter(const NotationFactor& letter) {
    FactorId f = FindFactor(map_, letter.name);
    if (f < 0) f = map_.AddFactor(letter.name, -1);
    Factor& factor = map_.factors[f];
    factor.whole |= letter.whole;
    int64_t granularity = letter.granularity;
    if (!letter.granularity_name.empty()) {
      const AttributeValue* value = builder_.Attribute(letter.granularity_name);
      const auto* units = value == nullptr ? nullptr : std::get_if<int64_t>(value);
      if (units == nullptr || *units < 1) {
        return BadInput(StrCat("argument '", letter.granularity_name, "' must be a positive int: ", letter.name,
                               " is split in multiples of it"));
      }
      granularity = *units;
    }
    constexpr int64_t kLargest = int64_t{1} << 31;  // keeps the least common multiple within 64 bits
    factor.granularity = std::lcm(std::min(factor.granularity, kLargest), std::min(granularity, kLargest));
    return OkStatus();
  }

  FactorId EllipsisFactor(int ellipsis, int index) const { return ellipsis_ - ellipsis + index; }

  // The one factor of a dimension, or -1 for numbers, '_' and compound dimensions.
  FactorId SingleFactor(const NotationDim& dim, int ellipsis, int index) const {
    if (index >= 0) return EllipsisFactor(ellipsis, index);
    return dim.factors.size() == 1 ? FindFactor(map_, dim.factors[0].name) : -1;
  }

  Status SingleDims(const Pair& pair) {
    return ForEachDim(*pair.notation, pair.ellipsis, [&](int position, const NotationDim& dim, int index) {
      const int64_t size = ShapeOf(pair)[position];
      if (dim.literal >= 0 && dim.literal != size) return Mismatch(pair, position, dim.literal);
      const FactorId f = SingleFactor(dim, pair.ellipsis, index);
      if (f < 0) return OkStatus();
      Factor& factor = map_.factors[f];
      if (dim.ellipsis_whole) factor.whole = true;
      if (factor.size == size || size == 1) {
        if (factor.size < 0) Learn(f, size, pair, position);
        return OkStatus();
      }
      if (factor.size < 0 || factor.size == 1) {
        Learn(f, size, pair, position);
        return OkStatus();
      }
      const Pair& first = pairs_[sources_[f].first];
      return BadInput(
          StrCat(factor.from_ellipsis ? "dimensions do not fit" : StrCat("sizes of ", factor.name, " differ"), ": ",
                 factor.size, " in '", NameOf(first), "' (dimension ", sources_[f].second, " of ",
                 ToString(builder_.out.operands[first.operand]), "), ", size, " in '", NameOf(pair), "' (dimension ",
                 position, " of ", ToString(builder_.out.operands[pair.operand]), ")"));
    });
  }

  void Learn(FactorId f, int64_t size, const Pair& pair, int position) {
    map_.factors[f].size = size;
    if (sources_.size() < map_.factors.size()) sources_.resize(map_.factors.size());
    sources_[f] = {&pair - pairs_.data(), position};
  }

  Status Mismatch(const Pair& pair, int position, int64_t expected) const {
    return BadInput(StrCat("dimension ", position, " of '", NameOf(pair), "' must be ", expected, ", not ",
                           ShapeOf(pair)[position], " (", ToString(builder_.out.operands[pair.operand]), ")"));
  }

  // Size clauses and compound dimensions feed each other: repeat until nothing new is learnt.
  Status SolveSizes() {
    std::vector<const RuleClause*> clauses;
    for (const RuleClause& clause : line_.clauses) {
      if (clause.kind == "size") clauses.push_back(&clause);
    }
    bool progress = true;
    while (progress) {
      progress = false;
      for (const RuleClause*& clause : clauses) {
        if (clause == nullptr || !IsKnown(clause->expressions[0])) continue;
        SBP_RETURN_IF_ERROR(TakeSize(*clause));
        clause = nullptr;
        progress = true;
      }
      for (const Pair& pair : pairs_) SBP_RETURN_IF_ERROR(CompoundDims(pair, progress));
    }
    for (Factor& factor : map_.factors) {
      if (factor.size >= 0) continue;
      if (IsUsed(factor)) return BadInput(StrCat("the size of ", factor.name, " does not follow from the operands"));
      factor.size = 1;
    }
    return OkStatus();
  }

  // A letter that stands only with absent optional operands is left without a size, and is not used.
  bool IsUsed(const Factor& factor) const {
    auto in = [&](const NotationTensor& tensor) {
      for (const NotationDim& dim : tensor) {
        for (const NotationFactor& letter : dim.factors) {
          if (letter.name == factor.name) return true;
        }
      }
      return false;
    };
    for (const Pair& pair : pairs_) {
      if (in(*pair.notation)) return true;
    }
    for (size_t r = 0; r < line_.results.size(); ++r) {
      if (WantsAny(r) && in(line_.results[r])) return true;
    }
    return false;
  }

  bool WantsAny(size_t declared) const {
    const ParameterSlot& slot = builder_.binding.results[declared];
    for (int r = slot.first; r < slot.first + slot.count; ++r) {
      if (builder_.query.wanted[r]) return true;
    }
    return false;
  }

  bool IsKnown(const Expression& node) const {
    if (node.kind == Expression::Kind::kCall && node.text == "size") {
      FactorId f = FindFactor(map_, node.arguments[0].text);
      return f < 0 || map_.factors[f].size >= 0;
    }
    return std::all_of(node.arguments.begin(), node.arguments.end(), [&](const Expression& e) { return IsKnown(e); });
  }

  Status TakeSize(const RuleClause& clause) {
    SBP_ASSIGN_OR_RETURN(int64_t size, EvaluateInt(clause.expressions[0], InstanceScope(builder_)));
    Factor& factor = map_.factors[FindFactor(map_, clause.words[0])];
    if (size < 0) return BadInput(StrCat("the size of ", factor.name, " would be ", size));
    if (factor.size >= 0 && factor.size != size) {
      return BadInput(StrCat("the size of ", factor.name, " must be ", size, ", but an operand has ", factor.size));
    }
    factor.size = size;
    return OkStatus();
  }

  Status CompoundDims(const Pair& pair, bool& progress) {
    return ForEachDim(*pair.notation, pair.ellipsis, [&](int position, const NotationDim& dim, int) {
      if (dim.factors.size() < 2) return OkStatus();
      const int64_t size = ShapeOf(pair)[position];
      int64_t known = 1;
      FactorId unknown = -1;
      for (const NotationFactor& letter : dim.factors) {
        FactorId f = FindFactor(map_, letter.name);
        if (map_.factors[f].size >= 0) {
          known = SaturatingMul(known, map_.factors[f].size);
        } else if (unknown >= 0) {
          return OkStatus();  // two unknown ones: perhaps later
        } else {
          unknown = f;
        }
      }
      if (unknown < 0) return size == known || size == 1 ? OkStatus() : Mismatch(pair, position, known);
      if (known == 0 || size % known != 0) {
        return BadInput(
            StrCat("dimension ", position, " of '", NameOf(pair), "' (", size, ") is not divisible by ", known));
      }
      map_.factors[unknown].size = size / known;
      progress = true;
      return OkStatus();
    });
  }

  void PlaceOperand(const Pair& pair) {
    TensorFactors& dims = map_.operands[pair.operand];
    (void)ForEachDim(*pair.notation, pair.ellipsis, [&](int position, const NotationDim& dim, int index) {
      DimFactors factors = FactorsOf(dim, pair.ellipsis, index);
      // A dimension of size 1 whose factors are larger elsewhere stays whole.
      if (Product(factors) == ShapeOf(pair)[position]) dims[position] = std::move(factors);
      return OkStatus();
    });
  }

  DimFactors FactorsOf(const NotationDim& dim, int ellipsis, int index) const {
    if (index >= 0) return {EllipsisFactor(ellipsis, index)};
    DimFactors factors;
    for (const NotationFactor& letter : dim.factors) factors.push_back(FindFactor(map_, letter.name));
    return factors;
  }

  int64_t Product(const DimFactors& factors) const {
    int64_t size = 1;
    for (FactorId f : factors) size = SaturatingMul(size, map_.factors[f].size);
    return size;
  }

  Status Results() {
    for (size_t i = 0; i < line_.results.size(); ++i) {
      const ParameterSlot& slot = builder_.binding.results[i];
      for (int r = slot.first; r < slot.first + slot.count; ++r) {
        if (builder_.query.wanted[r]) SBP_RETURN_IF_ERROR(PlaceResult(line_.results[i], r));
      }
    }
    return OkStatus();
  }

  Status PlaceResult(const NotationTensor& notation, int result) {
    const int ellipsis = std::max(ellipsis_, 0);
    Shape shape;
    TensorFactors dims;
    SBP_RETURN_IF_ERROR(ForEachDim(notation, ellipsis, [&](int position, const NotationDim& dim, int index) {
      if (index < 0 && dim.factors.empty()) {
        dims.emplace_back();
        SBP_ASSIGN_OR_RETURN(int64_t size, PlainSize(dim, result, position));
        shape.push_back(size);
        return OkStatus();
      }
      dims.push_back(FactorsOf(dim, ellipsis, index));
      shape.push_back(Product(dims.back()));
      if (dim.ellipsis_whole) map_.factors[dims.back()[0]].whole = true;
      if (shape.back() == kInt64Max) return BadInput(StrCat("dimension ", position, " of the result is too large"));
      return OkStatus();
    }));
    if (shape.size() > static_cast<size_t>(kMaxRank))
      return BadInput(StrCat("a result has more than ", kMaxRank, " dimensions"));
    builder_.SetResultShape(result, std::move(shape));
    map_.results[result] = std::move(dims);
    return OkStatus();
  }

  // A number, or '_': what the file states.
  Result<int64_t> PlainSize(const NotationDim& dim, int result, int position) const {
    if (dim.literal >= 0) return dim.literal;
    const auto& stated = builder_.query.stated;
    if (static_cast<size_t>(result) < stated.size() && position < stated[result].rank() &&
        stated[result].shape[position] >= 0) {
      return stated[result].shape[position];
    }
    return BadInput(StrCat("the size of dimension ", position, " of result '", builder_.out.result_names[result],
                           "' is not known"));
  }

  const RuleLine& line_;
  InstanceBuilder& builder_;
  FactorMap& map_;
  std::vector<Pair> pairs_;
  int ellipsis_ = -1;                               // the longest "..." of all operands; its factors come first
  std::vector<std::pair<ptrdiff_t, int>> sources_;  // per factor: the pair and dimension that gave its size
};

}  // namespace

Status BindNotation(const RuleLine& line, InstanceBuilder& builder) { return NotationBinder(line, builder).Run(); }

}  // namespace sbp
