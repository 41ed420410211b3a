// What a file is, by its content.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "base/utf8.h"
#include "io/codec.h"
#include "io/documents.h"
#include "io/foreign.h"
#include "io/kinds.h"

namespace sbp {
namespace {

constexpr std::array<KindRow, 3> kKinds = {{
    {DocumentKind::kGraph, "sbp_plan.graph.v1", "a graph"},
    {DocumentKind::kCluster, "sbp_plan.cluster.v1", "a cluster"},
    {DocumentKind::kPlan, "sbp_plan.plan.v1", "a plan"},
}};

std::vector<std::string> KindNames() {
  std::vector<std::string> names;
  for (const KindRow& row : kKinds) names.emplace_back(row.name);
  return names;
}

Result<DocumentInfo> InfoOf(std::string_view name, Encoding encoding, std::string_view where) {
  for (const KindRow& row : kKinds) {
    if (row.name == name) return DocumentInfo{row.kind, encoding};
  }
  return BadInput(StrCat(where, ": unknown kind ", Quote(CutAtCharacter(name, 80)), "; expected one of ",
                         Join(KindNames(), ", "), DidYouMean(CutAtCharacter(name, 80), KindNames())));
}

Status NoKind(std::string_view where, std::string_view form, std::string_view example) {
  return BadInput(StrCat(where, ": ", form, " without a kind; expected a first field such as ", example,
                         " (or sbp_plan.cluster.v1, sbp_plan.plan.v1)"));
}

// Keys of a config.json of Hugging Face; two of them tell one that lacks its model_type.
constexpr std::string_view kConfigKeys[] = {"architectures",       "hidden_size",       "n_embd",    "n_layer",
                                            "num_attention_heads", "num_hidden_layers", "vocab_size"};

// Stops at the field "kind" of the outermost object; "model_type" there, or several other keys, mark a config.json of
// Hugging Face.
class KindFinder : public nlohmann::json_sax<nlohmann::json> {
 public:
  KindFinder(std::string_view text, std::string_view where) : text_(text), where_(where) {}
  bool found() const { return found_; }
  bool found_object() const { return found_object_; }
  bool found_config() const { return found_model_type_ || config_keys_ >= 2; }
  const std::string& kind() const { return kind_; }
  const Status& error() const { return error_; }

  bool null() override { return Value(); }
  bool boolean(bool /*value*/) override { return Value(); }
  bool number_integer(int64_t /*value*/) override { return Value(); }
  bool number_unsigned(uint64_t /*value*/) override { return Value(); }
  bool number_float(double /*value*/, const std::string& /*text*/) override { return Value(); }
  bool string(std::string& value) override {
    found_ = at_kind_;
    if (found_) kind_ = value;
    return Value() && !found_;
  }
  bool binary(nlohmann::json::binary_t& /*value*/) override { return Value(); }
  bool start_object(size_t /*elements*/) override {
    found_object_ = found_object_ || depth_ == 0;
    return Open();
  }
  bool key(std::string& name) override {
    at_kind_ = depth_ == 1 && name == "kind";
    found_model_type_ = found_model_type_ || (depth_ == 1 && name == "model_type");
    config_keys_ += depth_ == 1 && std::ranges::find(kConfigKeys, name) != std::end(kConfigKeys) ? 1 : 0;
    return true;
  }
  bool end_object() override { return Close(); }
  bool start_array(size_t /*elements*/) override { return Open(); }
  bool end_array() override { return Close(); }
  bool parse_error(size_t position, const std::string& /*token*/, const nlohmann::detail::exception& error) override {
    error_ = JsonSyntaxError(text_, position == 0 ? 0 : position - 1, error.what(), where_);
    return false;
  }

 private:
  bool Value() {
    at_kind_ = false;
    return true;
  }
  bool Open() {
    ++depth_;
    return Value();
  }
  bool Close() {
    --depth_;
    return true;
  }

  std::string_view text_, where_;
  Status error_;
  int depth_ = 0;
  bool at_kind_ = false;
  bool found_ = false;
  bool found_object_ = false;
  bool found_model_type_ = false;
  int config_keys_ = 0;
  std::string kind_;
};

bool EndsWithJson(std::string_view where) {
  constexpr std::string_view kExtension = ".json";
  return where.size() >= kExtension.size() &&
         EqualIgnoringCase(where.substr(where.size() - kExtension.size()), kExtension);
}

Result<DocumentInfo> RecogniseJson(std::string_view text, std::string_view where) {
  KindFinder finder(text, where);
  const bool is_whole = nlohmann::json::sax_parse(text.begin(), text.end(), &finder);
  if (is_whole && !finder.found_object()) return BadInput(StrCat(where, ": JSON, but no object; expected {...}"));
  if (finder.found()) return InfoOf(finder.kind(), Encoding::kJson, where);
  if (!finder.error().ok()) return finder.error();
  if (finder.found_config()) return DocumentInfo{DocumentKind::kConfig, Encoding::kJson};
  return NoKind(where, "JSON", "\"kind\": \"sbp_plan.graph.v1\"");
}

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The text behind blanks and comment lines.
std::string_view SkipComments(std::string_view text) {
  while (true) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text[0])) != 0) text.remove_prefix(1);
    if (!text.starts_with('#')) return text;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}

// "name:", "name {" or "name <" starts a prototxt document.
bool StartsWithField(std::string_view text) {
  const auto word_end = std::find_if_not(text.begin(), text.end(), IsWordCharacter);
  if (word_end == text.begin()) return false;
  const std::string_view rest = SkipComments(text.substr(static_cast<size_t>(word_end - text.begin())));
  return !rest.empty() && (rest[0] == ':' || rest[0] == '{' || rest[0] == '<');
}

// The text of a field `kind` that starts `line`, without its quotes.
std::optional<std::string_view> KindField(std::string_view line) {
  if (!line.starts_with("kind")) return std::nullopt;
  std::string_view rest = Trim(line.substr(4));
  if (!rest.starts_with(':')) return std::nullopt;
  rest = SkipComments(rest.substr(1));
  if (rest.empty() || (rest[0] != '"' && rest[0] != '\'')) return std::nullopt;
  const size_t end = rest.find(rest[0], 1);
  if (end == std::string_view::npos) return std::nullopt;
  return rest.substr(1, end - 1);
}

Result<DocumentInfo> RecognisePrototxt(std::string_view text, std::string_view where) {
  for (std::string_view rest = text; !rest.empty();) {
    if (const auto kind = KindField(rest); kind) return InfoOf(*kind, Encoding::kPrototxt, where);
    const size_t end = rest.find('\n');
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  // What is called so and holds no document of ours is JSON that went wrong.
  if (EndsWithJson(where)) return RecogniseJson(text, where);
  return NoKind(where, "prototxt", "kind: \"sbp_plan.graph.v1\"");
}

}  // namespace

std::span<const KindRow> AllKinds() { return kKinds; }

const KindRow& RowOf(DocumentKind kind) {
  return *std::find_if(kKinds.begin(), kKinds.end(), [&](const KindRow& row) { return row.kind == kind; });
}

Result<DocumentInfo> Recognise(std::string_view bytes, std::string_view where) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (bytes.empty()) return BadInput(StrCat(where, ": the file is empty"));
  if (IsTorchProgram(bytes)) return DocumentInfo{DocumentKind::kTorch, Encoding::kBinary};
  if (const std::string foreign = ForeignFormat(bytes, where); !foreign.empty()) {
    return BadInput(StrCat(where, ": ", foreign));
  }
  // Binary: field 1, a string whose length is one byte, our kind.
  if (bytes[0] == 0x0a && bytes.size() > 2 && bytes.substr(2).starts_with("sbp_plan.")) {
    return InfoOf(bytes.substr(2, static_cast<unsigned char>(bytes[1])), Encoding::kBinary, where);
  }
  std::string_view text = SkipComments(bytes.starts_with(kByteOrderMark) ? bytes.substr(3) : bytes);
  if (text.starts_with('{')) return RecogniseJson(bytes, where);
  if (LooksLikeText(bytes.substr(0, 256))) {
    if (StartsWithField(text)) return RecognisePrototxt(text, where);
    if (EndsWithJson(where) || text.starts_with('[')) return RecogniseJson(bytes, where);
    return BadInput(StrCat(where,
                           ": not recognised; expected ONNX, .pt2, config.json of Hugging Face, or one of our "
                           "documents in JSON (\"{...\"), ",
                           "prototxt (\"kind: ...\") or binary; found text that starts with ",
                           Quote(text.substr(0, std::min<size_t>(text.find('\n'), 40)))));
  }
  return DocumentInfo{DocumentKind::kOnnx, Encoding::kBinary};
}

}  // namespace sbp
