#include "torch/reader.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "graph/builder.h"
#include "graph/literal.h"
#include "graph/producers.h"
#include "graph/tensor_type.h"
#include "torch/archive.h"
#include "torch/constant.h"
#include "torch/node_reader.h"
#include "torch/program.h"

namespace sbp {
namespace {

using torch::InputSpec;
using torch::OutputSpec;

bool IsJoint(const torch::Program& program) {
  return std::ranges::any_of(program.outputs,
                             [](const OutputSpec& o) { return o.kind == OutputSpec::Kind::kGradient; });
}

class ModelReader {
 public:
  ModelReader(const torch::Program& program, const torch::Archive& archive, std::string_view bytes)
      : program_(program), archive_(archive), bytes_(bytes), nodes_(builder_, IsJoint(program)) {}

  Result<Graph> Read(std::string_view where) {
    NoteMetadata();
    SBP_RETURN_IF_ERROR(Inputs());
    SBP_RETURN_IF_ERROR(NameOutputs());
    SBP_RETURN_IF_ERROR(nodes_.Read(program_.graph, frame_));
    SBP_RETURN_IF_ERROR(Outputs());
    SBP_ASSIGN_OR_RETURN(Graph graph, builder_.Build(where));
    SBP_RETURN_IF_ERROR(Verify(graph, where));  // of sizes that no machine has
    return graph;
  }

  // After Read.
  std::vector<TorchNode> Nodes() const {
    std::vector<TorchNode> nodes;
    for (const InputSpec& spec : program_.inputs) {
      if (spec.argument.empty()) continue;
      nodes.push_back({TorchNode::Kind::kInput, spec.argument, "", {}, {NameOf(spec.argument)}});
    }
    for (const torch::Node& node : program_.graph.nodes) {
      TorchNode call{TorchNode::Kind::kCall, node.name, node.target, {}, {}};
      for (const torch::Argument& argument : node.inputs) {
        for (const std::string& tensor : argument.tensors) {
          if (!tensor.empty()) call.inputs.push_back(NameOf(tensor));
        }
      }
      bool is_tuple = node.outputs.size() > 1;
      std::vector<std::string> results;
      for (const torch::Argument& output : node.outputs) {
        is_tuple = is_tuple || output.is_list;
        results.insert(results.end(), output.tensors.begin(), output.tensors.end());
      }
      if (results.empty()) continue;  // arithmetic on sizes, checks
      for (const std::string& result : results) call.outputs.push_back(NameOf(result));
      if (call.name.empty()) call.name = results.front();
      nodes.push_back(call);
      for (size_t i = 0; is_tuple && i < results.size(); ++i) {
        if (!results[i].empty())
          nodes.push_back({TorchNode::Kind::kItem, results[i], "", call.outputs, {call.outputs[i]}});
      }
    }
    return nodes;
  }

 private:
  std::string NameOf(const std::string& tensor) const {
    const auto known = frame_.names.find(tensor);
    return known == frame_.names.end() ? "" : known->second;
  }

  void NoteMetadata() {
    auto& metadata = builder_.graph().metadata;
    metadata.emplace_back(kProducerName, kTorchProducer);
    if (!program_.torch_version.empty()) metadata.emplace_back("producer_version", program_.torch_version);
    for (const auto& [symbol, range] : program_.ranges) {
      metadata.emplace_back(StrCat("range/", symbol), StrCat(range.first, "..", range.second));
    }
  }

  Status Inputs() {
    for (const InputSpec& spec : program_.inputs) {
      if (spec.argument.empty()) continue;
      const auto meta = program_.graph.tensors.find(spec.argument);
      if (meta == program_.graph.tensors.end()) {
        return BadInput(StrCat("input ", Quote(spec.argument), " has no type"));
      }
      const bool is_stored = spec.kind != InputSpec::Kind::kUser;
      const std::string name = is_stored ? StoredName(spec) : spec.argument;
      frame_.names[spec.argument] = name;
      if (!nodes_.Claim(name)) continue;  // tied to an earlier one
      if (!is_stored) {
        builder_.AddInput(name, meta->second.type, meta->second.symbols);
        continue;
      }
      SBP_RETURN_IF_ERROR(Parameter(spec, name, meta->second.type));
    }
    return OkStatus();
  }

  // Parameters that share one place are one: the first.
  std::string StoredName(const InputSpec& spec) {
    const auto stored = archive_.tensors.find(spec.target);
    if (stored == archive_.tensors.end() || stored->second.storage.empty()) return spec.target;
    const std::string key = StrCat(stored->second.storage, " ", ToString(stored->second.type));
    return by_place_.emplace(key, spec.target).first->second;
  }

  Status Parameter(const InputSpec& spec, const std::string& name, const TensorType& type) {
    const auto stored = archive_.tensors.find(spec.target);
    const bool has_values = stored != archive_.tensors.end() && stored->second.place;
    if (stored != archive_.tensors.end() && stored->second.type != type) {
      return BadInput(StrCat(Quote(spec.target), " is stored as ", ToString(stored->second.type), ", and used as ",
                             ToString(type)));
    }
    // Weights are to be trained, and stay what they are; what else is small may decide shapes and be computed with.
    const bool is_constant = spec.kind != InputSpec::Kind::kParameter;
    LiteralRef literal;
    if (has_values && is_constant) {
      literal = torch::SmallConstant(type, bytes_.substr(static_cast<size_t>(stored->second.place->offset),
                                                         static_cast<size_t>(stored->second.place->length)));
    }
    const TensorId id = builder_.AddParameter(name, type, std::move(literal));
    if (builder_.graph().tensor(id).literal) return OkStatus();
    if (has_values) builder_.graph().tensor(id).data = stored->second.place;
    if (is_constant) builder_.graph().metadata.emplace_back(kBufferName, name);
    return OkStatus();
  }

  static std::string OutputName(const OutputSpec& spec) {
    if (spec.kind == OutputSpec::Kind::kGradient) return StrCat("grad/", spec.target);
    if (spec.kind == OutputSpec::Kind::kMutation) return StrCat("next/", spec.target);
    return spec.argument;
  }

  // Gradients and updates carry the names of what they are of; the nodes that compute them write these.
  Status NameOutputs() {
    for (const OutputSpec& spec : program_.outputs) {
      if (spec.argument.empty() || OutputName(spec) == spec.argument) continue;
      const bool is_new = !frame_.names.contains(spec.argument) && nodes_.Claim(OutputName(spec));
      if (is_new) frame_.names[spec.argument] = OutputName(spec);
    }
    return OkStatus();
  }

  Status Outputs() {
    std::unordered_set<std::string> listed;
    for (const OutputSpec& spec : program_.outputs) {
      if (spec.argument.empty()) continue;
      std::string tensor = nodes_.Lookup(spec.argument, frame_);
      SBP_RETURN_IF_ERROR(nodes_.CheckFresh(tensor, "an output", spec.argument));
      const bool of_node = builder_.graph().tensor(builder_.Tensor(tensor)).role == TensorRole::kActivation;
      // What is an input itself, or another output too, is copied.
      if (!of_node || !listed.insert(tensor).second) {
        std::string copy = nodes_.NewName(StrCat(OutputName(spec), of_node ? "" : "/output"));
        builder_.AddOp("Identity", copy, {tensor}, {copy});
        tensor = std::move(copy);
        listed.insert(tensor);
      }
      builder_.AddOutput(tensor);
      const bool is_state = spec.kind == OutputSpec::Kind::kMutation;
      if (is_state) Tie(spec.target, tensor);
    }
    return OkStatus();
  }

  void Tie(const std::string& target, const std::string& output) {
    for (const InputSpec& spec : program_.inputs) {
      const bool named = spec.target == target || (spec.target.empty() && spec.argument == target);
      if (named && frame_.names.contains(spec.argument)) builder_.AddTie(output, frame_.names[spec.argument]);
    }
  }

  const torch::Program& program_;
  const torch::Archive& archive_;
  std::string_view bytes_;
  GraphBuilder builder_;
  torch::NodeReader nodes_;
  torch::Frame frame_;
  std::map<std::string, std::string> by_place_;
};

Result<Graph> Read(std::string_view bytes, std::string_view where) {
  SBP_ASSIGN_OR_RETURN(const torch::Archive archive, torch::ReadArchive(bytes));
  SBP_ASSIGN_OR_RETURN(const torch::Program program, torch::ReadProgram(archive.program));
  return ModelReader(program, archive, bytes).Read(where);
}

Result<std::vector<TorchNode>> Nodes(std::string_view bytes, std::string_view where) {
  SBP_ASSIGN_OR_RETURN(const torch::Archive archive, torch::ReadArchive(bytes));
  SBP_ASSIGN_OR_RETURN(const torch::Program program, torch::ReadProgram(archive.program));
  ModelReader reader(program, archive, bytes);
  SBP_RETURN_IF_ERROR(reader.Read(where).status());
  return reader.Nodes();
}

template <typename T>
Result<T> In(std::string_view where, Result<T> read) {
  if (read.ok() || read.status().message().starts_with(where)) return read;
  return read.status().WithContext(where);
}

}  // namespace

Result<Graph> ReadTorch(std::string_view bytes, std::string_view where) { return In(where, Read(bytes, where)); }

Result<std::vector<TorchNode>> ReadTorchNodes(std::string_view bytes, std::string_view where) {
  return In(where, Nodes(bytes, where));
}

}  // namespace sbp
