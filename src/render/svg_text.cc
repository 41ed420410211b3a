#include "render/svg_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "render/text_width.h"

namespace sbp {
namespace {

void AppendUtf8(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | ((c >> 18) & 0x07));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

// Of the entities that Graphviz writes.
std::string Unescape(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kNamed = {
      {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}}};
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t end = text[i] == '&' ? text.find(';', i) : std::string_view::npos;
    if (end == std::string_view::npos) {
      out += text[i];
      continue;
    }
    const std::string_view entity = text.substr(i + 1, end - i - 1);
    if (entity.starts_with("#")) {
      const bool hex = entity.starts_with("#x");
      uint32_t c = 0;
      std::from_chars(entity.data() + (hex ? 2 : 1), entity.data() + entity.size(), c, hex ? 16 : 10);
      AppendUtf8(out, c);
    }
    for (const auto& [name, c] : kNamed) {
      if (entity == name) out += c;
    }
    i = end;
  }
  return out;
}

// The value of ` name="value"` in a tag; "" without it.
std::string_view Attribute(std::string_view tag, std::string_view name) {
  const std::string opening = StrCat(" ", name, "=\"");
  const size_t at = tag.find(opening);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = tag.substr(at + opening.size());
  return rest.substr(0, rest.find('"'));
}

double NumberOf(std::string_view text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string Rounded(double number) { return FormatDouble(std::round(number * 100) / 100); }

class LengthFixer {
 public:
  LengthFixer(std::string_view svg, bool centre_nodes) : svg_(svg), centre_nodes_(centre_nodes) {
    out_.reserve(svg.size() + svg.size() / 8);
  }

  std::string Run() {
    CopyTo("<svg");
    if (!svg_.empty()) {
      out_ += StrCat("<svg", family_);
      svg_.remove_prefix(4);
    }
    for (CopyTo(kText); !svg_.empty(); CopyTo(kText)) {
      const size_t close = svg_.find('>'), end = svg_.find(kTextEnd);
      if (end == std::string_view::npos || close >= end) break;  // not Graphviz's
      AddText(svg_.substr(0, close), svg_.substr(close, end - close));
      svg_.remove_prefix(end + kTextEnd.size());
    }
    AppendWithoutTitles(svg_);
    return std::move(out_);
  }

 private:
  static constexpr std::string_view kText = "<text ", kTextEnd = "</text>";
  static constexpr double kRow = 32;  // as high as no label of an edge
  struct Label {
    double left, right, y;
  };

  // Keeps in mind the kind of the group that it has come to.
  void CopyTo(std::string_view upto) {
    constexpr std::string_view kClass = " class=\"";
    const std::string_view part = svg_.substr(0, std::min(svg_.find(upto), svg_.size()));
    if (const size_t at = part.rfind(kClass); at != std::string_view::npos) {
      in_node_ = part.substr(at + kClass.size()).starts_with("node");
      in_edge_ = part.substr(at + kClass.size()).starts_with("edge");
    }
    AppendWithoutTitles(part);
    svg_.remove_prefix(part.size());
  }

  // Graphviz gives everything the name that it has in the source as its title, which viewers show in the place of the
  // tooltip.
  void AppendWithoutTitles(std::string_view part) {
    constexpr std::string_view kOpen = "<title>", kClose = "</title>\n";
    for (size_t begin = part.find(kOpen); begin != std::string_view::npos; begin = part.find(kOpen)) {
      const size_t end = part.find(kClose, begin);
      if (end == std::string_view::npos) break;
      out_ += part.substr(0, begin);
      part.remove_prefix(end + kClose.size());
    }
    out_ += part;
  }

  // `content` begins with the '>' of the tag.
  void AddText(std::string_view tag, std::string_view content) {
    const std::string text = Unescape(content.substr(1));
    const double size = NumberOf(Attribute(tag, "font-size"));
    std::string attributes(tag);
    if (const size_t font = attributes.find(bold_family_); font != std::string::npos) {
      attributes.replace(font, bold_family_.size(), " font-weight=\"bold\"");
    }
    const bool bold = Attribute(attributes, "font-weight") == "bold";
    if (const size_t font = attributes.find(family_); font != std::string::npos) attributes.erase(font, family_.size());
    const std::string start = "text-anchor=\"start\" x=\"";
    if (const size_t at = attributes.find(start); centre_nodes_ && in_node_ && at != std::string::npos) {
      const double middle = NumberOf(Attribute(tag, "x")) + RoomFor(text, size, bold) / 2;
      const size_t x = at + start.size();
      attributes.replace(at, attributes.find('"', x) - at, StrCat("text-anchor=\"middle\" x=\"", Rounded(middle)));
    }
    const std::string_view shown = WithoutLead(text);
    const std::string_view lead = std::string_view(text).substr(0, text.size() - shown.size());
    if (!lead.empty()) MoveRight(attributes, RoomFor(lead, size, bold));
    const double width = SetWidth(Trim(shown), size, bold);
    if (in_edge_ && !TakesPlace(attributes, width, size)) return;
    out_ += attributes;
    if (width > 0) out_ += StrCat(" textLength=\"", Rounded(width), "\" lengthAdjust=\"spacingAndGlyphs\"");
    out_ += StrCat(">", WithoutLead(content.substr(1)), kTextEnd);
  }

  // Lines that run together may have their labels upon each other, of which none could be read: the first one stays.
  bool TakesPlace(std::string_view attributes, double width, double size) {
    const double x = NumberOf(Attribute(attributes, "x")), y = NumberOf(Attribute(attributes, "y"));
    const double left = Attribute(attributes, "text-anchor") == "middle" ? x - width / 2 : x;
    const auto row = static_cast<int64_t>(std::floor(y / kRow));
    for (int64_t near = row - 1; near <= row + 1; ++near) {
      for (const Label& other : labels_[near]) {
        if (std::abs(other.y - y) < 0.8 * size && left < other.right && other.left < left + width) return false;
      }
    }
    labels_[row].push_back({left, left + width, y});
    return true;
  }

  // Viewers drop spaces at the ends, some of them no-break ones, too: what these keep free is made the text's place.
  static std::string_view WithoutLead(std::string_view text) {
    for (const std::string_view space : {"\u00A0", "&#160;"}) {
      while (text.starts_with(space)) text.remove_prefix(space.size());
    }
    return text;
  }

  static void MoveRight(std::string& attributes, double width) {
    constexpr std::string_view kX = " x=\"";
    const size_t at = attributes.find(kX);
    if (at == std::string::npos) return;
    const double by = Attribute(attributes, "text-anchor") == "middle" ? width / 2 : width;
    const size_t x = at + kX.size();
    attributes.replace(x, attributes.find('"', x) - x, Rounded(NumberOf(Attribute(attributes, "x")) + by));
  }

  const std::string family_ = StrCat(" font-family=\"", kFontFamily, "\"");
  const std::string bold_family_ = StrCat(" font-family=\"", kFontFamily, kBoldSuffix, "\"");
  std::string_view svg_;  // what is left
  const bool centre_nodes_;
  bool in_node_ = false, in_edge_ = false;
  std::unordered_map<int64_t, std::vector<Label>> labels_;  // of edges, by rows of the picture
  std::string out_;
};

}  // namespace

std::string FixTextLengths(std::string_view svg, bool centre_nodes) { return LengthFixer(svg, centre_nodes).Run(); }

}  // namespace sbp
