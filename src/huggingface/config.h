// A config.json of Hugging Face transformers: its keys by name and kind, each error with the key.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"

namespace sbp::huggingface {

using Json = nlohmann::json;

// The greatest size that any key may have. Products of three such sizes are looked at where tensors are made of them.
inline constexpr int64_t kMostSize = int64_t{1} << 24;
inline constexpr int64_t kMostLayers = 4096;

// Reads keys one after the other. The first error is kept, and what is read after it has no meaning: a family reads all
// its keys, and then asks for `status`. Keys that are absent, or null, have transformers' defaults, which are noted.
class Config {
 public:
  // `object` must outlive the result and be a JSON object.
  explicit Config(const Json& object) : object_(object) {}

  // Error (kBadInput): the first key that is no such value, out of range, or refused.
  const Status& status() const { return status_; }
  // "rms_norm_eps=1e-06", in the order in which they were asked for.
  const std::vector<std::string>& defaults() const { return defaults_; }

  // What else is to be said, a line each.
  const std::vector<std::string>& notes() const { return notes_; }
  void Note(std::string line);  // once

  // The keys that nobody asked for and that are not known to leave the graph as it is.
  std::vector<std::string> Unread() const;

  // The first of these names of one key that is there, else the first.
  std::string_view OneOf(std::initializer_list<std::string_view> keys) const;

  bool Has(std::string_view key) const { return Find(key) != nullptr; }
  bool Contains(std::string_view key) const { return object_.contains(key); }  // null, too
  // nullptr: absent, or null.
  const Json* Find(std::string_view key) const;

  // A size of 1 to kMostSize.
  int64_t Size(std::string_view key, std::optional<int64_t> fallback = std::nullopt);
  int64_t Count(std::string_view key, int64_t least, int64_t most, std::optional<int64_t> fallback = std::nullopt);
  double Number(std::string_view key, double fallback);
  std::optional<double> OptionalNumber(std::string_view key, std::optional<double> fallback = std::nullopt);
  bool Flag(std::string_view key, bool fallback);
  std::string Text(std::string_view key, std::string_view fallback);
  std::vector<int64_t> Ints(std::string_view key);
  std::vector<double> Numbers(std::string_view key);
  std::vector<std::string> Texts(std::string_view key);
  // Of "dtype", or "torch_dtype" as it was called.
  DType ElementType();

  // Weights of 8-bit floats are planned as if they were of the element type, which is noted; others have parameters of
  // other shapes. Error: any other "quantization_config".
  void ReadQuantization();

  // Error: the key says yes: true, a number other than 0, or anything else that is there.
  void RefuseIfSet(std::string_view key);
  void Refuse(std::string_view key, std::string_view why);

 private:
  void NoteDefault(std::string_view key, std::string value);
  void Expected(std::string_view key, std::string_view what);
  template <typename Entry>
  std::vector<Entry> List(std::string_view key, bool (Json::*is_kind)() const, std::string_view what);

  const Json& object_;
  Status status_;
  mutable std::set<std::string, std::less<>> asked_;
  std::vector<std::string> defaults_, notes_;
};

}  // namespace sbp::huggingface
