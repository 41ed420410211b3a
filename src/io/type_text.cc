#include "io/type_text.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>

#include "base/text.h"
#include "base/utf8.h"
#include "io/utf8.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

constexpr std::string_view kAnyRank = "...";  // f32[...]: not even the rank is known

// May a symbol stand unquoted: identifiers and expressions with balanced brackets, at least one letter.
bool IsPlain(std::string_view symbol) {
  const auto is_word = [](unsigned char c) { return std::isalpha(c) != 0 || c == '_' || c >= 0x80; };
  if (Trim(symbol) != symbol || std::none_of(symbol.begin(), symbol.end(), is_word)) return false;
  int depth = 0;
  for (const char c : symbol) {
    if (c == '(') ++depth;
    if (c == ')' && --depth < 0) return false;
    const bool good = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                      std::string_view("_.:+-*/ ()$@#%").find(c) != std::string_view::npos || (c == ',' && depth > 0) ||
                      (static_cast<unsigned char>(c) >= 0x80);
    if (!good) return false;
  }
  return depth == 0;
}

std::string Quoted(std::string_view symbol) {
  std::string text = "'";
  for (const char c : symbol) {
    if (c == '\'' || c == '\\') text += '\\';
    text += c;
  }
  return text + "'";
}

// One dimension as written.
struct DimText {
  std::string symbol;  // "" for none
  std::string size;    // a number, "?", or "" after a symbol without "="
};

// Reads dimensions from the text between the square brackets.
class DimScanner {
 public:
  explicit DimScanner(std::string_view text) : text_(text) {}

  Result<std::vector<DimText>> Scan() {
    std::vector<DimText> dims;
    if (Trim(text_).empty() || Trim(text_) == kAnyRank) return dims;
    while (true) {
      DimText dim;
      SBP_RETURN_IF_ERROR(ScanDim(dim));
      dims.push_back(std::move(dim));
      if (at_ == text_.size()) return dims;
      ++at_;  // the comma
    }
  }

 private:
  Status ScanDim(DimText& dim) {
    SkipBlanks();
    if (at_ < text_.size() && text_[at_] == '\'') {
      SBP_RETURN_IF_ERROR(ScanQuoted(dim.symbol));
      SkipBlanks();
      if (at_ < text_.size() && text_[at_] == '=') dim.size = Upto();
      if (at_ < text_.size() && text_[at_] != ',') return BadInput("expected ',' or '=' after a quoted symbol");
      if (dim.symbol.empty()) return BadInput("an empty symbol");
      return OkStatus();
    }
    const std::string text = Upto();
    const size_t equals = text.find('=');
    const std::string_view first = Trim(std::string_view(text).substr(0, equals));
    if (first.empty()) return BadInput("an empty dimension");
    if (equals != std::string::npos) {
      dim.symbol = std::string(first);
      dim.size = "=" + std::string(Trim(std::string_view(text).substr(equals + 1)));
    } else if (first == "?" || ParseInt(first)) {
      dim.size = std::string(first);
    } else if (IsPlain(first)) {
      dim.symbol = std::string(first);
    } else if (std::ranges::all_of(first, [](unsigned char c) { return std::isdigit(c) != 0; })) {
      return BadInput(StrCat("dimension ", first, " does not fit 63 bits"));
    } else {
      return BadInput(StrCat("dimension ", Quote(first), " is no number, \"?\" or symbol (odd symbols are 'quoted')"));
    }
    return OkStatus();
  }

  // The text up to the next comma outside of round brackets.
  std::string Upto() {
    const size_t begin = at_;
    for (int depth = 0; at_ < text_.size() && (text_[at_] != ',' || depth > 0); ++at_) {
      if (text_[at_] == '(') ++depth;
      if (text_[at_] == ')') --depth;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  Status ScanQuoted(std::string& symbol) {
    for (++at_; at_ < text_.size() && text_[at_] != '\''; ++at_) {
      if (text_[at_] == '\\' && ++at_ == text_.size()) break;
      symbol += text_[at_];
    }
    if (at_ == text_.size()) return BadInput("a quoted symbol does not end");
    ++at_;
    return OkStatus();
  }

  void SkipBlanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Finds the brackets of the dimensions. Quoted symbols may hold brackets too; the outermost pair is meant.
struct Brackets {
  size_t open, close;
};
std::optional<Brackets> FindBrackets(std::string_view text) {
  const size_t open = text.find('[');
  const size_t close = text.rfind(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  return Brackets{open, close};
}

}  // namespace

std::string FormatTypeText(const TensorType& type, const std::vector<std::string>& symbols) {
  std::string text = ToString(type);
  if (std::all_of(symbols.begin(), symbols.end(), [](const std::string& s) { return s.empty(); })) return text;
  const std::optional<Brackets> brackets = FindBrackets(text);
  if (!brackets || symbols.size() != type.shape.size()) return text;
  std::string dims;
  for (size_t i = 0; i < symbols.size(); ++i) {
    const int64_t size = type.shape[i];
    const std::string symbol = ToUtf8(symbols[i]);
    if (i > 0) dims += ',';
    if (!symbol.empty()) dims += IsPlain(symbol) ? symbol : Quoted(symbol);
    if (size != kUnknownDim) {
      dims += (symbols[i].empty() ? "" : "=") + std::to_string(size);
    } else if (symbols[i].empty()) {
      dims += '?';
    }
  }
  return text.substr(0, brackets->open + 1) + dims + text.substr(brackets->close);
}

Result<SymbolicType> ParseTypeText(std::string_view text) {
  const auto error = [&](std::string_view what) {
    return BadInput(StrCat("type ", Quote(CutAtCharacter(text, 200)), ": ", what));
  };
  SymbolicType result;
  std::string numeric(text);
  if (const std::optional<Brackets> brackets = FindBrackets(text); brackets) {
    const std::string_view inner = text.substr(brackets->open + 1, brackets->close - brackets->open - 1);
    Result<std::vector<DimText>> dims = DimScanner(inner).Scan();
    if (!dims.ok()) return error(dims.status().message());
    if (dims->size() > static_cast<size_t>(kMaxRank)) {
      return error(StrCat(dims->size(), " dimensions; at most ", kMaxRank, " are possible"));
    }
    std::string sizes;
    bool symbolic = false;
    for (DimText& dim : *dims) {
      if (!sizes.empty()) sizes += ',';
      if (dim.size.starts_with('=')) dim.size = std::string(Trim(std::string_view(dim.size).substr(1)));
      if (!dim.symbol.empty() && !dim.size.empty() && !ParseInt(dim.size)) {
        return error(StrCat("symbol ", Quote(dim.symbol), " has the size ", Quote(dim.size), ", expected a number"));
      }
      sizes += dim.size.empty() ? "?" : dim.size;
      symbolic |= !dim.symbol.empty();
      result.symbols.push_back(std::move(dim.symbol));
    }
    if (!symbolic) result.symbols.clear();
    if (!dims->empty()) numeric = StrCat(text.substr(0, brackets->open + 1), sizes, text.substr(brackets->close));
  }
  Result<TensorType> type = ParseTensorType(numeric);
  if (!type.ok()) return type.status();
  result.type = *std::move(type);
  if (!result.symbols.empty() && result.symbols.size() != result.type.shape.size()) {
    return error("symbols stand where no dimensions do");
  }
  return result;
}

const std::string& TypeWriter::Format(const TensorType& type, const std::vector<std::string>& symbols) {
  if (!symbols.empty()) return scratch_ = FormatTypeText(type, symbols);
  const auto [it, is_new] = texts_.try_emplace(type);
  if (is_new) it->second = ToString(type);
  return it->second;
}

const SymbolicType* TypeReader::Parse(const std::string& text, Status& error) {
  const auto [it, is_new] = types_.try_emplace(text);
  if (!is_new) return &it->second;
  Result<SymbolicType> parsed = ParseTypeText(text);
  if (!parsed.ok()) {
    error = parsed.status();
    types_.erase(it);
    return nullptr;
  }
  it->second = *std::move(parsed);
  return &it->second;
}

}  // namespace sbp
