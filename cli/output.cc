#include "cli/output.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

namespace sbp {

void AddFormatFlag(CLI::App& app, OutputFlags& flags) {
  app.add_option("--format", flags.format, "text, or json: one document on stdout")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

void AddNotationFlag(CLI::App& app, OutputFlags& flags) {
  app.add_option("--notation", flags.notation, "how layouts are spelled: (S(0), B), or dims_mapping [0,-1]")
      ->check(CLI::IsMember({"sbp", "dims-mapping"}))
      ->capture_default_str();
}

Status Print(std::string_view text) {
  std::cout << text;
  if (text.empty() || text.back() != '\n') std::cout << '\n';
  std::cout.flush();
  if (!std::cout) return BadInput("cannot write to stdout");
  return OkStatus();
}

// Names in files may hold anything; a terminal must not obey it.
void Note(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool obeyed = (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
    shown += obeyed ? '?' : c;
  }
  shown += '\n';
  std::cerr << shown;  // one write: mpirun joins the lines of all ranks
}

}  // namespace sbp
