#include "stablehlo/donations.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace sbp::stablehlo {
namespace {

class Reader {
 public:
  Reader(const std::vector<TensorType>& arguments, const std::vector<TensorType>& results, const Cursor& place)
      : arguments_(arguments), results_(results), place_(place), takes_(results.size()) {}

  // `tf.aliasing_output` of one argument.
  Status Alias(size_t argument, const Attribute& given) {
    const auto error = [&](std::string_view what) {
      return place_.ErrorAt(given.entry_begin, StrCat("tf.aliasing_output ", what));
    };
    if (given.kind != Attribute::Kind::kInteger) return error("is no integer: expected the number of a result");
    const int64_t number = given.integer;
    const std::string is = StrCat("is ", number, ": ");
    if (number < 0 || number >= static_cast<int64_t>(results_.size())) {
      return error(StrCat(is, "main has ", results_.size(), " results, counted from 0"));
    }
    const auto result = static_cast<size_t>(number);
    if (takes_[result]) return error(StrCat(is, "that result takes the memory of argument ", *takes_[result]));
    if (results_[result] != arguments_[argument]) {
      return error(
          StrCat(is, "the argument is ", ToString(arguments_[argument]), ", that result ", ToString(results_[result])));
    }
    Take(argument, result);
    return OkStatus();
  }

  // `jax.buffer_donor` of one argument, once all aliases are known.
  Status Donor(size_t argument, const Attribute& given) {
    if (given.kind != Attribute::Kind::kInteger) {
      return place_.ErrorAt(given.entry_begin, "jax.buffer_donor: expected true or false");
    }
    if (given.integer == 0) return OkStatus();
    for (size_t result = 0; result < results_.size(); ++result) {
      if (takes_[result] || results_[result] != arguments_[argument]) continue;
      Take(argument, result);
      break;
    }
    return OkStatus();
  }

  std::vector<Donation> TakeAll() {
    std::ranges::sort(donations_, {}, &Donation::argument);
    return std::move(donations_);
  }

 private:
  void Take(size_t argument, size_t result) {
    takes_[result] = argument;
    donations_.push_back({argument, result});
  }

  const std::vector<TensorType>& arguments_;
  const std::vector<TensorType>& results_;
  const Cursor& place_;
  std::vector<std::optional<size_t>> takes_;  // per result: the argument
  std::vector<Donation> donations_;
};

}  // namespace

Result<std::vector<Donation>> Donations(const Operation& main, const std::vector<TensorType>& arguments,
                                        const std::vector<TensorType>& results, const Cursor& place) {
  Reader reader(arguments, results, place);
  const auto given = main.attributes.find("arg_attrs");
  if (given == main.attributes.end()) return reader.TakeAll();
  const std::vector<Attribute>& attributes = given->second.list;
  const size_t count = std::min(attributes.size(), arguments.size());
  for (size_t i = 0; i < count; ++i) {
    const auto alias = attributes[i].entries.find("tf.aliasing_output");
    if (alias != attributes[i].entries.end()) SBP_RETURN_IF_ERROR(reader.Alias(i, alias->second));
  }
  for (size_t i = 0; i < count; ++i) {
    const auto donor = attributes[i].entries.find("jax.buffer_donor");
    const bool is_alias = attributes[i].entries.contains("tf.aliasing_output");
    if (donor != attributes[i].entries.end() && !is_alias) SBP_RETURN_IF_ERROR(reader.Donor(i, donor->second));
  }
  return reader.TakeAll();
}

}  // namespace sbp::stablehlo
