// Einsum: operands are joined from the left, two at a time. Of two, labels fall into batch (in both, and needed later),
// reduced (in both, and not), and those of one side; sorted in this way a join is one product of matrices per index of
// the batch. Operands are walked by strides, so that a diagonal or a stretched dimension costs nothing.
#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"
#include "kernel/cpu/convert.h"
#include "kernel/cpu/copy.h"
#include "kernel/cpu/elementwise.h"
#include "kernel/cpu/gemm.h"
#include "kernel/cpu/indices.h"
#include "kernel/cpu/kernels.h"
#include "kernel/scalar/binary.h"

namespace sbp::cpu {
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
  std::byte* data = nullptr;

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
  Contraction(KernelCall& call, DType type) : call_(call), type_(type), bytes_(ElementBytes(type)) {}

  // A repeated letter walks the diagonal; a dimension of size 1 is left out.
  Result<Factor> Read(const TensorView& view, const Labels& labels) {
    Factor factor;
    factor.data = const_cast<std::byte*>(ElementsAs(view, type_, *call_.scratch));
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
  Factor SumOut(const Factor& factor, const Labels& keep) {
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
    ones.data = call_.scratch->Allocate(bytes_);
    const int64_t one = 1;
    Convert(DType::kI64, reinterpret_cast<const std::byte*>(&one), 8, type_, ones.data, bytes_, 1);
    return Product(factor, ones, keep);
  }

  Result<Factor> Join(const Factor& a, const Factor& b, const Labels& keep) {
    Labels keep_a = keep, keep_b = keep;
    keep_a.insert(keep_a.end(), b.labels.begin(), b.labels.end());
    keep_b.insert(keep_b.end(), a.labels.begin(), a.labels.end());
    for (const Label label : a.labels) {
      if (b.Find(label) && a.SizeOf(label) != b.SizeOf(label)) return RunFailed("a letter has two sizes");
    }
    return Product(SumOut(a, keep_a), SumOut(b, keep_b), keep);
  }

  // Into `out`, whose dimensions carry `labels`.
  Status Write(const Factor& factor, const Labels& labels, std::byte* out, const Shape& shape) {
    std::vector<int64_t> from, to = RowMajorStrides(shape);
    for (int64_t& stride : to) stride *= bytes_;
    for (size_t d = 0; d < labels.size(); ++d) {
      const int64_t size = factor.SizeOf(labels[d]);
      if (size != shape[d]) return Defect("the result's shape does not follow from the equation");
      from.push_back(factor.StrideOf(labels[d]));
    }
    CopyStrided(shape, bytes_, factor.data, from, out, to);
    return OkStatus();
  }

 private:
  // Elements in the order of `labels`, row-major.
  const std::byte* Sorted(const Factor& factor, const Labels& labels, const Shape& shape) {
    std::vector<int64_t> from, to = RowMajorStrides(shape);
    bool same = true;
    for (size_t d = 0; d < labels.size(); ++d) {
      to[d] *= bytes_;
      from.push_back(factor.StrideOf(labels[d]));
      same &= from[d] == to[d];
    }
    if (same) return factor.data;
    int64_t n = bytes_;
    for (const int64_t size : shape) n *= size;
    std::byte* sorted = call_.scratch->Allocate(n);
    CopyStrided(shape, bytes_, factor.data, from, sorted, to);
    return sorted;
  }

  // Element by element, where nothing is reduced.
  void Multiply(const Factor& a, const Factor& b, Factor& out) {
    std::vector<int64_t> left, right;
    for (const Label label : out.labels) {
      left.push_back(a.StrideOf(label));
      right.push_back(b.StrideOf(label));
    }
    StridedLoop loop(out.shape);
    loop.AddStrided(out.data, out.strides, bytes_);
    loop.AddStrided(a.data, left, bytes_);
    loop.AddStrided(b.data, right, bytes_);
    scalar::MulOf f;
    InnerLoop line = BinaryLineFor<scalar::MulOf>(type_);
    if (type_ == DType::kU32) line = BinaryLine<uint32_t, scalar::MulOf>;
    loop.Run(line, &f);
  }

  Factor Product(const Factor& a, const Factor& b, const Labels& keep) {
    Labels batch, reduced, left, right;
    Factor out;
    for (const Label label : a.labels) {
      const bool kept = std::find(keep.begin(), keep.end(), label) != keep.end();
      (b.Find(label) ? (kept ? batch : reduced) : left).push_back(label);
    }
    for (const Label label : b.labels) {
      if (!a.Find(label)) right.push_back(label);
    }
    const auto shape_of = [&](const std::vector<const Labels*>& lists, Labels& labels, Shape& shape) {
      for (const Labels* list : lists) {
        for (const Label label : *list) {
          labels.push_back(label);
          shape.push_back(std::max(a.SizeOf(label), b.SizeOf(label)));
          if (a.SizeOf(label) == 0 || b.SizeOf(label) == 0) shape.back() = 0;
        }
      }
    };
    const auto count = [&](const Labels& labels) {
      Labels ignored;
      Shape shape;
      shape_of({&labels}, ignored, shape);
      int64_t n = 1;
      for (const int64_t size : shape) n *= size;
      return n;
    };
    shape_of({&batch, &left, &right}, out.labels, out.shape);
    out.strides = RowMajorStrides(out.shape);
    for (int64_t& stride : out.strides) stride *= bytes_;
    const int64_t batches = count(batch), m = count(left), n = count(right), k = count(reduced);
    out.data = call_.scratch->Allocate(batches * m * n * bytes_);
    if (reduced.empty()) {
      Multiply(a, b, out);
      return out;
    }
    Labels a_labels, b_labels;
    Shape a_shape, b_shape;
    shape_of({&batch, &left, &reduced}, a_labels, a_shape);
    shape_of({&batch, &reduced, &right}, b_labels, b_shape);
    const std::byte *a_data = Sorted(a, a_labels, a_shape), *b_data = Sorted(b, b_labels, b_shape);
    const GemmShape gemm{m, n, k, std::max<int64_t>(k, 1), std::max<int64_t>(n, 1), std::max<int64_t>(n, 1)};
    for (int64_t i = 0; i < batches; ++i) {
      Gemm(type_, gemm, a_data + i * m * k * bytes_, b_data + i * k * n * bytes_, out.data + i * m * n * bytes_, false,
           call_.threads);
    }
    return out;
  }

  KernelCall& call_;
  DType type_;
  int64_t bytes_;
};

}  // namespace

Status Einsum(KernelCall& call) {
  SBP_ASSIGN_OR_RETURN(const Equation equation, ReadEquation(call.attributes->String("equation", ""), call.inputs));
  TensorView& out = call.outputs[0];
  if (equation.result.size() != out.shape.size()) return Defect("the result's rank does not follow from the equation");
  const DType type = GemmType(out.dtype);
  Contraction contraction(call, type);
  SBP_ASSIGN_OR_RETURN(Factor joined, contraction.Read(call.inputs[0], equation.operands[0]));
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    SBP_ASSIGN_OR_RETURN(const Factor next, contraction.Read(call.inputs[i], equation.operands[i]));
    Labels keep = equation.result;
    for (size_t j = i + 1; j < call.inputs.size(); ++j)
      keep.insert(keep.end(), equation.operands[j].begin(), equation.operands[j].end());
    SBP_ASSIGN_OR_RETURN(joined, contraction.Join(joined, next, keep));
  }
  joined = contraction.SumOut(joined, equation.result);
  std::byte* result = ResultAs(out, type, *call.scratch);
  SBP_RETURN_IF_ERROR(contraction.Write(joined, equation.result, result, out.shape));
  FinishResult(result, type, out);
  return OkStatus();
}

}  // namespace sbp::cpu
