#include "io/json_text.h"

#include <cstdint>
#include <string>
#include <unordered_set>

#include "base/text.h"
#include "base/utf8.h"
#include "io/codec.h"

namespace sbp {
namespace {

using Json = nlohmann::json;

// Looks at all of a text and keeps nothing but the names of the outermost object.
class Scan : public nlohmann::json_sax<Json> {
 public:
  Scan(std::string_view text, std::string_view where, JsonLimits limits) : text_(text), where_(where), left_(limits) {}
  const Status& error() const { return error_; }

  bool null() override { return Leaf(); }
  bool boolean(bool /*value*/) override { return Leaf(); }
  bool number_integer(int64_t /*value*/) override { return Leaf(); }
  bool number_unsigned(uint64_t /*value*/) override { return Leaf(); }
  bool number_float(double /*value*/, const std::string& /*text*/) override { return Leaf(); }
  bool string(std::string& /*value*/) override { return Leaf(); }
  bool binary(Json::binary_t& /*value*/) override { return Leaf(); }
  bool start_object(size_t /*elements*/) override { return Open(true); }
  bool start_array(size_t /*elements*/) override { return Open(false); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(std::string& name) override {
    if (depth_ == 1 && !names_.insert(name).second) {
      return Fail(StrCat("name ", Quote(CutAtCharacter(name, kLongestShown)), " is given twice"));
    }
    return Value();
  }
  bool parse_error(size_t position, const std::string& /*token*/, const nlohmann::detail::exception& error) override {
    error_ = JsonSyntaxError(text_, position == 0 ? 0 : position - 1, error.what(), where_);
    return false;
  }

 private:
  static constexpr size_t kLongestShown = 200;

  bool Value() { return left_.values-- > 0 || Fail("more values and names in JSON than can be read"); }
  bool Leaf() { return depth_ == 0 ? Fail("expected a JSON object, {...}") : Value(); }
  bool Open(bool is_object) {
    if (depth_ == 0 && !is_object) return Fail("expected a JSON object, {...}, found a list");
    if (++depth_ > left_.depth) return Fail(StrCat("JSON nested deeper than ", left_.depth, " brackets"));
    return Value();
  }
  bool Close() {
    --depth_;
    return true;
  }
  bool Fail(std::string_view what) {
    error_ = BadInput(StrCat(where_, ": ", what));
    return false;
  }

  std::string_view text_, where_;
  JsonLimits left_;
  int depth_ = 0;
  std::unordered_set<std::string> names_;
  Status error_;
};

}  // namespace

Result<Json> ParseJsonObject(std::string_view text, std::string_view where, JsonLimits limits) {
  Scan scan(text, where, limits);
  if (!Json::sax_parse(text.begin(), text.end(), &scan)) return scan.error();
  Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (json.is_discarded()) return Defect("JSON that parses once only");
  return json;
}

}  // namespace sbp
