// Attention of a decoder: grouped queries with rotary positions, and latent attention.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "huggingface/decoder.h"
#include "huggingface/module_writer.h"

namespace sbp::huggingface {
namespace {

// (batch, seq, heads * size) as (batch, heads, seq, size).
std::string ToHeads(const std::string& name, const std::string& x, int64_t heads, int64_t size, ModuleWriter& writer) {
  return writer.Transposed(name + "_transpose", writer.Reshaped(name + "_view", x, {0, 0, heads, size}), {0, 2, 1, 3});
}

// Elements [from, to) of the last dimension, every `step`-th.
std::string Cut(const std::string& name, const std::string& x, int64_t from, int64_t to, int64_t step,
                ModuleWriter& writer) {
  return writer.Op("Slice", name, {x, writer.Ints({from}), writer.Ints({to}), writer.Ints({-1}), writer.Ints({step})});
}

// Each element by the one half of what is turned before or behind it.
std::string TurnedHalves(const std::string& name, const std::string& x, const Angles& angles, int64_t size,
                         ModuleWriter& writer) {
  const std::string low = Cut(name + "_low", x, 0, size / 2, 1, writer);
  const std::string high = writer.Op("Neg", name + "_neg", {Cut(name + "_high", x, size / 2, size, 1, writer)});
  const std::string half = writer.Op("Concat", name + "_rotate_half", {high, low}, {{"axis", int64_t{-1}}});
  return writer.Op(
      "Add", name + "_embed",
      {writer.Op("Mul", name + "_cos", {x, angles.cosine}), writer.Op("Mul", name + "_sin", {half, angles.sine})});
}

std::string TurnedNeighbours(const std::string& name, const std::string& x, const Angles& angles, int64_t size,
                             ModuleWriter& writer) {
  const std::string even = Cut(name + "_even", x, 0, size, 2, writer), odd = Cut(name + "_odd", x, 1, size, 2, writer);
  const std::string one = writer.Op("Sub", name + "_one",
                                    {writer.Op("Mul", name + "_even_cos", {even, angles.cosine}),
                                     writer.Op("Mul", name + "_odd_sin", {odd, angles.sine})});
  const std::string two = writer.Op("Add", name + "_two",
                                    {writer.Op("Mul", name + "_odd_cos", {odd, angles.cosine}),
                                     writer.Op("Mul", name + "_even_sin", {even, angles.sine})});
  return writer.Op("Concat", name + "_embed", {one, two}, {{"axis", int64_t{-1}}});
}

// The same for all heads.
Angles ForHeads(const Angles& angles, ModuleWriter& writer) {
  return {writer.Op("Unsqueeze", "cos", {angles.cosine, writer.Ints({1})}),
          writer.Op("Unsqueeze", "sin", {angles.sine, writer.Ints({1})})};
}

// The first `turned` of `size` elements are turned, the others kept.
std::string Turned(const std::string& name, const std::string& x, const Angles& angles, int64_t turned, int64_t size,
                   ModuleWriter& writer) {
  if (turned == size) return TurnedHalves(name, x, angles, size, writer);
  const std::string first = TurnedHalves(name, Cut(name + "_rot", x, 0, turned, 1, writer), angles, turned, writer);
  return writer.Op("Concat", name + "_joined", {first, Cut(name + "_pass", x, turned, size, 1, writer)},
                   {{"axis", int64_t{-1}}});
}

// The scores' own part: (batch, heads, seq, size) of each, as (batch, seq, heads * size of values).
std::string Attend(const std::vector<std::string>& qkv, int64_t window, double scale, double cap, int64_t wide,
                   ModuleWriter& writer) {
  AttributeList attributes = {{"is_causal", int64_t{1}}, {"scale", scale}};
  if (window > 0) attributes.emplace_back("left_window_size", window - 1);
  if (cap != 0) attributes.emplace_back("softcap", cap);
  const std::string mixed = writer.Op("Attention", "attention", qkv, attributes);
  return writer.Reshaped("output_view", writer.Transposed("output_transpose", mixed, {0, 2, 1, 3}), {0, 0, wide});
}

struct Projections {
  std::string q, k, v;  // (batch, seq, heads * size)
};

Projections Project(const Decoder& decoder, const std::string& x, ModuleWriter& writer) {
  const int64_t wide = decoder.heads * decoder.head_size, narrow = decoder.kv_heads * decoder.head_size;
  if (decoder.fused) {
    const std::string all = writer.Linear("qkv_proj", x, decoder.hidden, wide + 2 * narrow, decoder.qkv_bias);
    const std::vector<std::string> parts =
        writer.Ops("Split", "split", {all, writer.Ints({wide, narrow, narrow})}, 3, {{"axis", int64_t{-1}}});
    return {parts[0], parts[1], parts[2]};
  }
  const std::string q = writer.Linear("q_proj", x, decoder.hidden, wide, decoder.qkv_bias);
  const std::string k = writer.Linear("k_proj", x, decoder.hidden, narrow, decoder.qkv_bias);
  return {q, k, writer.Linear("v_proj", x, decoder.hidden, narrow, decoder.qkv_bias)};
}

// `heads` of `size`, normed head by head where the family does so.
std::string HeadsOf(const Decoder& decoder, const std::string& name, const std::string& x, int64_t heads,
                    ModuleWriter& writer) {
  const int64_t size = decoder.head_size;
  if (!decoder.qk_norms) return ToHeads(name, x, heads, size, writer);
  const std::string apart = writer.Reshaped(name + "_view", x, {0, 0, heads, size});
  return writer.Transposed(name + "_transpose", WriteNorm(decoder, name + "_norm", apart, size, writer), {0, 2, 1, 3});
}

// What queries of the latent kind are made of.
std::string LatentQueries(const Decoder& decoder, const LatentAttention& latent, const std::string& x,
                          ModuleWriter& writer) {
  const int64_t wide = decoder.heads * (latent.plain + latent.rotary);
  if (latent.query_rank == 0) return writer.Linear("q_proj", x, decoder.hidden, wide, false);
  const std::string narrow = writer.Linear("q_a_proj", x, decoder.hidden, latent.query_rank, decoder.qkv_bias);
  const std::string normed = WriteNorm(decoder, "q_a_layernorm", narrow, latent.query_rank, writer, 1e-6);
  return writer.Linear("q_b_proj", normed, latent.query_rank, wide, false);
}

}  // namespace

std::string WriteAttention(const Decoder& decoder, const LayerKind& layer, const Angles& tables, const std::string& x,
                           ModuleWriter& writer) {
  const Angles angles = ForHeads(tables, writer);
  const Projections made = Project(decoder, x, writer);
  const std::string q = HeadsOf(decoder, "q", made.q, decoder.heads, writer);
  const std::string k = HeadsOf(decoder, "k", made.k, decoder.kv_heads, writer);
  const std::string v = ToHeads("v", made.v, decoder.kv_heads, decoder.head_size, writer);
  const double scale = decoder.score_scale.value_or(1 / std::sqrt(static_cast<double>(decoder.head_size)));
  const int64_t wide = decoder.heads * decoder.head_size;
  const int64_t turned = 2 * static_cast<int64_t>(decoder.ropes[layer.rope].frequencies.size());
  const std::string mixed = Attend({Turned("q", q, angles, turned, decoder.head_size, writer),
                                    Turned("k", k, angles, turned, decoder.head_size, writer), v},
                                   layer.window, scale, decoder.score_cap.value_or(0), wide, writer);
  return writer.Linear("o_proj", mixed, wide, decoder.hidden, decoder.output_bias);
}

std::string WriteLatentAttention(const Decoder& decoder, const Angles& tables, const std::string& x,
                                 ModuleWriter& writer) {
  const Angles angles = ForHeads(tables, writer);
  const LatentAttention& latent = *decoder.latent;
  const int64_t heads = decoder.heads, size = latent.plain + latent.rotary;
  const AttributeList last = {{"axis", int64_t{-1}}};
  const std::string queries = ToHeads("q", LatentQueries(decoder, latent, x, writer), heads, size, writer);
  const std::vector<std::string> q =
      writer.Ops("Split", "q_split", {queries, writer.Ints({latent.plain, latent.rotary})}, 2, last);
  const std::string both =
      writer.Linear("kv_a_proj_with_mqa", x, decoder.hidden, latent.key_value_rank + latent.rotary, decoder.qkv_bias);
  const std::vector<std::string> compressed =
      writer.Ops("Split", "kv_a_split", {both, writer.Ints({latent.key_value_rank, latent.rotary})}, 2, last);
  const std::string normed = WriteNorm(decoder, "kv_a_layernorm", compressed[0], latent.key_value_rank, writer, 1e-6);
  const std::string spread = ToHeads(
      "kv", writer.Linear("kv_b_proj", normed, latent.key_value_rank, heads * (latent.plain + latent.value), false),
      heads, latent.plain + latent.value, writer);
  const std::vector<std::string> kv =
      writer.Ops("Split", "kv_split", {spread, writer.Ints({latent.plain, latent.value})}, 2, last);
  // One rotary part of the keys for all heads.
  const auto turn = latent.interleaved ? TurnedNeighbours : TurnedHalves;
  const std::string turned_q = turn("q", q[1], angles, latent.rotary, writer);
  const std::string turned_k =
      turn("k", ToHeads("k_rot", compressed[1], 1, latent.rotary, writer), angles, latent.rotary, writer);
  const std::string for_all = writer.Op("Expand", "k_rot_expand", {turned_k, writer.Ints({1, heads, 1, 1})});
  const std::string query = writer.Op("Concat", "query", {q[0], turned_q}, last);
  const std::string key = writer.Op("Concat", "key", {kv[0], for_all}, last);
  const double scale = decoder.score_scale.value_or(1 / std::sqrt(static_cast<double>(size)));
  const std::string mixed = Attend({query, key, kv[1]}, 0, scale, 0, heads * latent.value, writer);
  return writer.Linear("o_proj", mixed, heads * latent.value, decoder.hidden, decoder.output_bias);
}

}  // namespace sbp::huggingface
