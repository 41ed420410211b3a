#include "aten/aliases.h"

#include <algorithm>
#include <iterator>

namespace sbp {
namespace {

struct Alias {
  std::string_view name, op;
};
constexpr Alias kAliases[] = {
    {"aten::_adaptive_avg_pool2d", "aten::adaptive_avg_pool2d"},
    {"aten::_adaptive_avg_pool3d", "aten::adaptive_avg_pool3d"},
    {"aten::_embedding_bag", "aten::embedding_bag"},
    {"aten::_embedding_bag_forward_only", "aten::embedding_bag"},
    {"aten::absolute", "aten::abs"},
    {"aten::arccos", "aten::acos"},
    {"aten::arccosh", "aten::acosh"},
    {"aten::arcsin", "aten::asin"},
    {"aten::arcsinh", "aten::asinh"},
    {"aten::arctan", "aten::atan"},
    {"aten::arctan2", "aten::atan2"},
    {"aten::arctanh", "aten::atanh"},
    {"aten::clip", "aten::clamp"},
    {"aten::cross", "aten::linalg_cross"},
    {"aten::concat", "aten::cat"},
    {"aten::concatenate", "aten::cat"},
    {"aten::divide", "aten::div"},
    {"aten::feature_alpha_dropout", "aten::alpha_dropout"},
    {"aten::fix", "aten::trunc"},
    {"aten::ger", "aten::outer"},
    {"aten::greater", "aten::gt"},
    {"aten::greater_equal", "aten::ge"},
    {"aten::less", "aten::lt"},
    {"aten::less_equal", "aten::le"},
    {"aten::linalg_matmul", "aten::matmul"},
    {"aten::moveaxis", "aten::movedim"},
    {"aten::multiply", "aten::mul"},
    {"aten::narrow_copy", "aten::narrow"},
    {"aten::negative", "aten::neg"},
    {"aten::not_equal", "aten::ne"},
    {"aten::row_stack", "aten::vstack"},
    {"aten::sgn", "aten::sign"},
    {"aten::special_digamma", "aten::digamma"},
    {"aten::special_erf", "aten::erf"},
    {"aten::special_erfc", "aten::erfc"},
    {"aten::special_erfinv", "aten::erfinv"},
    {"aten::special_exp2", "aten::exp2"},
    {"aten::special_expit", "aten::sigmoid"},
    {"aten::special_expm1", "aten::expm1"},
    {"aten::special_gammaln", "aten::lgamma"},
    {"aten::special_i0", "aten::i0"},
    {"aten::special_log1p", "aten::log1p"},
    {"aten::special_log_softmax", "aten::log_softmax"},
    {"aten::special_logit", "aten::logit"},
    {"aten::special_logsumexp", "aten::logsumexp"},
    {"aten::special_multigammaln", "aten::mvlgamma"},
    {"aten::special_polygamma", "aten::polygamma"},
    {"aten::special_psi", "aten::digamma"},
    {"aten::special_sinc", "aten::sinc"},
    {"aten::special_softmax", "aten::softmax"},
    {"aten::special_xlogy", "aten::xlogy"},
    {"aten::subtract", "aten::sub"},
    {"aten::swapdims", "aten::transpose"},
    {"aten::true_divide", "aten::div"},
};

}  // namespace

std::string_view OwnNameOf(std::string_view op) {
  const auto* const found = std::ranges::find(kAliases, op, &Alias::name);
  return found == std::end(kAliases) ? op : found->op;
}

}  // namespace sbp
