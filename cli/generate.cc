// generate: graphs of any size, and layout problems.
#include "generate/generate.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancelled.h"
#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/caller.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "cli/progress.h"
#include "generate/options.h"
#include "io/documents.h"
#include "io/file.h"
#include "sbp/shard_math.h"
#include "search/cost_network.h"
#include "search/iopddl.h"

namespace sbp {
namespace {

constexpr const char* kSizes = "Sizes of llama, gpt, mpt, moe";
constexpr int64_t kMostOfSize = 100'000'000, kMostLayers = 500'000;

struct GenerateFlags {
  std::string family;
  GenerateOptions options;
  std::string dtype = "bf16";
  std::string positions;
  bool tied = false;
  const CLI::Option* tied_option = nullptr;
  std::string out;
  std::string slack;
  std::vector<const CLI::Option*> sizes, of_experts, problem_sizes;
};

void AddSizes(CLI::App& app, GenerateFlags& flags) {
  const auto add = [&](const std::string& flag, int64_t& to, const std::string& what, int64_t most = kMostOfSize) {
    CLI::Option* option = app.add_option(flag, to, what)->check(CLI::Range(int64_t{1}, most));
    if (to != 0) option->capture_default_str();
    flags.sizes.push_back(option->group(kSizes));
    return option;
  };
  DecoderSizes& sizes = flags.options.sizes;
  add("--layers", sizes.layers, "in place of --ops", kMostLayers)->excludes("--ops");
  add("--hidden", sizes.hidden, "width of what layers hand on");
  add("--ffn", sizes.feed_forward, "width inside the MLP [llama, moe: 14336; gpt, mpt: 4 x hidden]");
  add("--heads", sizes.heads, "of queries");
  add("--kv-heads", sizes.kv_heads, "of keys and values [llama, moe: 8; gpt, mpt: as --heads]");
  add("--vocab", sizes.vocabulary, "tokens [llama: 128256; gpt: 51200; mpt: 50368; moe: 32000]");
  flags.of_experts = {
      add("--experts", sizes.experts, "of moe, in each layer [8]"),
      add("--top-k", sizes.top_k, "of moe: experts of a token [2]"),
      add("--shared-ffn", sizes.shared_feed_forward, "of moe: width of an expert that all tokens go through [none]")};
  add("--batch", sizes.batch, "sequences");
  add("--seq", sizes.sequence, "positions of each");
  CLI::Option* dtype = app.add_option("--dtype", flags.dtype, "f32 | bf16 | f16, of weights and activations");
  dtype->check(CLI::IsMember({"f32", "bf16", "f16"}))->type_name("TYPE")->capture_default_str();
  flags.sizes.push_back(dtype->group(kSizes));
  CLI::Option* positions =
      app.add_option("--positions", flags.positions, "rope (llama, moe) | learned | alibi [gpt: learned; mpt: alibi]");
  positions->check(CLI::IsMember({"rope", "learned", "alibi"}))->type_name("KIND");
  flags.sizes.push_back(positions->group(kSizes));
  flags.tied_option =
      app.add_flag("--tied,!--untied", flags.tied,
                   "the head's weight is the embedding's, or its own [llama, moe: untied; gpt, mpt: tied]")
          ->group(kSizes);
  flags.sizes.push_back(flags.tied_option);
}

void AddProblemSizes(CLI::App& app, GenerateFlags& flags) {
  ProblemSizes& sizes = flags.options.problem;
  const auto keep = [&](CLI::Option* option) { flags.problem_sizes.push_back(option->group("Sizes of iopddl-like")); };
  keep(app.add_option("--devices", sizes.devices, "of the mesh, a power of two")
           ->check(CLI::Range(int64_t{2}, int64_t{1} << 16))
           ->capture_default_str());
  keep(app.add_option("--axes", sizes.axes, "of the mesh; nodes have up to 4^AXES candidates")
           ->check(CLI::Range(1, 3))
           ->type_name("AXES")
           ->capture_default_str());
  keep(app.add_option("--slack", flags.slack, "how far the usage limit is above the smallest peak [10%]")
           ->type_name("SHARE"));
}

std::optional<PositionKind> ParsePositions(std::string_view text) {
  if (text == "rope") return PositionKind::kRotary;
  if (text == "learned") return PositionKind::kLearned;
  if (text == "alibi") return PositionKind::kAlibi;
  return std::nullopt;
}

// `what`: what the family is instead.
Status RefuseSizes(const GenerateFlags& flags, const std::vector<const CLI::Option*>& options, std::string_view what,
                   bool (*takes)(const GeneratorRow&)) {
  std::vector<std::string> sized;
  for (const GeneratorRow& row : AllGenerators()) {
    if (takes(row)) sized.emplace_back(row.name);
  }
  for (const CLI::Option* option : options) {
    if (option->count() == 0) continue;
    return UsageError(
        StrCat(option->get_name(), ": ", flags.family, " ", what, "; sizes are given to ", Join(sized, ", ")));
  }
  return OkStatus();
}

// Some families are of so many ops, others of sizes.
Status CheckFamily(const GenerateFlags& flags, const GeneratorRow& row) {
  const auto decoder = [](const GeneratorRow& r) { return r.has_sizes; };
  const auto problem = [](const GeneratorRow& r) { return r.make_problem != nullptr; };
  if (!decoder(row)) SBP_RETURN_IF_ERROR(RefuseSizes(flags, flags.sizes, "is of --ops ops", decoder));
  for (const CLI::Option* option : flags.of_experts) {
    if (option->count() > 0 && decoder(row) && row.name != "moe") {
      return UsageError(StrCat(option->get_name(), ": ", row.name, " has no experts; moe has"));
    }
  }
  if (!problem(row))
    SBP_RETURN_IF_ERROR(RefuseSizes(flags, flags.problem_sizes, "is a graph, without devices", problem));
  if (!row.has_sizes && flags.options.ops == 0) {
    return UsageError(StrCat(flags.family, ": expected --ops, how large it is"));
  }
  return OkStatus();
}

Status WriteProblem(const GenerateFlags& flags, const GeneratorRow& row) {
  GenerateOptions options = flags.options;
  if (!flags.slack.empty()) {
    SBP_ASSIGN_OR_RETURN(options.problem.slack, ParseShare("slack", flags.slack));
  }
  if (flags.out != "-" && !flags.out.ends_with(".json")) {
    return UsageError(StrCat(flags.out, ": ", flags.family, " is written as .json"));
  }
  SBP_RETURN_IF_ERROR(CheckWritable(flags.out));
  options.cancelled = InterruptAsker();
  SBP_ASSIGN_OR_RETURN(const CostNetwork problem, row.make_problem(options));
  return WriteFile(flags.out, FormatIopddl(problem));
}

// A user's Ctrl-C waits until the file is whole, and in pieces it takes no memory. A call is cancelled in between, and
// then leaves no part of a file.
Status WriteGenerated(const Graph& graph, Encoding encoding, const std::string& path,
                      const std::function<bool()>& cancelled) {
  TellProgress("writing");
  if (CurrentCaller() == nullptr) {
    return WriteFileInPieces(path, [&](const ByteSink& sink) { WriteGraph(graph, encoding, sink); });
  }
  std::string text;
  WriteGraph(graph, encoding, [&](std::string_view piece) {
    if (cancelled()) return false;
    text += piece;
    return true;
  });
  SBP_RETURN_IF_ERROR(RefuseCancelled(cancelled));
  return WriteFile(path, text);
}

Status Generate(const GenerateFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const GeneratorRow* row, FindGenerator(flags.family));
  SBP_RETURN_IF_ERROR(CheckFamily(flags, *row));
  if (row->make_problem != nullptr) return WriteProblem(flags, *row);
  SBP_ASSIGN_OR_RETURN(const Encoding encoding, EncodingForPath(flags.out));
  SBP_RETURN_IF_ERROR(CheckWritable(flags.out));
  GenerateOptions options = flags.options;
  options.sizes.dtype = ParseDType(flags.dtype).value_or(options.sizes.dtype);
  options.sizes.positions = ParsePositions(flags.positions);
  if (flags.tied_option->count() > 0) options.sizes.tied = flags.tied;
  options.cancelled = InterruptAsker();
  SBP_ASSIGN_OR_RETURN(const Graph graph, row->make(options));
  return WriteGenerated(graph, encoding, flags.out, options.cancelled);
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
  app.add_option("--ops", flags->options.ops, "at least this many ops, whole layers")
      ->check(CLI::Range(int64_t{1}, int64_t{10'000'000}));
  app.add_option("--seed", flags->options.seed, "of the random choices")->check(RefuseNegative)->capture_default_str();
  AddSizes(app, *flags);
  AddProblemSizes(app, *flags);
  app.add_option("-o,--output", flags->out, ".json, .prototxt or .pb; - is stdout")->required()->type_name("FILE");
  return [flags] { return Generate(*flags); };
}

}  // namespace sbp
