// Rule semantics: every candidate of every rule that has a reference kernel is executed on small even and uneven
// shapes, and compared with the unsharded op. Parts with a halo get as many elements of neighbours as the rule says,
// and fewer must not do. The cases are rows of instances.txt.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <random>
#include <set>

#include "base/text.h"
#include "reference/interpreter.h"
#include "reference/shards.h"
#include "rule/candidates.h"
#include "rule/rule_set.h"
#include "support/rule_cases.h"

namespace sbp::reference {
namespace {

class Runner {
 public:
  explicit Runner(const RuleSet& rules) : rules_(rules) {}

  void Run(const RuleCase& c) {
    SCOPED_TRACE(StrCat("instances.txt:", c.line, ": ", c.text));
    const auto instance = rules_.Instantiate(QueryOf(c));
    ASSERT_TRUE(instance.ok()) << instance.status().message();
    const Kernel kernel = FindKernel(c.op);
    ASSERT_NE(kernel, nullptr) << "no reference kernel";

    std::mt19937_64 random(c.line);
    std::vector<Array> whole;
    for (const auto& o : c.operands) whole.push_back(o.present ? MakeData(o, random) : Array());
    const std::vector<Array> expected = Compute(kernel, WholeCall(c, **instance, whole));
    for (size_t r = 0; r < expected.size(); ++r)
      ASSERT_EQ(expected[r].shape, (*instance)->results[r].shape) << "result " << r;

    for (const char* mesh_text : {"2", "3", "4", "a=2,b=2"}) {
      const Mesh mesh = ParseMesh(mesh_text).value();
      const CandidateList list = MakeCandidates(*instance, mesh);
      for (size_t i = 0; i < list.candidates.size(); ++i) {
        RunCandidate(c, kernel, **instance, list.candidates[i], mesh, whole, expected, random);
      }
    }
  }

  int executed = 0;

 private:
  // For each result what differs from the unsharded one; "": nothing.
  static std::vector<std::string> Differences(const RuleCase& c, Kernel kernel, const RuleInstance& instance,
                                              const Candidate& candidate, const Mesh& mesh,
                                              const std::vector<Array>& whole, const std::vector<Array>& expected,
                                              std::mt19937_64& random, HaloTrim trim) {
    const Signature& signature = candidate.signature;
    std::vector<std::vector<Array>> parts(whole.size());  // operand, device
    std::vector<HaloWidths> halos;
    for (size_t i = 0; i < whole.size(); ++i) {
      halos.push_back(HaloOf(instance.map, candidate, i, trim));
      if (c.operands[i].present)
        parts[i] = Shard(whole[i], signature.inputs[i], mesh, random, c.operands[i].domain, halos[i]);
    }
    std::vector<std::vector<Array>> results(expected.size());  // result, device
    for (int64_t device = 0; device < mesh.num_devices(); ++device) {
      Call call = WholeCall(c, instance, whole);
      for (size_t i = 0; i < whole.size(); ++i) {
        if (!c.operands[i].present) continue;
        call.inputs[i] = &parts[i][device];
        call.input_pieces[i] = PieceOf(whole[i].shape, signature.inputs[i], mesh, device, halos[i]);
      }
      for (size_t r = 0; r < expected.size(); ++r) {
        call.result_pieces[r] = PieceOf(expected[r].shape, signature.outputs[r], mesh, device);
      }
      std::vector<Array> local = Compute(kernel, call);
      for (size_t r = 0; r < expected.size(); ++r) results[r].push_back(std::move(local[r]));
    }
    std::vector<std::string> differences;
    for (size_t r = 0; r < expected.size(); ++r)
      differences.push_back(CompareParts(results[r], expected[r], signature.outputs[r], mesh, 1e-9));
    return differences;
  }

  void RunCandidate(const RuleCase& c, Kernel kernel, const RuleInstance& instance, const Candidate& candidate,
                    const Mesh& mesh, const std::vector<Array>& whole, const std::vector<Array>& expected,
                    std::mt19937_64& random) {
    SCOPED_TRACE(StrCat("mesh ", ToString(mesh), ": ", ToString(candidate.signature)));
    ++executed;
    const auto differences = [&](HaloTrim trim) {
      return Differences(c, kernel, instance, candidate, mesh, whole, expected, random, trim);
    };
    const std::vector<std::string> all_equal(expected.size());
    EXPECT_EQ(differences({}), all_equal);
    if (mesh.num_axes() > 1 || candidate.axes[0].kind != AxisChoice::Kind::kFactor) return;
    const std::optional<Factor::Halo> halo = instance.map.factors[candidate.axes[0].index].halo;
    if (halo && halo->low > 0) {
      EXPECT_NE(differences({1, 0}), all_equal) << "fewer elements before suffice";
    }
    if (halo && halo->high > 0) {
      EXPECT_NE(differences({0, 1}), all_equal) << "fewer elements after suffice";
    }
  }

  const RuleSet& rules_;
};

TEST(RuleSemantics, EveryCandidateEqualsTheUnshardedOp) {
  const auto rules = RuleSet::Builtin();
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  Runner runner(*rules);
  const std::vector<RuleCase> cases = ReadRuleCases(std::string(SBP_SOURCE_DIR) + "/rules/instances.txt");
  ASSERT_FALSE(cases.empty());
  std::set<std::string> tried;
  for (const RuleCase& c : cases) {
    if (FindKernel(c.op) == nullptr) continue;  // rows for `rules verify` alone
    runner.Run(c);
    tried.insert(c.op);
  }
  for (const std::string& name : KernelNames()) EXPECT_TRUE(tried.count(name)) << name << " has a kernel but no case";
  std::cout << runner.executed << " candidates of " << tried.size() << " ops executed\n";
}

}  // namespace
}  // namespace sbp::reference
