// What one op's choice costs around it: the boxing of every tensor that it reads or writes, if it chose otherwise and
// all others did not.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "plan/plan.h"
#include "problem/problem.h"

namespace sbp {

class KnockOn {
 public:
  KnockOn(const Problem& problem, const Plan& plan, OpId op);
  // Seconds of all boxing of the op's operands and results under this candidate; infinite where a layout cannot be
  // reached.
  double BoxingSeconds(const CandidateSignature& signature);

 private:
  // A tensor around the op: the layouts that others want of it, and the slots by which the op itself touches it.
  struct Around {
    TensorId tensor;
    NdSbp written;
    std::vector<NdSbp> wanted_by_others;
    bool not_partial = false;      // in the end
    std::vector<NdSbp> hubs;       // HubsOf
    std::vector<size_t> operands;  // slots in which the op reads it
    int result = -1;               // slot in which the op writes it
    std::map<std::vector<NdSbp>, double> known;
  };
  void AddAround(TensorId tensor, const Plan& plan);
  double Seconds(Around& around, const CandidateSignature& signature);
  double SecondsOf(const Around& around, const NdSbp& written, const std::vector<NdSbp>& own);

  const Problem& problem_;
  OpId op_;
  std::vector<Around> arounds_;
  std::unordered_map<TensorId, size_t> around_of_;
  size_t num_known_ = 0;
};

}  // namespace sbp
