// TfIdfVectorizer: how often each listed n-gram occurs in each row of tokens, weighted.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "kernel/convert.h"
#include "kernel/cpu/gemm.h"
#include "kernel/cpu/kernels.h"
#include "kernel/kernel.h"
#include "kernel/view.h"

namespace sbp::cpu {
namespace {

using Tokens = std::vector<int64_t>;

struct NGram {
  int64_t column = 0;
  double weight = 1;
};
// By their tokens; those of one length only.
using NGrams = std::map<Tokens, NGram>;

struct Pool {
  std::vector<NGrams> by_length;  // by length - 1
  bool counts = true, weighs = true;
};

// ngram_counts says where in the pool the n-grams of each length begin.
Result<Pool> ReadPool(const Attributes& attributes) {
  const Tokens* tokens = attributes.Ints("pool_int64s");
  const Tokens* starts = attributes.Ints("ngram_counts");
  const Tokens* columns = attributes.Ints("ngram_indexes");
  const AttributeValue* given = attributes.Find("weights");
  const auto* weights = given == nullptr ? nullptr : std::get_if<std::vector<double>>(given);
  if (tokens == nullptr || starts == nullptr || columns == nullptr) {
    return RunFailed("pool_int64s, ngram_counts or ngram_indexes is missing");
  }
  Pool pool;
  const std::string mode = attributes.String("mode", "TF");
  pool.counts = mode != "IDF";
  pool.weighs = mode != "TF" && weights != nullptr;
  size_t number = 0;  // of the n-gram, in the order of the pool
  for (size_t i = 0; i < starts->size(); ++i) {
    const auto length = static_cast<int64_t>(i) + 1;
    const auto size = static_cast<int64_t>(tokens->size());
    const int64_t begin = (*starts)[i], end = i + 1 < starts->size() ? (*starts)[i + 1] : size;
    if (begin < 0 || begin > end || end > size || (end - begin) % length != 0) {
      return RunFailed(StrCat("ngram_counts does not cut the pool into n-grams of length ", length));
    }
    NGrams& ngrams = pool.by_length.emplace_back();
    for (int64_t at = begin; at < end; at += length, ++number) {
      if (number >= columns->size() || (pool.weighs && number >= weights->size())) {
        return RunFailed("ngram_indexes or weights has fewer entries than the pool has n-grams");
      }
      ngrams[Tokens(tokens->begin() + at, tokens->begin() + at + length)] = {(*columns)[number],
                                                                             pool.weighs ? (*weights)[number] : 1};
    }
  }
  return pool;
}

struct Lengths {
  int64_t least = 1, most = 1, most_skipped = 0;
};

// Calls visit(n-gram) for each one of the row that the pool lists: of every length, its tokens side by side or with up
// to so many others between each two. Single tokens have none between them and count once.
template <typename F>
void VisitNGrams(const Pool& pool, const Lengths& lengths, const int64_t* row, int64_t size, F visit) {
  for (int64_t length = lengths.least; length <= lengths.most; ++length) {
    if (length > static_cast<int64_t>(pool.by_length.size())) break;
    const NGrams& ngrams = pool.by_length[static_cast<size_t>(length - 1)];
    Tokens tokens(static_cast<size_t>(length));
    for (int64_t step = 1; step <= (length == 1 ? 1 : lengths.most_skipped + 1) && !ngrams.empty(); ++step) {
      if (length > 1 && step > (size - 1) / (length - 1)) break;  // longer than the row
      for (int64_t start = 0; start + step * (length - 1) < size; ++start) {
        for (int64_t i = 0; i < length; ++i) tokens[static_cast<size_t>(i)] = row[start + i * step];
        const auto found = ngrams.find(tokens);
        if (found != ngrams.end()) visit(found->second);
      }
    }
  }
}

}  // namespace

Status TfIdfVectorizer(KernelCall& call) {
  const TensorView& x = call.inputs[0];
  TensorView& y = call.outputs[0];
  SBP_ASSIGN_OR_RETURN(const Pool pool, ReadPool(*call.attributes));
  const Lengths lengths{call.attributes->Int("min_gram_length", 1), call.attributes->Int("max_gram_length", 1),
                        call.attributes->Int("max_skip_count", 0)};
  if (lengths.least < 1 || lengths.most < lengths.least || lengths.most_skipped < 0) {
    return RunFailed("the lengths of n-grams, or how many tokens are skipped, make no range");
  }
  const int64_t size = x.shape.back(), width = y.shape.back();
  auto* tokens = call.scratch->Allocate<int64_t>(x.elements());
  Convert(x.dtype, x.data, ElementBytes(x.dtype), DType::kI64, reinterpret_cast<std::byte*>(tokens), sizeof(int64_t),
          x.elements());
  std::byte* result = ResultAs(y, DType::kF32, *call.scratch);
  auto* out = reinterpret_cast<float*>(result);
  std::fill(out, out + y.elements(), 0.0F);
  const int64_t rows = width > 0 ? y.elements() / width : 0;
  for (int64_t row = 0; row < rows; ++row) {
    bool inside = true;
    VisitNGrams(pool, lengths, tokens + row * size, size, [&](const NGram& ngram) {
      inside = inside && ngram.column >= 0 && ngram.column < width;
      if (!inside) return;
      float& number = out[row * width + ngram.column];
      const auto weight = static_cast<float>(ngram.weight);
      number = pool.counts ? number + weight : weight;
    });
    if (!inside) return RunFailed("an entry of ngram_indexes is negative");
  }
  FinishResult(result, DType::kF32, y);
  return OkStatus();
}

}  // namespace sbp::cpu
