#include "grad/request.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"

namespace sbp {
namespace {

using Texts = std::vector<std::string>;

// A flag, and where its values are in the request.
struct FlagRow {
  std::string_view name;
  std::function<Texts(const GradRequest&)> values;  // as they would be given; none: the default
  std::function<bool(GradRequest&, const std::string& value)> set;
};

template <typename Find>
FlagRow TextRow(std::string_view name, Find find) {
  return {name,
          [find](const GradRequest& request) {
            const std::string& value = find(const_cast<GradRequest&>(request));
            return value.empty() ? Texts() : Texts{value};
          },
          [find](GradRequest& request, const std::string& value) {
            find(request) = value;
            return true;
          }};
}

template <typename Find>
FlagRow ListRow(std::string_view name, Find find) {
  return {name, [find](const GradRequest& request) { return find(const_cast<GradRequest&>(request)); },
          [find](GradRequest& request, const std::string& value) {
            find(request).push_back(value);
            return true;
          }};
}

template <typename Find>
FlagRow NumberRow(std::string_view name, double usual, Find find) {
  return {name,
          [find, usual](const GradRequest& request) {
            const double value = find(const_cast<GradRequest&>(request));
            return value == usual ? Texts() : Texts{FormatDouble(value)};
          },
          [find](GradRequest& request, const std::string& text) {
            const std::optional<double> value = ParseDouble(text);
            if (value) find(request) = *value;
            return value.has_value();
          }};
}

FlagRow WeightDecayRow() {
  return {"weight-decay",
          [](const GradRequest& request) {
            const std::optional<double>& decay = request.update.optimizer.weight_decay;
            return decay ? Texts{FormatDouble(*decay)} : Texts();
          },
          [](GradRequest& request, const std::string& text) {
            request.update.optimizer.weight_decay = ParseDouble(text);
            return request.update.optimizer.weight_decay.has_value();
          }};
}

FlagRow AccumulateRow() {
  return {"accumulate",
          [](const GradRequest& request) {
            const int64_t count = request.update.accumulate;
            return count == 1 ? Texts() : Texts{StrCat(count)};
          },
          [](GradRequest& request, const std::string& text) {
            const std::optional<int64_t> value = ParseInt(text);
            if (value) request.update.accumulate = *value;
            return value.has_value();
          }};
}

template <typename Find>
FlagRow SwitchRow(std::string_view name, Find find) {
  return {
      name,
      [find](const GradRequest& request) { return find(const_cast<GradRequest&>(request)) ? Texts{"true"} : Texts(); },
      [find](GradRequest& request, const std::string& text) {
        find(request) = text == "true";
        return text == "true" || text == "false";
      }};
}

const std::vector<FlagRow>& Rows() {
  using R = GradRequest;
  static const std::vector<FlagRow> rows = {
      TextRow("loss", [](R& r) -> std::string& { return r.loss; }),
      ListRow("wrt", [](R& r) -> Texts& { return r.wrt; }),
      ListRow("freeze", [](R& r) -> Texts& { return r.freeze; }),
      ListRow("wrt-inputs", [](R& r) -> Texts& { return r.wrt_inputs; }),
      TextRow("optimizer", [](R& r) -> std::string& { return r.update.optimizer.optimizer; }),
      WeightDecayRow(),
      ListRow("no-decay", [](R& r) -> Texts& { return r.update.optimizer.no_decay; }),
      NumberRow("clip-norm", 0, [](R& r) -> double& { return r.update.clip_norm; }),
      TextRow("compute", [](R& r) -> std::string& { return r.compute; }),
      TextRow("state-dtype", [](R& r) -> std::string& { return r.update.optimizer.state_type; }),
      NumberRow("loss-scale", 1, [](R& r) -> double& { return r.update.loss_scale; }),
      AccumulateRow(),
      SwitchRow("gradient-buffers", [](R& r) -> bool& { return r.update.gradient_buffers; }),
      TextRow("custom-vjp", [](R& r) -> std::string& { return r.custom_vjp; }),
      TextRow("remat", [](R& r) -> std::string& { return r.remat; }),
      SwitchRow("train-mode", [](R& r) -> bool& { return r.train_mode; }),
      SwitchRow("decompose", [](R& r) -> bool& { return r.decompose; }),
      SwitchRow("hvp", [](R& r) -> bool& { return r.hvp; }),
      ListRow("expanded", [](R& r) -> Texts& { return r.expanded; }),
  };
  return rows;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> FlagsOf(const GradRequest& request) {
  std::vector<std::pair<std::string, std::string>> flags;
  for (const FlagRow& row : Rows()) {
    for (std::string& value : row.values(request)) flags.emplace_back(row.name, std::move(value));
  }
  return flags;
}

Result<GradRequest> ReadFlags(const std::vector<std::pair<std::string, std::string>>& flags) {
  GradRequest request;
  for (const auto& [name, value] : flags) {
    const FlagRow* found = nullptr;
    std::vector<std::string> names;
    for (const FlagRow& row : Rows()) {
      if (row.name == name) found = &row;
      names.emplace_back(row.name);
    }
    if (found == nullptr) return BadInput(StrCat("unknown training flag ", Quote(name), DidYouMean(name, names)));
    if (!found->set(request, value))
      return BadInput(StrCat("training flag ", name, ": ", Quote(value), " is no value"));
  }
  return request;
}

}  // namespace sbp
