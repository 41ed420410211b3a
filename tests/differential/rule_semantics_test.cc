// Rule semantics: every candidate of every rule that has a reference kernel is executed on small even and uneven
// shapes, and compared with the unsharded op. Parts with a halo get as many elements of neighbours as the rule says,
// and fewer must not do. The cases are rows of rule_cases.txt.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <optional>
#include <random>
#include <set>
#include <sstream>

#include "base/text.h"
#include "reference/interpreter.h"
#include "reference/shards.h"
#include "rule/candidates.h"
#include "rule/rule_set.h"

namespace sbp::reference {
namespace {

// One row: OP OPERAND... [NAME=VALUE...] [-> N]
//   operand: a type (f32[6,4]); with '@LOW..HIGH' data of that domain, with '<N' integers in [0, N), with '=[1,2]'
//   these data; '=[1,2]' alone a value that is known when planning; '-' absent.
struct Case {
  std::string text;
  int line = 0;
  std::string op;
  struct Operand {
    bool present = true;
    TensorType type;
    Domain domain;
    int64_t bound = 0;
    std::vector<double> data;
    LiteralRef value;
  };
  std::vector<Operand> operands;
  Attributes attributes;
  size_t results = 1;
};

// "[1,2]" or "3".
std::vector<double> NumberList(std::string_view text) {
  std::vector<double> values;
  if (text[0] == '[') text = text.substr(1, text.size() - 2);
  if (Trim(text).empty()) return values;
  for (const std::string_view part : Split(text, ',')) values.push_back(*ParseDouble(Trim(part)));
  return values;
}
std::vector<int64_t> IntList(std::string_view text) {
  const std::vector<double> values = NumberList(text);
  return {values.begin(), values.end()};
}

// "=[1,2]", "=3", "=[0.5,2]:f32".
LiteralRef ParseKnown(std::string word) {
  DType type = DType::kI64;
  if (const size_t colon = word.find(':'); colon != std::string::npos) {
    type = ParseTensorType(word.substr(colon + 1) + "[]")->dtype;
    word.resize(colon);
  }
  const std::vector<double> values = NumberList(word.substr(1));
  Literal literal;
  literal.type = {type, word[1] == '[' ? Shape{static_cast<int64_t>(values.size())} : Shape{}};
  if (IsFloat(type))
    literal.floats = values;
  else
    literal.ints.assign(values.begin(), values.end());
  return std::make_shared<const Literal>(std::move(literal));
}

Case::Operand ParseOperand(std::string word) {
  Case::Operand operand;
  if (word == "-") {
    operand.present = false;
    return operand;
  }
  if (word[0] == '=') {
    operand.value = ParseKnown(word);
    operand.type = operand.value->type;
    return operand;
  }
  if (const size_t at = word.find('@'); at != std::string::npos) {
    const size_t dots = word.find("..", at);
    operand.domain = {*ParseDouble(word.substr(at + 1, dots - at - 1)), *ParseDouble(word.substr(dots + 2))};
    word.resize(at);
  } else if (const size_t less = word.find('<'); less != std::string::npos) {
    operand.bound = *ParseInt(word.substr(less + 1));
    word.resize(less);
  } else if (const size_t equal = word.find('='); equal != std::string::npos) {
    operand.data = NumberList(word.substr(equal + 1));
    word.resize(equal);
  }
  const auto type = ParseTensorType(word);
  EXPECT_TRUE(type.ok()) << word;
  if (type.ok()) operand.type = *type;
  return operand;
}

AttributeValue ParseValue(const std::string& text) {
  if (text[0] == '[' && text.find('.') != std::string::npos) return NumberList(text);
  if (text[0] == '[') return IntList(text);
  if (const auto v = ParseInt(text)) return *v;
  if (const auto v = ParseDouble(text)) return *v;
  return text;
}

std::vector<Case> ReadCases() {
  std::ifstream file(std::string(SBP_SOURCE_DIR) + "/tests/differential/rule_cases.txt");
  std::vector<Case> cases;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    Case c;
    c.line = number;
    c.text = line;
    if (!(words >> c.op)) continue;
    for (std::string word; words >> word;) {
      const size_t equal = word.find('=');
      if (word == "->") {
        words >> c.results;
      } else if (equal != std::string::npos && equal > 0 && word.find('[') > equal) {
        c.attributes.Set(word.substr(0, equal), ParseValue(word.substr(equal + 1)));
      } else {
        c.operands.push_back(ParseOperand(word));
      }
    }
    cases.push_back(std::move(c));
  }
  return cases;
}

Array MakeData(const Case::Operand& operand, std::mt19937_64& random) {
  Array a(operand.type.dtype, operand.type.shape);
  if (operand.value) {
    a.values.assign(operand.value->ints.begin(), operand.value->ints.end());
    if (a.values.empty()) a.values = operand.value->floats;
    return a;
  }
  if (!operand.data.empty()) {
    a.values = operand.data;
    return a;
  }
  for (double& v : a.values) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    if (operand.bound > 0)
      v = static_cast<double>(random() % operand.bound);
    else if (a.dtype == DType::kBool)
      v = static_cast<double>(random() % 2);
    else if (IsFloat(a.dtype))
      v = operand.domain.low + (operand.domain.high - operand.domain.low) * u;
    else
      v = static_cast<double>(random() % 9) - 4;
  }
  return a;
}

// Results of an integer type hold whole numbers, cut towards 0.
std::vector<Array> Compute(Kernel kernel, const Call& call) {
  std::vector<Array> results = kernel(call);
  for (Array& result : results) {
    if (!IsInteger(result.dtype)) continue;
    for (double& v : result.values) v = std::trunc(v);
  }
  return results;
}

class Runner {
 public:
  explicit Runner(const RuleSet& rules) : rules_(rules) {}

  void Run(const Case& c) {
    SCOPED_TRACE(StrCat("rule_cases.txt:", c.line, ": ", c.text));
    OpQuery query;
    query.type = c.op;
    query.attributes = &c.attributes;
    query.wanted.assign(c.results, true);
    query.strict_attributes = true;
    for (const auto& o : c.operands) query.operands.push_back({o.present, o.type, o.value.get()});
    const auto instance = rules_.Instantiate(query);
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
  static Call WholeCall(const Case& c, const RuleInstance& instance, const std::vector<Array>& whole) {
    Call call;
    call.attributes = &c.attributes;
    for (size_t i = 0; i < whole.size(); ++i) {
      call.inputs.push_back(c.operands[i].present ? &whole[i] : nullptr);
      call.input_pieces.push_back(WholePiece(whole[i].shape));
    }
    for (const TensorType& type : instance.results) {
      call.result_types.push_back(type.dtype);
      call.result_pieces.push_back(WholePiece(type.shape));
    }
    return call;
  }

  // Fewer elements of neighbours than the rule says.
  struct Trim {
    int64_t before = 0, after = 0;
  };

  // Elements of neighbours that a candidate's parts of an operand need.
  static HaloWidths HaloOf(const FactorMap& map, const Candidate& candidate, size_t operand, Trim trim) {
    HaloWidths widths;
    for (const DimFactors& dim : map.operands[operand]) {
      widths.emplace_back(0, 0);
      for (const AxisChoice& choice : candidate.axes) {
        const bool carried =
            choice.kind == AxisChoice::Kind::kFactor && std::find(dim.begin(), dim.end(), choice.index) != dim.end();
        if (!carried) continue;
        const std::optional<Factor::Halo>& halo = map.factors[choice.index].halo;
        if (!halo || !halo->AppliesTo(static_cast<int>(operand))) continue;
        widths.back() = {halo->low - trim.before, halo->high - trim.after};
      }
    }
    return widths;
  }

  // For each result what differs from the unsharded one; "": nothing.
  static std::vector<std::string> Differences(const Case& c, Kernel kernel, const RuleInstance& instance,
                                              const Candidate& candidate, const Mesh& mesh,
                                              const std::vector<Array>& whole, const std::vector<Array>& expected,
                                              std::mt19937_64& random, Trim trim) {
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

  void RunCandidate(const Case& c, Kernel kernel, const RuleInstance& instance, const Candidate& candidate,
                    const Mesh& mesh, const std::vector<Array>& whole, const std::vector<Array>& expected,
                    std::mt19937_64& random) {
    SCOPED_TRACE(StrCat("mesh ", ToString(mesh), ": ", ToString(candidate.signature)));
    ++executed;
    const auto differences = [&](Trim trim) {
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
  const std::vector<Case> cases = ReadCases();
  ASSERT_FALSE(cases.empty());
  std::set<std::string> tried;
  for (const Case& c : cases) {
    runner.Run(c);
    tried.insert(c.op);
  }
  for (const std::string& name : KernelNames()) EXPECT_TRUE(tried.count(name)) << name << " has a kernel but no case";
  std::cout << runner.executed << " candidates of " << tried.size() << " ops executed\n";
}

}  // namespace
}  // namespace sbp::reference
