// Reads a config.json of Hugging Face transformers into the graph that transformers runs, without it and its weights.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"

namespace sbp {

// The graph of the causal language model that the config describes, as it computes without a cache and without dropout:
// input_ids (batch, seq; both symbolic) in, logits (batch, seq, vocabulary) out. Scopes and parameters have the names
// of transformers' modules ("model.layers.0.self_attn.q_proj.weight"); experts are one parameter a layer, as
// transformers 5 keeps them (huggingface/weight_files.h joins those of checkpoints). Metadata `producer_name` is
// kConfigProducer (graph/producers.h), `defaults`, `note` and `unread` are what NotesOnConfig tells. Errors
// (kBadInput), with file and key: no JSON; an unknown model_type, with the nearest; a value that is none; a key that
// changes the graph in a way that is not supported.
Result<Graph> ReadConfig(std::string_view bytes, std::string_view where);

// Is the graph one of ReadConfig?
bool IsOfConfig(const Graph& graph);
// What is to be said of such a graph: keys that were missing, with the values that stand for them, and keys that were
// not looked at.
std::vector<std::string> NotesOnConfig(const Graph& graph);

}  // namespace sbp
