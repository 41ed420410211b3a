#include "huggingface/safetensors.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/text.h"
#include "base/utf8.h"
#include "io/call_files.h"
#include "io/json_text.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

using Json = nlohmann::json;

constexpr int64_t kLengthBytes = 8;
constexpr int kDepth = 8;  // brackets; a header has three within each other
constexpr size_t kMaxRank = 16;

constexpr std::array<std::pair<std::string_view, DType>, 17> kTypes = {{{"BOOL", DType::kBool},
                                                                        {"U8", DType::kU8},
                                                                        {"I8", DType::kI8},
                                                                        {"F8_E5M2", DType::kF8E5M2},
                                                                        {"F8_E4M3", DType::kF8E4M3FN},
                                                                        {"F8_E8M0", DType::kF8E8M0},
                                                                        {"I16", DType::kI16},
                                                                        {"U16", DType::kU16},
                                                                        {"F16", DType::kF16},
                                                                        {"BF16", DType::kBF16},
                                                                        {"I32", DType::kI32},
                                                                        {"U32", DType::kU32},
                                                                        {"F32", DType::kF32},
                                                                        {"F64", DType::kF64},
                                                                        {"I64", DType::kI64},
                                                                        {"U64", DType::kU64},
                                                                        {"C64", DType::kC64}}};

Result<DType> TypeNamed(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [known_name, dtype] : kTypes) {
    if (known_name == name) return dtype;
    known.emplace_back(known_name);
  }
  return BadInput(StrCat("unknown dtype ", Quote(name.substr(0, 40)), DidYouMean(name.substr(0, 40), known)));
}

// A whole number of at least 0; nothing: something else.
std::optional<int64_t> Natural(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(kInt64Max)) return std::nullopt;
  const auto number = value.get<int64_t>();
  return number < 0 ? std::nullopt : std::optional(number);
}

Result<Shape> ShapeOf(const Json& entry) {
  const auto list = entry.find("shape");
  if (list == entry.end() || !list->is_array()) return BadInput("expected a list \"shape\"");
  if (list->size() > kMaxRank) return BadInput(StrCat(list->size(), " dimensions; at most ", kMaxRank, " are read"));
  Shape shape;
  for (const Json& value : *list) {
    const std::optional<int64_t> size = Natural(value);
    if (!size) return BadInput("\"shape\" must hold whole numbers of at least 0");
    shape.push_back(*size);
  }
  return shape;
}

// `data`: bytes behind the header, which begin at `from`.
Result<StoredWeight> WeightOf(const Json& entry, int64_t from, int64_t data) {
  if (!entry.is_object()) return BadInput("expected an object");
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string()) return BadInput("expected a text \"dtype\"");
  StoredWeight weight;
  SBP_ASSIGN_OR_RETURN(weight.type.dtype, TypeNamed(dtype->get<std::string>()));
  SBP_ASSIGN_OR_RETURN(weight.type.shape, ShapeOf(entry));
  const auto offsets = entry.find("data_offsets");
  const bool is_pair = offsets != entry.end() && offsets->is_array() && offsets->size() == 2;
  const std::optional<int64_t> begin = is_pair ? Natural((*offsets)[0]) : std::nullopt;
  const std::optional<int64_t> end = is_pair ? Natural((*offsets)[1]) : std::nullopt;
  if (!begin || !end || *begin > *end)
    return BadInput("\"data_offsets\" must be [BEGIN, END], whole numbers with BEGIN <= END");
  if (*end > data) {
    return BadInput(
        StrCat("its bytes end at byte ", *end, " of the data, of which the file has ", data, ": it is cut off"));
  }
  weight.offset = from + *begin;
  weight.length = *end - *begin;
  if (const int64_t bytes = weight.type.num_bytes(); bytes != weight.length) {
    return BadInput(StrCat(ToString(weight.type), " takes ", bytes == kInt64Max ? "too many" : StrCat(bytes),
                           " bytes; \"data_offsets\" give it ", weight.length));
  }
  return weight;
}

// Every byte of the data belongs to one tensor.
Status CheckPlaces(const StoredWeights& weights, int64_t from, int64_t data) {
  std::vector<std::pair<const std::string*, const StoredWeight*>> order;
  for (const auto& [name, weight] : weights) order.emplace_back(&name, &weight);
  std::ranges::sort(order, {}, [](const auto& entry) { return std::pair(entry.second->offset, entry.second->length); });
  int64_t next = from;
  const std::string* before = nullptr;
  for (const auto& [name, weight] : order) {
    if (weight->offset < next) return BadInput(StrCat(Quote(*name), " overlaps ", Quote(*before)));
    if (weight->offset > next) {
      return BadInput(StrCat(weight->offset - next, " bytes before ", Quote(*name), " belong to no tensor"));
    }
    next = weight->offset + weight->length;
    before = name;
  }
  if (next != from + data) return BadInput(StrCat(from + data - next, " bytes at the end belong to no tensor"));
  return OkStatus();
}

// Of the header, by the first eight bytes, little-endian.
uint64_t LengthIn(std::string_view start) {
  uint64_t length = 0;
  for (size_t i = 0; i < static_cast<size_t>(kLengthBytes); ++i) {
    length |= uint64_t{static_cast<unsigned char>(start[i])} << (8 * i);
  }
  return length;
}

}  // namespace

Result<StoredWeights> ReadSafetensorsHeader(std::string_view start, int64_t size) {
  if (size < kLengthBytes || start.size() < static_cast<size_t>(kLengthBytes)) {
    return BadInput("no safetensors, or cut off: it has no length of a header");
  }
  const uint64_t length = LengthIn(start);
  if (length > static_cast<uint64_t>(kMaxSafetensorsHeader)) {
    return BadInput(
        StrCat("no safetensors: a header of ", length, " bytes; at most ", kMaxSafetensorsHeader, " are read"));
  }
  const int64_t from = kLengthBytes + static_cast<int64_t>(length), data = size - from;
  if (data < 0 || start.size() < static_cast<size_t>(from)) {
    return BadInput(StrCat("cut off: the header has ", length, " bytes, the file ", size));
  }
  SBP_ASSIGN_OR_RETURN(const Json header, ParseJsonObject(start.substr(kLengthBytes, static_cast<size_t>(length)),
                                                          "the header", {.depth = kDepth}));
  StoredWeights weights;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    Result<StoredWeight> weight = WeightOf(entry, from, data);
    if (!weight.ok())
      return BadInput(StrCat("tensor ", Quote(CutAtCharacter(name, 200)), ": ", weight.status().message()));
    weights.emplace(name, *std::move(weight));
  }
  SBP_RETURN_IF_ERROR(CheckPlaces(weights, from, data));
  return weights;
}

namespace {

// The first bytes of a file, as far as its header goes, and how many it has.
struct Start {
  std::string bytes;
  int64_t size = 0;
};
Result<Start> StartOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < 0) return BadInput(StrCat("cannot read ", Quote(path)));
  std::string start(static_cast<size_t>(std::min<std::streamoff>(size, kLengthBytes)), '\0');
  file.seekg(0);
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  const uint64_t length = size < kLengthBytes ? 0 : LengthIn(start);
  if (length <= static_cast<uint64_t>(std::clamp<std::streamoff>(size - kLengthBytes, 0, kMaxSafetensorsHeader))) {
    start.resize(start.size() + length);
    file.read(start.data() + start.size() - length, static_cast<std::streamsize>(length));
  }
  if (!file) return BadInput(StrCat("cannot read ", Quote(path)));
  return Start{std::move(start), static_cast<int64_t>(size)};
}

// Of a path that is a document of this call.
Result<std::string_view> Document(const std::string& path) {
  if (const std::optional<std::string_view> document = DocumentOf(*CurrentCallFiles(), path)) return *document;
  return BadInput(StrCat("cannot read ", Quote(path), ": the call has no such document"));
}

}  // namespace

Result<StoredWeights> ReadSafetensorsFile(const std::string& path) {
  Start start;
  std::string_view bytes;
  if (IsOfCall(path)) {
    SBP_ASSIGN_OR_RETURN(bytes, Document(path));
    start.size = static_cast<int64_t>(bytes.size());
  } else {
    SBP_ASSIGN_OR_RETURN(start, StartOf(path));
    bytes = start.bytes;
  }
  Result<StoredWeights> weights = ReadSafetensorsHeader(bytes, start.size);
  if (!weights.ok()) return weights.status().WithContext(path);
  return weights;
}

Status AppendWeight(const std::string& path, const StoredWeight& weight, std::string& bytes) {
  if (IsOfCall(path)) {
    SBP_ASSIGN_OR_RETURN(const std::string_view document, Document(path));
    bytes += document.substr(static_cast<size_t>(weight.offset), static_cast<size_t>(weight.length));
    return OkStatus();
  }
  std::ifstream file(path, std::ios::binary);
  const size_t before = bytes.size();
  bytes.resize(before + static_cast<size_t>(weight.length));
  if (!file.seekg(weight.offset) || !file.read(bytes.data() + before, weight.length)) {
    return BadInput(StrCat(path, ": has no ", weight.length, " bytes at ", weight.offset));
  }
  return OkStatus();
}

}  // namespace sbp
