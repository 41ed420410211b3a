// What one op's choice costs around it: the boxing of every tensor that it reads or writes, if it chose otherwise and
// all others did not.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "graph/tensor_type.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "sbp/layout_rows.h"
#include "sbp/sbp.h"
#include "strategy/transitions.h"

namespace sbp {

class NeighbourBoxing {
 public:
  NeighbourBoxing(const Problem& problem, const Plan& plan, OpId op);
  // Seconds of all boxing of the op's operands and results in a step (as often as it makes them) under this candidate;
  // infinite where a layout cannot be reached.
  double BoxingSeconds(const CandidateSignature& signature);

 private:
  // What others make of a tensor.
  struct Others {
    TensorType type;
    NdSbp written;
    std::optional<NdSbp> standing;  // as a pin has it
    std::vector<CountedLayout> wanted;
    int64_t end_runs = 1;
    bool not_partial = false;  // in the end
    std::vector<NdSbp> hubs;   // HubsOf
    friend bool operator==(const Others&, const Others&) = default;
  };
  // A tensor around the op: what others make of it, and the slots by which the op itself touches it.
  struct Around {
    size_t others = 0;             // number of others_: the operands of a Sum are much alike
    std::vector<size_t> operands;  // slots in which the op reads it
    int result = -1;               // slot in which the op writes it
  };
  void AddAround(TensorId tensor, const Plan& plan);
  static bool IsAlike(const Around& a, const Around& b, const CandidateSignature& signature);
  double Seconds(const Around& around, const CandidateSignature& signature);
  double SecondsOf(const Others& others, const NdSbp& written, const std::vector<NdSbp>& own);

  const Problem& problem_;
  OpId op_;
  std::vector<Around> arounds_;
  std::vector<Others> others_;
  std::vector<std::map<std::vector<NdSbp>, double>> known_;  // per others_: by what the op wants and writes
  std::unordered_map<TensorId, size_t> around_of_;
};

}  // namespace sbp
