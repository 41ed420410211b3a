#include "huggingface/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "base/utf8.h"

namespace sbp::huggingface {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

// The keys of one rope, wherever they stand.
class RopeKeys {
 public:
  RopeKeys(Config& config, std::string_view layer_type) : config_(config) {
    inner_ = ObjectOf(config, config.Has("rope_parameters") ? "rope_parameters" : "rope_scaling");
    if (inner_ == nullptr || layer_type.empty()) return;
    const auto member = inner_->find(layer_type);
    if (member == inner_->end()) return;
    inner_ = member->is_object() ? &*member : nullptr;
    if (inner_ == nullptr && !member->is_null()) Refuse(layer_type, "is no object");
  }

  std::string Type() {
    for (const std::string_view key : {"rope_type", "type"}) {
      const Json* value = Find(key);
      if (value != nullptr && value->is_string()) return value->get<std::string>();
      if (value != nullptr) Refuse(key, "is no text");
    }
    return "default";
  }
  std::optional<double> Number(std::string_view key) {
    const Json* value = Find(key);
    if (value == nullptr) return std::nullopt;
    if (value->is_number() && std::isfinite(value->get<double>())) return value->get<double>();
    Refuse(key, "is no number");
    return std::nullopt;
  }
  // Of what something is divided by, or whose logarithm is taken.
  std::optional<double> Positive(std::string_view key) {
    const std::optional<double> number = Number(key);
    if (number && *number <= 0) Refuse(key, "is not above 0");
    return number;
  }
  double Needed(std::string_view key) {
    const std::optional<double> number = Number(key);
    if (number && *number > 0) return *number;
    config_.Refuse("rope_parameters", StrCat("rope_type ", Quote(Type()), " needs ", Quote(key), ", above 0"));
    return 1;
  }
  bool Flag(std::string_view key, bool fallback) {
    const Json* value = Find(key);
    if (value == nullptr) return fallback;
    if (!value->is_boolean()) Refuse(key, "is neither true nor false");
    return value->is_boolean() ? value->get<bool>() : fallback;
  }
  std::vector<double> Numbers(std::string_view key) {
    if (inner_ == nullptr) return {};
    Config inner(*inner_);
    std::vector<double> numbers = inner.Numbers(key);
    if (!inner.status().ok()) config_.Refuse("rope_parameters", inner.status().message());
    return numbers;
  }
  void Refuse(std::string_view key, std::string_view what) {
    config_.Refuse("rope_parameters", StrCat(Quote(key), " ", what));
  }

 private:
  static const Json* ObjectOf(Config& config, std::string_view key) {
    const Json* value = config.Find(key);
    if (value == nullptr || value->is_object()) return value;
    config.Refuse(key, "expected an object");
    return nullptr;
  }
  const Json* Find(std::string_view key) const {
    if (inner_ == nullptr) return nullptr;
    const auto it = inner_->find(key);
    return it == inner_->end() || it->is_null() ? nullptr : &*it;
  }

  Config& config_;
  const Json* inner_ = nullptr;
};

struct RopeRequest {
  double theta = 0;
  int64_t size = 0;  // elements that are turned
  double max_positions = 0;
};

void ScaleLinear(RopeKeys& keys, const RopeRequest& /*of*/, Rope& rope) {
  const double factor = keys.Needed("factor");
  for (float& frequency : rope.frequencies) frequency = static_cast<float>(frequency / factor);
}

// Long waves are stretched, short ones kept, what lies between is mixed.
void ScaleLlama3(RopeKeys& keys, const RopeRequest& /*of*/, Rope& rope) {
  const double factor = keys.Needed("factor"), low = keys.Needed("low_freq_factor"),
               high = keys.Needed("high_freq_factor"), original = keys.Needed("original_max_position_embeddings");
  if (high <= low) return keys.Refuse("high_freq_factor", "is not above \"low_freq_factor\"");
  for (float& frequency : rope.frequencies) {
    const double wave = kTurn / frequency;
    if (wave < original / high) continue;
    const double smooth = wave > original / low ? 0 : (original / wave - low) / (high - low);
    frequency = static_cast<float>((1 - smooth) * frequency / factor + smooth * frequency);
  }
}

double Mscale(double scale, double mscale) { return scale <= 1 ? 1 : 0.1 * mscale * std::log(scale) + 1; }

// What a zero among the keys, or a base of 1, makes.
bool IsFinite(const Rope& rope) {
  return std::isfinite(rope.factor) &&
         std::ranges::all_of(rope.frequencies, [](float frequency) { return std::isfinite(frequency); });
}

void ScaleYarn(RopeKeys& keys, const RopeRequest& of, Rope& rope) {
  const double original = keys.Positive("original_max_position_embeddings").value_or(of.max_positions);
  const double factor = keys.Positive("factor").value_or(of.max_positions / original);
  const double mscale = keys.Number("mscale").value_or(0), all = keys.Number("mscale_all_dim").value_or(0);
  rope.factor =
      keys.Number("attention_factor")
          .value_or(mscale != 0 && all != 0 ? Mscale(factor, mscale) / Mscale(factor, all) : Mscale(factor, 1));
  const auto size = static_cast<double>(of.size);
  const auto dimension = [&](double turns) {
    return size * std::log(original / (turns * kTurn)) / (2 * std::log(of.theta));
  };
  double low = dimension(keys.Positive("beta_fast").value_or(32)),
         high = dimension(keys.Positive("beta_slow").value_or(1));
  if (keys.Flag("truncate", true)) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, size - 1);
  if (low == high) high += 0.001;
  for (size_t i = 0; i < rope.frequencies.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    rope.frequencies[i] = static_cast<float>(rope.frequencies[i] / factor * ramp + rope.frequencies[i] * (1 - ramp));
  }
}

// As for sequences up to original_max_position_embeddings.
void ScaleLong(Config& config, RopeKeys& keys, const RopeRequest& of, Rope& rope) {
  const std::vector<double> factors = keys.Numbers("short_factor");
  if (factors.size() != rope.frequencies.size()) {
    return config.Refuse("rope_parameters", StrCat("\"short_factor\" has ", factors.size(), " numbers; expected ",
                                                   rope.frequencies.size()));
  }
  double original = of.max_positions;
  if (config.Has("original_max_position_embeddings")) {
    original = static_cast<double>(config.Size("original_max_position_embeddings"));
  } else if (const auto own = keys.Positive("original_max_position_embeddings")) {
    original = *own;
  }
  const double factor =
      original != of.max_positions ? of.max_positions / original : keys.Positive("factor").value_or(1);
  const double lengthened = factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(original));
  rope.factor = keys.Number("attention_factor").value_or(lengthened);
  for (size_t i = 0; i < factors.size(); ++i) {
    rope.frequencies[i] = static_cast<float>(rope.frequencies[i] / factors[i]);
  }
}

}  // namespace

Rope PlainRope(double theta, int64_t size) {
  Rope rope;
  for (int64_t i = 0; i < size; i += 2) {
    rope.frequencies.push_back(
        static_cast<float>(std::pow(theta, -static_cast<double>(i) / static_cast<double>(size))));
  }
  return rope;
}

Rope ReadRope(Config& config, const RopeDefaults& defaults, std::string_view layer_type) {
  RopeKeys keys(config, layer_type);
  RopeRequest of;
  of.max_positions = static_cast<double>(defaults.max_positions);
  of.theta = keys.Number("rope_theta").value_or(0);
  if (of.theta == 0) of.theta = config.Number("rope_theta", defaults.theta);
  const double partial =
      keys.Number("partial_rotary_factor").value_or(config.OptionalNumber("partial_rotary_factor", 1).value_or(1));
  if (!(partial > 0 && partial <= 1) || (partial != 1 && !defaults.is_partial)) {
    config.Refuse("partial_rotary_factor", StrCat(FormatDouble(partial), " is not supported for this model_type"));
    return {};
  }
  of.size = static_cast<int64_t>(static_cast<double>(defaults.head_size) * partial);
  if (of.size < 2 || of.size % 2 != 0) {
    config.Refuse("head_dim", StrCat("positions turn pairs of elements; a head has ", of.size, " that are turned"));
    return {};
  }
  if (!(of.theta > 0)) config.Refuse("rope_theta", "expected a number above 0");
  if (!config.status().ok()) return {};
  Rope rope = PlainRope(of.theta, of.size);
  const std::string type = keys.Type();
  if (type == "dynamic" || type == "longrope" || type == "su")
    config.Note(StrCat("rope_type ", type, ": positions turn as in sequences up to the length of the training"));
  if (type == "default" || type == "dynamic") return rope;
  if (type == "linear") {
    ScaleLinear(keys, of, rope);
  } else if (type == "llama3") {
    ScaleLlama3(keys, of, rope);
  } else if (type == "yarn") {
    ScaleYarn(keys, of, rope);
  } else if (type == "longrope" || type == "su") {
    ScaleLong(config, keys, of, rope);
  } else {
    const std::vector<std::string> known = {"default", "linear", "dynamic", "llama3", "yarn", "longrope"};
    config.Refuse("rope_parameters", StrCat("unknown rope_type ", Quote(CutAtCharacter(type, 60)), "; known: ",
                                            Join(known, ", "), DidYouMean(CutAtCharacter(type, 60), known)));
  }
  if (!IsFinite(rope)) config.Refuse("rope_parameters", "they make angles that are no numbers");
  return rope;
}

double YarnScoreFactor(Config& config) {
  RopeKeys keys(config, "");
  if (keys.Type() == "default") return 1;
  const double all = keys.Number("mscale_all_dim").value_or(0);
  if (all == 0) return 1;
  const double mscale = Mscale(keys.Needed("factor"), all);
  return mscale * mscale;
}

}  // namespace sbp::huggingface
