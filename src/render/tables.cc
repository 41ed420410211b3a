#include "render/tables.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace sbp {
namespace {

std::string OneLine(std::string_view text) {
  std::string out;
  for (char c : text) out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return out;
}

std::string MarkdownCell(std::string_view text) {
  std::string out;
  for (char c : OneLine(text)) {
    if (c == '|' || c == '\\' || c == '*' || c == '_' || c == '<' || c == '`') out += '\\';
    out += c;
  }
  return out;
}

// Characters, not bytes: "→" is one column.
size_t Width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

void AppendAligned(const Table& table, std::string& out) {
  std::vector<size_t> widths;
  for (const std::string& cell : table.header) widths.push_back(Width(cell));
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string blank(widths[i] - Width(cells[i]), ' ');
      text += (i > 0 ? "  " : "") + (table.right[i] ? blank + cells[i] : cells[i] + blank);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  out += line(table.header);
  std::vector<std::string> rule;
  for (size_t width : widths) rule.emplace_back(width, '-');
  out += line(rule);
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (const std::string& cell : row) cells.push_back(OneLine(cell));
    out += line(cells);
  }
}

}  // namespace

std::string WriteMarkdown(const Document& document) {
  std::string out = StrCat("# ", MarkdownCell(document.head[0]), "\n\n");
  for (size_t i = 1; i < document.head.size(); ++i) out += StrCat("- ", MarkdownCell(document.head[i]), "\n");
  for (const Table& table : document.tables) {
    out += StrCat("\n## ", table.title, "\n\n|");
    for (const std::string& cell : table.header) out += StrCat(" ", cell, " |");
    out += "\n|";
    for (bool right : table.right) out += right ? " ---: |" : " --- |";
    for (const auto& row : table.rows) {
      out += "\n|";
      for (const std::string& cell : row) out += StrCat(" ", MarkdownCell(cell), " |");
    }
    out += "\n";
    if (!table.note.empty()) out += StrCat("\n", table.note, "\n");
  }
  return out;
}

std::string WriteText(const Document& document) {
  std::string out;
  for (const std::string& line : document.head) out += OneLine(line) + "\n";
  for (const Table& table : document.tables) {
    out += StrCat("\n", table.title, "\n");
    AppendAligned(table, out);
    if (!table.note.empty()) out += table.note + "\n";
  }
  return out;
}

}  // namespace sbp
