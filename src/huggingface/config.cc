#include "huggingface/config.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/text.h"

namespace sbp::huggingface {

namespace {

// What transformers reads elsewhere, or for dropout and losses of its own: no part of the graph.
constexpr std::string_view kHarmless[] = {"_name_or_path",
                                          "_attn_implementation_autoset",
                                          "architectures",
                                          "attention_dropout",
                                          "attn_pdrop",
                                          "auto_map",
                                          "aux_loss_alpha",
                                          "bos_token_id",
                                          "cache_implementation",
                                          "embd_pdrop",
                                          "eos_token_id",
                                          "ep_size",
                                          "gradient_checkpointing",
                                          "hidden_act",
                                          "initializer_range",
                                          "max_position_embeddings",
                                          "max_window_layers",
                                          "model_type",
                                          "moe_layer_freq",
                                          "n_ctx",
                                          "num_nextn_predict_layers",
                                          "pad_token_id",
                                          "pretraining_tp",
                                          "head_dim",
                                          "qk_head_dim",
                                          "resid_pdrop",
                                          "rope_parameters",
                                          "rope_scaling",
                                          "rope_theta",
                                          "router_aux_loss_coef",
                                          "router_jitter_noise",
                                          "scoring_func",
                                          "seq_aux",
                                          "sliding_window",
                                          "summary_activation",
                                          "summary_first_dropout",
                                          "summary_proj_to_labels",
                                          "summary_type",
                                          "summary_use_proj",
                                          "task_specific_params",
                                          "topk_method",
                                          "torch_dtype",
                                          "dtype",
                                          "transformers_version",
                                          "use_cache",
                                          "use_sliding_window",
                                          "original_max_position_embeddings"};

}  // namespace

std::vector<std::string> Config::Unread() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object_.items()) {
    const bool is_known = asked_.contains(key) || std::ranges::find(kHarmless, key) != std::end(kHarmless);
    if (!is_known && !value.is_null()) keys.push_back(key);
  }
  return keys;
}

std::string_view Config::OneOf(std::initializer_list<std::string_view> keys) const {
  for (const std::string_view key : keys) {
    if (Has(key)) return key;
  }
  return *keys.begin();
}

const Json* Config::Find(std::string_view key) const {
  asked_.emplace(key);
  const auto it = object_.find(key);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

void Config::Refuse(std::string_view key, std::string_view why) {
  if (status_.ok()) status_ = BadInput(StrCat("key ", Quote(key), ": ", why));
}

void Config::Expected(std::string_view key, std::string_view what) {
  const Json* value = Find(key);
  if (value == nullptr) return Refuse(key, StrCat("is missing; expected ", what));
  constexpr size_t kShown = 60;
  Refuse(key, StrCat("expected ", what, ", found ",
                     value->dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, kShown)));
}

void Config::Note(std::string line) {
  if (std::ranges::find(notes_, line) == notes_.end()) notes_.push_back(std::move(line));
}

void Config::NoteDefault(std::string_view key, std::string value) {
  defaults_.push_back(StrCat(key, "=", std::move(value)));
}

int64_t Config::Size(std::string_view key, std::optional<int64_t> fallback) {
  return Count(key, 1, kMostSize, fallback);
}

int64_t Config::Count(std::string_view key, int64_t least, int64_t most, std::optional<int64_t> fallback) {
  const Json* value = Find(key);
  if (value == nullptr && fallback) {
    NoteDefault(key, StrCat(*fallback));
    return *fallback;
  }
  // Numbers above int64's would wrap: asked for as unsigned.
  const bool fits = value != nullptr && value->is_number_integer() &&
                    (!value->is_number_unsigned() || value->get<uint64_t>() <= static_cast<uint64_t>(most));
  if (fits && value->get<int64_t>() >= least && value->get<int64_t>() <= most) return value->get<int64_t>();
  Expected(key, StrCat("a whole number of ", least, " to ", most));
  return least;
}

double Config::Number(std::string_view key, double fallback) {
  if (!Has(key)) NoteDefault(key, FormatDouble(fallback));
  return OptionalNumber(key).value_or(fallback);
}

std::optional<double> Config::OptionalNumber(std::string_view key, std::optional<double> fallback) {
  const Json* value = Find(key);
  if (value == nullptr) return object_.contains(key) ? std::nullopt : fallback;
  if (value->is_number() && std::isfinite(value->get<double>())) return value->get<double>();
  Expected(key, "a number");
  return fallback;
}

bool Config::Flag(std::string_view key, bool fallback) {
  const Json* value = Find(key);
  if (value == nullptr) {
    NoteDefault(key, fallback ? "true" : "false");
    return fallback;
  }
  if (value->is_boolean()) return value->get<bool>();
  Expected(key, "true or false");
  return fallback;
}

std::string Config::Text(std::string_view key, std::string_view fallback) {
  const Json* value = Find(key);
  if (value == nullptr) {
    NoteDefault(key, std::string(fallback));
    return std::string(fallback);
  }
  if (value->is_string()) return value->get<std::string>();
  Expected(key, "a text");
  return std::string(fallback);
}

namespace {

// The entries, where each is of the kind.
template <typename Entry>
std::optional<std::vector<Entry>> EntriesOf(const Json& value, bool (Json::*is_kind)() const) {
  if (!value.is_array() || value.size() > static_cast<size_t>(kMostSize)) return std::nullopt;
  std::vector<Entry> entries;
  for (const Json& entry : value) {
    if (!(entry.*is_kind)()) return std::nullopt;
    entries.push_back(entry.get<Entry>());
  }
  return entries;
}

bool IsTrue(const Json* value) {
  if (value == nullptr) return false;
  if (value->is_boolean()) return value->get<bool>();
  return !(value->is_number() && value->get<double>() == 0);
}

}  // namespace

template <typename Entry>
std::vector<Entry> Config::List(std::string_view key, bool (Json::*is_kind)() const, std::string_view what) {
  const Json* value = Find(key);
  if (value == nullptr) return {};
  if (auto entries = EntriesOf<Entry>(*value, is_kind)) return *std::move(entries);
  Expected(key, what);
  return {};
}

std::vector<int64_t> Config::Ints(std::string_view key) {
  return List<int64_t>(key, &Json::is_number_integer, "a list of whole numbers");
}

std::vector<double> Config::Numbers(std::string_view key) {
  return List<double>(key, &Json::is_number, "a list of numbers");
}

std::vector<std::string> Config::Texts(std::string_view key) {
  return List<std::string>(key, &Json::is_string, "a list of texts");
}

DType Config::ElementType() {
  const std::string_view key = Has("dtype") ? "dtype" : "torch_dtype";
  std::string name = Text(key, "float32");
  if (name.starts_with("torch.")) name = name.substr(6);
  const std::optional<DType> dtype = ParseDType(name);
  const bool is_known = dtype && IsFloat(*dtype) && DTypeBits(*dtype) >= 16;
  if (is_known) return *dtype;
  Expected(key, "float32, bfloat16, float16 or float64");
  return DType::kF32;
}

void Config::ReadQuantization() {
  const Json* value = Find("quantization_config");
  if (value == nullptr) return;
  const auto method = value->is_object() ? value->find("quant_method") : value->end();
  if (value->is_object() && method != value->end() && *method == "fp8") {
    Note("quantization_config: weights are of the dtype, not of 8 bits");
  } else {
    RefuseIfSet("quantization_config");
  }
}

void Config::RefuseIfSet(std::string_view key) {
  if (IsTrue(Find(key))) {
    Refuse(key, StrCat(Find(key)->dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 40),
                       " changes the graph in a way that is not supported"));
  }
}

}  // namespace sbp::huggingface
