// generate: graphs of any size.
#include "generate/generate.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "io/documents.h"
#include "io/file.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

struct GenerateFlags {
  std::string family;
  GenerateOptions options;
  std::string out;
};

Status Generate(const GenerateFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const Encoding encoding, EncodingForPath(flags.out));
  SBP_RETURN_IF_ERROR(CheckWritable(flags.out));
  SBP_ASSIGN_OR_RETURN(const Graph graph, GenerateGraph(flags.family, flags.options));
  return WriteFile(flags.out, WriteGraph(graph, encoding));
}

}  // namespace

Command SetupGenerate(CLI::App& app) {
  auto flags = std::make_shared<GenerateFlags>();
  std::vector<std::string> families;
  for (const GeneratorRow& row : AllGenerators()) families.emplace_back(row.name);
  app.add_option("family", flags->family, Join(families, " | "))
      ->required()
      ->check(CLI::IsMember(families))
      ->type_name("FAMILY");
  app.add_option("--ops", flags->options.ops, "at least this many ops")
      ->required()
      ->check(CLI::Range(int64_t{1}, int64_t{10'000'000}));
  app.add_option("--seed", flags->options.seed, "of the random choices")->check(RefuseNegative)->capture_default_str();
  app.add_option("-o,--output", flags->out, ".json, .prototxt or .pb; - is stdout")->required()->type_name("FILE");
  return [flags] { return Generate(*flags); };
}

}  // namespace sbp
