// The search against an integer program of the same problem, solved by CBC (package coinor-cbc; skipped without it).
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "search/solve.h"
#include "unit/search/small_networks.h"

namespace sbp {
namespace {

std::string X(size_t node, int candidate) { return StrCat("x_", node, "_", candidate); }

// The problem in CPLEX's LP form: x chooses candidates, y is 1 for the pair that an edge's ends choose.
std::string LinearProgram(const CostNetwork& network) {
  std::ostringstream objective, rows, forbidden, binaries;
  objective << "Minimize\n obj: 0 zero";
  for (size_t i = 0; i < network.nodes.size(); ++i) {
    rows << " one" << i << ":";
    for (int a = 0; a < network.candidates(static_cast<int>(i)); ++a) {
      const int64_t cost = network.costs[network.nodes[i].costs][a];
      rows << " + " << X(i, a);
      binaries << " " << X(i, a) << "\n";
      if (cost >= kInfiniteCost) {
        forbidden << " " << X(i, a) << " = 0\n";
      } else {
        objective << "\n + " << cost << " " << X(i, a);
      }
    }
    rows << " = 1\n";
  }
  for (size_t e = 0; e < network.edges.size(); ++e) {
    const auto [u, v] = std::pair(network.edges[e].nodes[0], network.edges[e].nodes[1]);
    const int columns = network.candidates(v);
    const auto y = [&](int a, int b) { return StrCat("y_", e, "_", a, "_", b); };
    for (int a = 0; a < network.candidates(u); ++a) {
      rows << " r" << e << "_" << a << ":";
      for (int b = 0; b < columns; ++b) rows << " + " << y(a, b);
      rows << " - " << X(u, a) << " = 0\n";
    }
    for (int b = 0; b < columns; ++b) {
      rows << " c" << e << "_" << b << ":";
      for (int a = 0; a < network.candidates(u); ++a) rows << " + " << y(a, b);
      rows << " - " << X(v, b) << " = 0\n";
    }
    for (int a = 0; a < network.candidates(u); ++a) {
      for (int b = 0; b < columns; ++b) {
        const int64_t cost = network.costs[network.edges[e].costs][a * columns + b];
        if (cost >= kInfiniteCost) {
          forbidden << " " << y(a, b) << " = 0\n";
        } else {
          objective << "\n + " << cost << " " << y(a, b);
        }
      }
    }
  }
  for (int64_t time = 0; network.usage_limit && time < 12; ++time) {
    rows << " t" << time << ": 0 zero";
    for (size_t i = 0; i < network.nodes.size(); ++i) {
      const CostNetwork::Node& node = network.nodes[i];
      if (node.usages < 0 || time < node.begin || time >= node.end) continue;
      for (int a = 0; a < network.candidates(static_cast<int>(i)); ++a) {
        rows << " + " << network.usages[node.usages][a] << " " << X(i, a);
      }
    }
    rows << " <= " << *network.usage_limit << "\n";
  }
  return objective.str() + "\nSubject To\n" + rows.str() + "Bounds\n zero = 0\n" + forbidden.str() + "Binaries\n" +
         binaries.str() + "End\n";
}

// What CBC says: the least cost, or nothing if there is none.
std::optional<double> SolveByCbc(const CostNetwork& network, const std::string& stem) {
  std::ofstream(stem + ".lp") << LinearProgram(network);
  const std::string command =
      StrCat("cbc ", stem, ".lp ratio 0 allow 0 solve solution ", stem, ".txt > /dev/null 2>&1");
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream answer(stem + ".txt");
  std::string first;
  std::getline(answer, first);
  if (!first.starts_with("Optimal")) return std::nullopt;
  return std::stod(first.substr(first.rfind(' ') + 1));
}

TEST(Solve, EqualsCbcOnMediumProblems) {
  if (std::system("cbc quit > /dev/null 2>&1") != 0) GTEST_SKIP() << "cbc is not installed (package coinor-cbc)";
  const std::string stem = (std::filesystem::temp_directory_path() / StrCat("sbp_cbc_", getpid())).string();
  int feasible = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SmallNetworkOptions kind;
    kind.most_nodes = 40;
    kind.most_candidates = 6;
    kind.forbidden = 0.05;
    kind.one_to_one = 0.05;
    kind.tightness = seed % 2 == 0 ? 0.35 : 0.6;
    kind.edges_per_node = 2;
    const CostNetwork network = SmallNetwork(1000 + seed, kind);
    const std::optional<double> optimum = SolveByCbc(network, stem);
    SolveOptions options;
    options.effort = 1;
    const SolveResult result = Solve(network, options);
    EXPECT_EQ(result.evaluation.feasible, optimum.has_value()) << "seed " << seed;
    if (!optimum) continue;
    ++feasible;
    EXPECT_NEAR(static_cast<double>(result.evaluation.cost), *optimum, 1e-6 * *optimum) << "seed " << seed;
    EXPECT_LE(static_cast<double>(result.lower_bound_units), *optimum + 1e-6 * *optimum) << "seed " << seed;
  }
  std::filesystem::remove(stem + ".lp");
  std::filesystem::remove(stem + ".txt");
  EXPECT_GT(feasible, 4);
}

}  // namespace
}  // namespace sbp
