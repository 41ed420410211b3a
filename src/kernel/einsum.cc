#include "kernel/einsum.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/text.h"
#include "kernel/view.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// A letter, or kEllipsis + j: the dimension of "..." that is the j-th from the right.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kEllipsis = 256;

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

struct Term {
  std::string letters;  // '.' stands for "..."
  bool has_ellipsis = false;
};

Result<Term> ReadTerm(std::string_view text) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text[i] == '.') {
      if (text.substr(i, 3) != "..." || term.has_ellipsis) return RunFailed("'...' is misplaced in the equation");
      term.has_ellipsis = true;
      i += 2;
    } else if (!std::isalpha(static_cast<unsigned char>(text[i]))) {
      return RunFailed("the equation holds what is no letter");
    }
    term.letters += text[i];
  }
  return term;
}

Labels LabelsOf(const Term& term, int ellipsis_rank) {
  Labels labels;
  for (const char c : term.letters) {
    if (c != '.') {
      labels.push_back(static_cast<unsigned char>(c));
      continue;
    }
    for (int j = ellipsis_rank; j-- > 0;) labels.push_back(kEllipsis + j);
  }
  return labels;
}

// Without an arrow: "..." first, then the letters that occur once, in alphabetical order.
Labels ImpliedResult(const std::vector<Labels>& operands, int ellipsis_rank) {
  std::map<Label, int> counts;
  for (const Labels& labels : operands) {
    for (const Label label : labels) ++counts[label];
  }
  Labels result;
  for (int j = ellipsis_rank; j-- > 0;) result.push_back(kEllipsis + j);
  for (const auto& [label, count] : counts) {
    if (label < kEllipsis && count == 1) result.push_back(label);
  }
  return result;
}

Result<Equation> ReadEquation(const std::string& text, const std::vector<TensorView>& inputs) {
  const size_t arrow = text.find("->");
  Equation equation;
  int longest = 0;
  const std::vector<std::string_view> parts = Split(std::string_view(text).substr(0, arrow), ',');
  if (parts.size() != inputs.size()) return RunFailed("the equation has other operands than there are");
  for (size_t i = 0; i < parts.size(); ++i) {
    SBP_ASSIGN_OR_RETURN(const Term term, ReadTerm(parts[i]));
    const int rest = inputs[i].rank() - static_cast<int>(term.letters.size()) + (term.has_ellipsis ? 1 : 0);
    if (rest < 0 || (rest > 0 && !term.has_ellipsis)) return RunFailed("a term does not fit the rank of its operand");
    longest = std::max(longest, term.has_ellipsis ? rest : 0);
    equation.operands.push_back(LabelsOf(term, rest));
  }
  if (arrow == std::string::npos) {
    equation.result = ImpliedResult(equation.operands, longest);
  } else {
    SBP_ASSIGN_OR_RETURN(const Term term, ReadTerm(std::string_view(text).substr(arrow + 2)));
    equation.result = LabelsOf(term, longest);
  }
  return equation;
}

// A tensor of distinct labels, none of size 1; strides in bytes.
struct Factor {
  Labels labels;
  Shape shape;
  std::vector<int64_t> strides;
  const std::byte* data = nullptr;

  std::optional<size_t> Find(Label label) const {
    const auto it = std::find(labels.begin(), labels.end(), label);
    return it == labels.end() ? std::nullopt : std::optional<size_t>(it - labels.begin());
  }
  int64_t SizeOf(Label label) const {
    const auto d = Find(label);
    return d ? shape[*d] : 1;
  }
  int64_t StrideOf(Label label) const {
    const auto d = Find(label);
    return d ? strides[*d] : 0;
  }
};

class Contraction {
 public:
  explicit Contraction(EinsumDevice& device) : device_(device), bytes_(device.element_bytes()) {}

  // A repeated letter walks the diagonal; a dimension of size 1 is left out.
  Result<Factor> Read(const TensorView& view, const Labels& labels) {
    Factor factor;
    SBP_ASSIGN_OR_RETURN(factor.data, device_.Elements(view));
    const std::vector<int64_t> strides = RowMajorStrides(view.shape);
    for (size_t d = 0; d < labels.size(); ++d) {
      if (view.shape[d] == 1) continue;
      if (const auto seen = factor.Find(labels[d])) {
        if (factor.shape[*seen] != view.shape[d]) return RunFailed("a repeated letter has two sizes");
        factor.strides[*seen] += strides[d] * bytes_;
        continue;
      }
      factor.labels.push_back(labels[d]);
      factor.shape.push_back(view.shape[d]);
      factor.strides.push_back(strides[d] * bytes_);
    }
    return factor;
  }

  // Sums over the labels that are not kept.
  Result<Factor> SumOut(const Factor& factor, const Labels& keep) {
    Factor ones;
    Labels gone;
    for (const Label label : factor.labels) {
      if (std::find(keep.begin(), keep.end(), label) == keep.end()) gone.push_back(label);
    }
    if (gone.empty()) return factor;
    // A product with ones that carry these labels: one 1, walked without a step.
    ones.labels = gone;
    for (const Label label : gone) ones.shape.push_back(factor.SizeOf(label));
    ones.strides.assign(gone.size(), 0);
    SBP_ASSIGN_OR_RETURN(ones.data, device_.One());
    return Product(factor, ones, keep);
  }

  Result<Factor> Join(const Factor& a, const Factor& b, const Labels& keep) {
    Labels keep_a = keep, keep_b = keep;
    keep_a.insert(keep_a.end(), b.labels.begin(), b.labels.end());
    keep_b.insert(keep_b.end(), a.labels.begin(), a.labels.end());
    for (const Label label : a.labels) {
      if (b.Find(label) && a.SizeOf(label) != b.SizeOf(label)) return RunFailed("a letter has two sizes");
    }
    SBP_ASSIGN_OR_RETURN(const Factor left, SumOut(a, keep_a));
    SBP_ASSIGN_OR_RETURN(const Factor right, SumOut(b, keep_b));
    return Product(left, right, keep);
  }

  // Into `out`, whose dimensions carry `labels`.
  Status Write(const Factor& factor, const Labels& labels, std::byte* out, const Shape& shape) {
    std::vector<int64_t> from;
    for (size_t d = 0; d < labels.size(); ++d) {
      if (factor.SizeOf(labels[d]) != shape[d]) return Defect("the result's shape does not follow from the equation");
      from.push_back(factor.StrideOf(labels[d]));
    }
    return device_.Copy(shape, factor.data, from, out, DenseStrides(shape));
  }

 private:
  std::vector<int64_t> DenseStrides(const Shape& shape) const {
    std::vector<int64_t> strides = RowMajorStrides(shape);
    for (int64_t& stride : strides) stride *= bytes_;
    return strides;
  }

  // Elements in the order of `labels`, row-major.
  Result<const std::byte*> Sorted(const Factor& factor, const Labels& labels, const Shape& shape) {
    std::vector<int64_t> from;
    const std::vector<int64_t> to = DenseStrides(shape);
    bool same = true;
    for (size_t d = 0; d < labels.size(); ++d) {
      from.push_back(factor.StrideOf(labels[d]));
      same &= from[d] == to[d];
    }
    if (same) return factor.data;
    int64_t n = bytes_;
    for (const int64_t size : shape) n *= size;
    SBP_ASSIGN_OR_RETURN(std::byte * sorted, device_.Allocate(n));
    SBP_RETURN_IF_ERROR(device_.Copy(shape, factor.data, from, sorted, to));
    return sorted;
  }

  // Where nothing is reduced.
  Status Multiply(const Factor& a, const Factor& b, const Factor& out, std::byte* data) {
    std::vector<int64_t> left, right;
    for (const Label label : out.labels) {
      left.push_back(a.StrideOf(label));
      right.push_back(b.StrideOf(label));
    }
    return device_.Multiply(out.shape, a.data, left, b.data, right, data);
  }

  // The labels of several lists, with the sizes that either operand gives them.
  struct Dims {
    Labels labels;
    Shape shape;
    int64_t count = 1;
  };
  static Dims DimsOf(const Factor& a, const Factor& b, std::initializer_list<const Labels*> lists) {
    Dims dims;
    for (const Labels* list : lists) {
      for (const Label label : *list) {
        dims.labels.push_back(label);
        dims.shape.push_back(std::max(a.SizeOf(label), b.SizeOf(label)));
        if (a.SizeOf(label) == 0 || b.SizeOf(label) == 0) dims.shape.back() = 0;
        dims.count *= dims.shape.back();
      }
    }
    return dims;
  }

  Result<Factor> Product(const Factor& a, const Factor& b, const Labels& keep) {
    Labels batch, reduced, left, right;
    for (const Label label : a.labels) {
      const bool kept = std::find(keep.begin(), keep.end(), label) != keep.end();
      (b.Find(label) ? (kept ? batch : reduced) : left).push_back(label);
    }
    for (const Label label : b.labels) {
      if (!a.Find(label)) right.push_back(label);
    }
    const Dims dims = DimsOf(a, b, {&batch, &left, &right});
    Factor out;
    out.labels = dims.labels;
    out.shape = dims.shape;
    out.strides = DenseStrides(out.shape);
    SBP_ASSIGN_OR_RETURN(std::byte * data, device_.Allocate(dims.count * bytes_));
    out.data = data;
    if (reduced.empty()) {
      SBP_RETURN_IF_ERROR(Multiply(a, b, out, data));
      return out;
    }
    const Dims a_dims = DimsOf(a, b, {&batch, &left, &reduced}), b_dims = DimsOf(a, b, {&batch, &reduced, &right});
    SBP_ASSIGN_OR_RETURN(const std::byte* a_data, Sorted(a, a_dims.labels, a_dims.shape));
    SBP_ASSIGN_OR_RETURN(const std::byte* b_data, Sorted(b, b_dims.labels, b_dims.shape));
    const auto count = [&](const Labels& labels) { return DimsOf(a, b, {&labels}).count; };
    SBP_RETURN_IF_ERROR(
        device_.Products(count(batch), count(left), count(right), count(reduced), a_data, b_data, data));
    return out;
  }

  EinsumDevice& device_;
  int64_t bytes_;
};

}  // namespace

Status RunEinsum(const KernelCall& call, EinsumDevice& device, std::byte* result) {
  SBP_ASSIGN_OR_RETURN(const Equation equation, ReadEquation(call.attributes->String("equation", ""), call.inputs));
  const TensorView& out = call.outputs[0];
  if (equation.result.size() != out.shape.size()) return Defect("the result's rank does not follow from the equation");
  Contraction contraction(device);
  SBP_ASSIGN_OR_RETURN(Factor joined, contraction.Read(call.inputs[0], equation.operands[0]));
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    SBP_ASSIGN_OR_RETURN(const Factor next, contraction.Read(call.inputs[i], equation.operands[i]));
    Labels keep = equation.result;
    for (size_t j = i + 1; j < call.inputs.size(); ++j)
      keep.insert(keep.end(), equation.operands[j].begin(), equation.operands[j].end());
    SBP_ASSIGN_OR_RETURN(joined, contraction.Join(joined, next, keep));
  }
  SBP_ASSIGN_OR_RETURN(joined, contraction.SumOut(joined, equation.result));
  return contraction.Write(joined, equation.result, result, out.shape);
}

}  // namespace sbp
