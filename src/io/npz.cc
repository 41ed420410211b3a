// NumPy's .npy format, versions 1 to 3 (numpy/lib/format.py): magic, version, length of the header, and the header: the
// text of a Python dictionary {'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), }.
#include "io/npz.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/checked_math.h"
#include "base/text.h"
#include "io/zip.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

constexpr size_t kMaxHeader = 65536;
constexpr std::string_view kMagic = "\x93NUMPY";

struct NpyHeader {
  TensorType type;
  bool big_endian = false;
  bool fortran_order = false;
  size_t data_offset = 0;
};

// NumPy's one-letter kinds with their width in bytes.
struct DescrRow {
  std::string_view descr;  // without the byte order
  DType dtype;
};
constexpr DescrRow kDescrs[] = {
    {"b1", DType::kBool}, {"i1", DType::kI8},  {"i2", DType::kI16}, {"i4", DType::kI32},   {"i8", DType::kI64},
    {"u1", DType::kU8},   {"u2", DType::kU16}, {"u4", DType::kU32}, {"u8", DType::kU64},   {"f2", DType::kF16},
    {"f4", DType::kF32},  {"f8", DType::kF64}, {"c8", DType::kC64}, {"c16", DType::kC128},
};

// The text after `'key':`, or nothing.
std::optional<std::string_view> Entry(std::string_view header, std::string_view key) {
  for (const char quote : {'\'', '"'}) {
    const std::string quoted = StrCat(quote, key, quote);
    const size_t at = header.find(quoted);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = Trim(header.substr(at + quoted.size()));
    if (rest.starts_with(':')) return Trim(rest.substr(1));
  }
  return std::nullopt;
}

Status ReadDescr(std::string_view text, NpyHeader& header) {
  if (text.size() < 2 || (text[0] != '\'' && text[0] != '"')) {
    return BadInput("'descr' is no simple type (structured arrays are not read)");
  }
  const size_t end = text.find(text[0], 1);
  if (end == std::string_view::npos) return BadInput("'descr' does not end");
  const std::string_view whole = text.substr(1, end - 1);
  std::string_view descr = whole;
  if (!descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos) {
    header.big_endian = descr[0] == '>';
    descr.remove_prefix(1);
  }
  for (const DescrRow& row : kDescrs) {
    if (row.descr != descr) continue;
    header.type.dtype = row.dtype;
    return OkStatus();
  }
  if (descr.starts_with('U') || descr.starts_with('S') || descr.starts_with('O')) {
    header.type.dtype = DType::kString;
    return OkStatus();
  }
  // ml_dtypes' types are written by name; NumPy's other codes ("f16": 16 bytes) only look like our names.
  const bool is_code = descr.size() > 1 && std::isdigit(static_cast<unsigned char>(descr[1])) != 0;
  const std::optional<DType> named = is_code ? std::nullopt : ParseDType(descr);
  if (!named) return BadInput(StrCat("element type ", Quote(whole), " is not known"));
  header.type.dtype = *named;
  return OkStatus();
}

Status ReadShape(std::string_view text, Shape& shape) {
  const size_t end = text.find(')');
  if (!text.starts_with('(') || end == std::string_view::npos) return BadInput("'shape' is no tuple");
  for (const std::string_view part : Split(text.substr(1, end - 1), ',')) {
    const std::string_view trimmed = Trim(part);
    if (trimmed.empty()) continue;  // "(3,)", "()"
    const std::optional<int64_t> size = ParseInt(trimmed);
    if (!size || *size < 0) return BadInput(StrCat("dimension ", Quote(trimmed), " is no number >= 0"));
    if (shape.size() == static_cast<size_t>(kMaxRank)) return BadInput(StrCat("more than ", kMaxRank, " dimensions"));
    shape.push_back(*size);
  }
  return OkStatus();
}

Result<NpyHeader> ReadHeader(std::string_view bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) return BadInput("not a .npy file");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(bytes[i])); };
  const size_t version = byte(6);
  if (version < 1 || version > 3) return BadInput(StrCat("version ", version, " of the .npy format; expected 1 to 3"));
  NpyHeader header;
  const size_t start = version == 1 ? 10 : 12;
  const size_t length =
      version == 1 ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > bytes.size() - start) return BadInput("its header is cut off");
  header.data_offset = start + length;
  const std::string_view text = bytes.substr(start, length);
  const auto descr = Entry(text, "descr");
  const auto order = Entry(text, "fortran_order");
  const auto shape = Entry(text, "shape");
  if (!descr || !order || !shape) return BadInput("its header lacks 'descr', 'fortran_order' or 'shape'");
  header.fortran_order = order->starts_with("True");
  SBP_RETURN_IF_ERROR(ReadDescr(*descr, header));
  SBP_RETURN_IF_ERROR(ReadShape(*shape, header.type.shape));
  if (header.type.num_bytes() == kInt64Max) return BadInput(StrCat(ToString(header.type), " is too large"));
  return header;
}

// The integer of `width` bytes at the start of `bytes`.
int64_t ReadInteger(std::string_view bytes, size_t width, bool big_endian, bool is_signed) {
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i) {
    const size_t at = big_endian ? width - 1 - i : i;
    value |= uint64_t{static_cast<uint8_t>(bytes[at])} << (8 * i);
  }
  const int unused = static_cast<int>(64 - 8 * width);
  if (is_signed) return static_cast<int64_t>(value << unused) >> unused;
  return static_cast<int64_t>(value);
}

// Position in Fortran order (first dimension fastest) of row-major position `index`.
int64_t FortranPosition(const Shape& shape, int64_t index) {
  int64_t stride = 1;
  std::vector<int64_t> coordinates(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    coordinates[i] = index % shape[i];
    index /= shape[i];
  }
  int64_t position = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    position += coordinates[i] * stride;
    stride *= shape[i];
  }
  return position;
}

LiteralRef ReadValues(const NpyHeader& header, std::string_view data) {
  auto literal = std::make_shared<Literal>();
  literal->type = header.type;
  const auto width = static_cast<size_t>(DTypeBits(header.type.dtype) / 8);
  for (int64_t i = 0; i < header.type.num_elements(); ++i) {
    const int64_t at = header.fortran_order ? FortranPosition(header.type.shape, i) : i;
    const std::string_view element = data.substr(static_cast<size_t>(at) * width, width);
    const int64_t value = ReadInteger(element, width, header.big_endian, IsSigned(header.type.dtype));
    literal->ints.push_back(header.type.dtype == DType::kBool ? (value != 0 ? 1 : 0) : value);
  }
  return literal;
}

// Small enough, and of a type whose values stand in `ints` with whole bytes each.
bool HasSmallIntegers(const TensorType& type) {
  const bool integral = IsInteger(type.dtype) || type.dtype == DType::kBool;
  return integral && DTypeBits(type.dtype) >= 8 && type.num_elements() <= kMaxLiteralElements;
}

Result<NpyArray> ReadArray(const ZipMember& member) {
  NpyArray array;
  array.name = member.name.substr(0, member.name.size() - std::string_view(".npy").size());
  SBP_ASSIGN_OR_RETURN(const std::string start, ReadZipMember(member, kMaxHeader));
  SBP_ASSIGN_OR_RETURN(const NpyHeader header, ReadHeader(start));
  array.type = header.type;
  if (!HasSmallIntegers(header.type)) return array;
  const size_t wanted = header.data_offset + static_cast<size_t>(header.type.num_bytes());
  SBP_ASSIGN_OR_RETURN(const std::string content, ReadZipMember(member, wanted));
  if (content.size() < wanted) {
    return BadInput(StrCat("its values are cut off: expected ", header.type.num_bytes(), " bytes of ",
                           ToString(header.type), ", found ", content.size() - header.data_offset));
  }
  array.literal = ReadValues(header, std::string_view(content).substr(header.data_offset));
  return array;
}

// Row-major and little-endian.
std::string Normalised(const NpyHeader& header, std::string_view data) {
  const auto width = static_cast<size_t>(DTypeBits(header.type.dtype) / 8);
  const int64_t count = header.type.num_elements();
  if (!header.big_endian && !header.fortran_order) return std::string(data.substr(0, width * count));
  // The two parts of a complex number turn around each on their own.
  const size_t unit = IsComplex(header.type.dtype) ? width / 2 : width;
  std::string bytes;
  bytes.reserve(width * static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = header.fortran_order ? FortranPosition(header.type.shape, i) : i;
    std::string element(data.substr(static_cast<size_t>(at) * width, width));
    for (size_t part = 0; header.big_endian && part < width; part += unit) {
      std::reverse(element.begin() + static_cast<std::ptrdiff_t>(part),
                   element.begin() + static_cast<std::ptrdiff_t>(part + unit));
    }
    bytes += element;
  }
  return bytes;
}

Result<TensorData> DataOf(std::string_view content) {
  SBP_ASSIGN_OR_RETURN(const NpyHeader header, ReadHeader(content));
  TensorData data;
  data.type = header.type;
  if (DTypeBits(header.type.dtype) < 8) return BadInput(StrCat("values of ", DTypeName(header.type.dtype)));
  const std::string_view values = content.substr(header.data_offset);
  if (static_cast<int64_t>(values.size()) < header.type.num_bytes()) {
    return BadInput(StrCat("its values are cut off: expected ", header.type.num_bytes(), " bytes of ",
                           ToString(header.type), ", found ", values.size()));
  }
  data.bytes = Normalised(header, values);
  return data;
}

std::string DescrOf(DType dtype) {
  for (const DescrRow& row : kDescrs) {
    if (row.dtype == dtype) return StrCat(DTypeBits(dtype) == 8 ? "|" : "<", row.descr);
  }
  return "";
}

std::string NpyText(const TensorData& tensor) {
  std::string shape;
  for (const int64_t size : tensor.type.shape) shape += StrCat(size, ", ");
  if (tensor.type.shape.size() > 1) shape.resize(shape.size() - 2);
  if (tensor.type.shape.size() == 1) shape.pop_back();
  std::string header =
      StrCat("{'descr': '", DescrOf(tensor.type.dtype), "', 'fortran_order': False, 'shape': (", shape, "), }");
  while ((kMagic.size() + 4 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  return out + header + tensor.bytes;
}

}  // namespace

Result<std::vector<NpyArray>> ReadNpz(std::string_view bytes, std::string_view where) {
  Result<std::vector<ZipMember>> members = ReadZipDirectory(bytes);
  if (!members.ok()) return members.status().WithContext(where);
  std::vector<NpyArray> arrays;
  for (const ZipMember& member : *members) {
    if (!member.name.ends_with(".npy")) {
      return BadInput(StrCat(where, ": member ", Quote(member.name), ": expected only .npy members"));
    }
    Result<NpyArray> array = ReadArray(member);
    if (!array.ok()) return array.status().WithContext(StrCat(where, ": member ", Quote(member.name)));
    arrays.push_back(*std::move(array));
  }
  return arrays;
}

Result<std::vector<TensorData>> ReadNpzData(std::string_view bytes, std::string_view where) {
  Result<std::vector<ZipMember>> members = ReadZipDirectory(bytes);
  if (!members.ok()) return members.status().WithContext(where);
  std::vector<TensorData> tensors;
  for (const ZipMember& member : *members) {
    const std::string place = StrCat(where, ": member ", Quote(member.name));
    if (!member.name.ends_with(".npy")) return BadInput(StrCat(place, ": expected only .npy members"));
    const Result<std::string> content = ReadZipMember(member, std::string::npos);
    if (!content.ok()) return content.status().WithContext(place);
    Result<TensorData> data = DataOf(*content);
    if (!data.ok()) return data.status().WithContext(place);
    data->name = member.name.substr(0, member.name.size() - std::string_view(".npy").size());
    tensors.push_back(*std::move(data));
  }
  return tensors;
}

Result<TensorData> ReadNpyData(std::string_view bytes, std::string_view where) {
  Result<TensorData> data = DataOf(bytes);
  return data.ok() ? data : data.status().WithContext(where);
}

bool NumpyHas(DType dtype) { return !DescrOf(dtype).empty(); }

Result<std::string> WriteNpz(const std::vector<TensorData>& tensors) {
  std::vector<std::pair<std::string, std::string>> members;
  for (const TensorData& tensor : tensors) members.emplace_back(tensor.name + ".npy", NpyText(tensor));
  return WriteZip(members);
}

}  // namespace sbp
