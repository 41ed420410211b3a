#include "cli/man_page.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/exit_codes.h"
#include "pipeline/pipeline.h"

namespace sbp {
namespace {

// '-' as typed, no line that roff takes for a request.
std::string Roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_begins = c == '\n';
  }
  return out;
}

std::string Bold(std::string_view text) { return StrCat("\\fB", Roff(text), "\\fR"); }
std::string Italic(std::string_view text) { return StrCat("\\fI", Roff(text), "\\fR"); }

std::string SpellOption(const OptionText& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(Bold(name));
  std::string text = option.names.empty() ? Italic(option.positional) : Join(names, ", ");
  if (!option.names.empty() && !option.value.empty()) text += StrCat(" ", Italic(option.value));
  return text;
}

std::string OptionEntry(const OptionText& option) {
  std::string text = StrCat(".TP\n", SpellOption(option), "\n", Roff(option.text));
  std::vector<std::string> notes;
  if (option.required && !option.names.empty()) notes.emplace_back("required");
  if (option.repeated) notes.emplace_back("may be given several times");
  if (option.limits.starts_with('{')) {
    notes.push_back(StrCat("one of ", Join(option.choices, ", ")));
  } else if (const size_t range = option.limits.find('['); range != std::string::npos) {
    notes.push_back(StrCat("within ", option.limits.substr(range)));
  }
  if (!option.default_value.empty()) notes.push_back(StrCat("default: ", option.default_value));
  if (!notes.empty()) text += StrCat(" (", Roff(Join(notes, "; ")), ")");
  return text + "\n";
}

std::string Synopsis(const CommandText& command) {
  std::string text = StrCat(Bold(Join(command.path, " ")), command.options.empty() ? "" : " [\\fIOPTIONS\\fR]");
  for (const OptionText& argument : command.arguments) {
    const std::string name = Italic(argument.positional);
    text += argument.required ? StrCat(" ", name) : StrCat(" [", name, "]");
    if (argument.repeated) text += " ...";
  }
  if (!command.commands.empty()) text += " \\fICOMMAND\\fR";
  return text + "\n";
}

std::string Section(std::string_view title, const std::vector<OptionText>& options) {
  if (options.empty()) return "";
  std::string text = title.empty() ? "" : StrCat(title, "\n");
  for (const OptionText& option : options) text += OptionEntry(option);
  return text;
}

std::string Examples(const std::string& examples) {
  return examples.empty() ? "" : StrCat(".SH EXAMPLES\n.nf\n", Roff(examples), ".fi\n");
}

std::string ExitStatus() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitCodeRow& row : AllExitCodes()) {
    text += StrCat(".TP\n", Bold(std::to_string(static_cast<int>(row.code))), "\n", Roff(row.meaning), "\n");
  }
  return text;
}

std::string SeeAlso(const CommandText& program, const std::string& self) {
  std::vector<std::string> names = {ManPageName(program)}, pages;
  for (const CommandText& command : program.commands) names.push_back(ManPageName(command));
  for (const std::string& name : names) {
    if (name != self) pages.push_back(Bold(name) + "(1)");
  }
  return StrCat(".SH SEE ALSO\n", Join(pages, ",\n"), "\n");
}

std::string OneLine(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// A command below the page's own, as a part of the page.
std::string SubcommandPart(const CommandText& command) {
  return StrCat(".SS ", Roff(Join(command.path, " ")), "\n", Roff(command.summary), "\n.PP\n", Synopsis(command),
                Section("", command.arguments), Section("", command.options));
}

std::string CommandList(const CommandText& program) {
  std::string text = ".SH COMMANDS\n";
  for (const CommandText& command : program.commands) {
    text += StrCat(".TP\n", Bold(command.path.back()), "\n", Roff(command.summary), "; see ",
                   Bold(ManPageName(command)), "(1)\n");
  }
  return text;
}

}  // namespace

std::string ManPageName(const CommandText& command) { return Join(command.path, "-"); }

std::string ManPage(const CommandText& command, const CommandText& program) {
  const std::string name = ManPageName(command);
  const bool whole = command.path.size() == 1;
  std::string upper = name;
  std::ranges::transform(upper, upper.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
  const std::string summary = whole ? "plan how a model is sharded over devices, and show the plan" : command.summary;
  std::string text = StrCat(".TH ", Roff(upper), " 1 \"\" \"sbp-plan ", Version(), "\" \"User Commands\"\n.SH NAME\n",
                            Roff(name), " \\- ", Roff(summary), "\n.SH SYNOPSIS\n", Synopsis(command));
  if (whole) {
    text += StrCat(".SH DESCRIPTION\n", Roff(OneLine(command.summary)), "\n", CommandList(command));
  } else if (!command.commands.empty()) {
    text += ".SH COMMANDS\n";
    for (const CommandText& below : command.commands) text += SubcommandPart(below);
  }
  text += Section(".SH ARGUMENTS", command.arguments) + Section(".SH OPTIONS", command.options);
  return StrCat(text, Examples(command.examples), ExitStatus(), SeeAlso(program, name));
}

}  // namespace sbp
