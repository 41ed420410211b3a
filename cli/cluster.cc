// cluster: list the presets, show one with the source of each constant.
#include "api/cluster.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/command_text.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "cluster/cluster.h"
#include "io/documents.h"

namespace sbp {
namespace {

Status List() {
  std::string text;
  for (const PresetRow& row : AllPresets()) {
    const std::string padding(row.name.size() < 16 ? 16 - row.name.size() : 1, ' ');
    text += StrCat(row.name, padding, row.description, "\n");
  }
  return Print(text);
}

struct ShowFlags {
  std::string name;
  OutputFlags output;
};

Status Show(const ShowFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const Cluster cluster, ChooseCluster(flags.name, nullptr));
  return Print(flags.output.json() ? WriteCluster(cluster, Encoding::kJson) : Dump(cluster));
}

}  // namespace

Command SetupCluster(CLI::App& app) {
  app.require_subcommand(1);
  auto chosen = std::make_shared<Command>();
  app.add_subcommand("list", "the presets")->callback([chosen] { *chosen = List; });
  CLI::App* show = app.add_subcommand("show", "one cluster, every constant with its source");
  auto flags = std::make_shared<ShowFlags>();
  OfferChoices(show->add_option("name", flags->name, "a preset or a file")->required()->type_name("NAME|FILE"),
               NamesOfPresets);
  AddFormatFlag(*show, flags->output);
  show->callback([chosen, flags] { *chosen = [flags] { return Show(*flags); }; });
  return [chosen] { return (*chosen)(); };
}

}  // namespace sbp
