#include "generate/sizes.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/text.h"

namespace sbp {
namespace {

// Elements; counts of bytes and of operations stay far from overflow.
constexpr int64_t kMostOfTensor = int64_t{1} << 50, kMostOfAll = int64_t{1} << 54;
constexpr int64_t kWidestHead = 1 << 16;  // each has a table of frequencies or slopes

using Factors = std::initializer_list<std::pair<std::string_view, int64_t>>;

int64_t ProductOf(const Factors& factors) {
  int64_t product = 1;
  for (const auto& [flag, size] : factors) product = SaturatingMul(product, size);
  return product;
}

Status CheckProduct(std::string_view what, const Factors& factors, int64_t most) {
  if (ProductOf(factors) <= most) return OkStatus();
  std::vector<std::string> texts;
  for (const auto& [flag, size] : factors) texts.push_back(StrCat(flag, " ", size));
  return UsageError(StrCat(Join(texts, " x "), ": ", what, " of more than ", FormatCount(most), " elements"));
}

}  // namespace

Status CheckSizes(const DecoderSizes& sizes) {
  const std::pair<std::string_view, int64_t> layers = {"--layers", sizes.layers}, hidden = {"--hidden", sizes.hidden},
                                             ffn = {"--ffn", sizes.feed_forward}, heads = {"--heads", sizes.heads},
                                             vocabulary = {"--vocab", sizes.vocabulary},
                                             batch = {"--batch", sizes.batch}, sequence = {"--seq", sizes.sequence},
                                             top_k = {"--top-k", sizes.top_k}, experts = {"--experts", sizes.experts},
                                             shared = {"--shared-ffn", sizes.shared_feed_forward};
  if (sizes.hidden / sizes.heads > kWidestHead) {
    return UsageError(StrCat("--hidden ", sizes.hidden, " in --heads ", sizes.heads, ": a head wider than ",
                             FormatCount(kWidestHead)));
  }
  const auto check = [](std::string_view what, const Factors& factors) {
    return CheckProduct(what, factors, kMostOfTensor);
  };
  SBP_RETURN_IF_ERROR(check("a weight", {hidden, hidden}));
  SBP_RETURN_IF_ERROR(check("a weight", {vocabulary, hidden}));
  SBP_RETURN_IF_ERROR(check("a table", {sequence, hidden}));
  SBP_RETURN_IF_ERROR(check("a result", {batch, sequence, hidden}));
  SBP_RETURN_IF_ERROR(check("a result", {batch, sequence, vocabulary}));
  SBP_RETURN_IF_ERROR(CheckProduct("scores", {batch, heads, sequence, sequence}, kMostOfAll));
  SBP_RETURN_IF_ERROR(CheckProduct("weights", {layers, hidden, hidden}, kMostOfAll));
  if (sizes.experts == 0) {
    SBP_RETURN_IF_ERROR(check("a weight", {hidden, ffn}));
    SBP_RETURN_IF_ERROR(check("a result", {batch, sequence, ffn}));
    return CheckProduct("weights", {layers, hidden, ffn}, kMostOfAll);
  }
  SBP_RETURN_IF_ERROR(check("a weight", {experts, hidden, ffn}));
  SBP_RETURN_IF_ERROR(check("a result", {batch, sequence, experts}));
  SBP_RETURN_IF_ERROR(check("a result", {batch, sequence, top_k, hidden}));
  SBP_RETURN_IF_ERROR(check("a result", {batch, sequence, top_k, ffn}));
  SBP_RETURN_IF_ERROR(CheckProduct("weights", {layers, experts, hidden, ffn}, kMostOfAll));
  if (sizes.shared_feed_forward == 0) return OkStatus();
  SBP_RETURN_IF_ERROR(check("a result", {batch, sequence, shared}));
  return CheckProduct("weights", {layers, hidden, shared}, kMostOfAll);
}

}  // namespace sbp
