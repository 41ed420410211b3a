// What --remat asks: which parts of a model keep what for the backward pass, and compute the rest again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sbp {

// Of a segment (remat/segments.h). Each computes again all that the one before does, and more.
enum class RematPolicy : uint8_t {
  kNone,   // keeps all that the backward pass reads
  kLight,  // computes again what ops without products make: element-wise, casts, normalisations; attention it leaves
           // alone
  kSelective,  // that, and attention's scores and what becomes of them: keeps queries, keys, values, the context, and
               // other products
  kAlternate,  // that, and each second product with parameters, in the graph's order: torchtitan's selective mode "op"
  kFull,       // keeps what crosses the segment's borders
};
struct RematPolicyRow {
  RematPolicy policy;
  std::string_view name;
};
std::span<const RematPolicyRow> AllRematPolicies();  // in the order of the enum
std::string_view NameOf(RematPolicy policy);

struct RematEntry {
  std::string scope;  // a pattern over module scopes (naming/module_index.h); "": the layers as they follow
  RematPolicy policy = RematPolicy::kNone;
  int64_t count = -1;  // without a scope: of how many layers, the first ones that no entry before took; -1: the rest
  // What the policy keeps stays until the segment's backward pass is over, whatever that reads: products, by policies
  // that compute something again, as in the cache of PyTorch's selective checkpoints of eager modules, which does not
  // know what will be read; by none all that is read, as in the one call of a spelled-out torch.autograd.Function.
  bool held = false;
  // Nothing is computed again that a product of the backward pass reads, as it would have to be written: what is left
  // is computed inside of the kernels that read it, as torch.compile's partitioner decides.
  bool fused = false;
};

// "full"; "full:8,selective" (the first 8 layers, the others); "light,layers.0=full"; "alternate+held",
// "light+fused". What the last
// fitting entry says of a scope goes before what layers are told. Error (kBadInput): an unknown policy, with the
// nearest; a count that is none; an entry behind one that takes the rest.
Result<std::vector<RematEntry>> ParseRemat(std::string_view text);

}  // namespace sbp
