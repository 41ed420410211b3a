// A host whose C++ locale has a decimal comma and groups of thousands: locale EXAMPLES. What calls return, in text, in
// documents and in arrays, is what they return in the C locale. Exits with the number of what differs.
#include <sbp_plan.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <locale>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Comma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

using Words = std::vector<std::string>;
using Documents = std::map<std::string, std::string>;

// Runs a command on the documents so far, which what it writes joins; returns all that it says.
std::string Run(const Words& words, Documents& documents) {
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  std::vector<sbp_document> given;
  for (const auto& [name, content] : documents) given.push_back({name.c_str(), content.data(), content.size()});
  sbp_request request = {};
  request.struct_size = sizeof request;
  request.words = pointers.data();
  request.num_words = pointers.size();
  request.documents = given.data();
  request.num_documents = given.size();
  sbp_answer* answer = nullptr;
  const int code = sbp_call(&request, &answer);
  std::string said = "exit " + std::to_string(code) + "\n";
  // A run says how long it took; its arrays are the same.
  if (words[0] != "run") said += std::string(sbp_answer_output(answer, nullptr)) + sbp_answer_chatter(answer, nullptr);
  for (size_t i = 0; i < sbp_answer_num_documents(answer); ++i) {
    sbp_document document;
    sbp_answer_document(answer, i, &document);
    const std::string content(static_cast<const char*>(document.data), document.size);
    documents[document.name] = content;
    said += "--- " + std::string(document.name) + "\n" + content;
  }
  for (size_t i = 0; i < sbp_answer_num_arrays(answer); ++i) {
    sbp_array array;
    sbp_answer_array(answer, i, &array);
    said += "--- array " + std::string(array.name) + "\n";
    said.append(static_cast<const char*>(array.data), array.size);
  }
  sbp_answer_free(answer);
  return said;
}

// Each command with what it says.
std::vector<std::pair<std::string, std::string>> RunAll(const std::string& examples) {
  const std::string graph = examples + "/megatron/graph.json";
  const Words commands[] = {
      {"infer", graph, "--mesh", "data=2,model=4", "--dim", "batch=8", "--dim", "seq=1024", "-o", "memory:plan.json"},
      {"infer", graph, "--mesh", "2", "--dim", "batch=8", "--dim", "seq=16", "--strategy", "greedy", "--memory-limit",
       "0.5GB", "-o", "memory:plan.prototxt"},
      {"check", "memory:plan.json"},
      {"diff", "memory:plan.json", "memory:plan.prototxt", "--tolerance", "0.5"},
      {"explain", "memory:plan.json", "layers.0.attention.query"},
      {"render", "memory:plan.json", "-o", "memory:plan.svg"},
      {"render", "memory:plan.json", "-o", "memory:plan.md"},
      {"render", "memory:plan.json", "--view", "tasks", "-o", "memory:tasks.md"},
      {"run", "memory:plan.prototxt", "--no-reference", "--outputs", "arrays:", "-q"},
      {"convert", "memory:plan.prototxt", "memory:plan2.json"},
      {"cluster", "show", "8xH100"},
      {"grad", graph, "--loss", "mean:layers.1.residual2.out", "--dim", "batch=8", "--dim", "seq=16", "--optimizer",
       "adamw", "--weight-decay", "-1.5", "-o", "memory:train.json"},
      {"infer", graph, "--mesh", "2", "--dim", "batch=8", "--dim", "seq=16", "--gap", "1.5"},
      {"solve", examples + "/none.json", "--time", "0.0001"},
      {"rules", "candidates", "MatMul", "--input", "a=f32[1024,2048]", "--input", "b=f32[2048,64]", "--mesh", "x=4"},
  };
  Documents documents;
  std::vector<std::pair<std::string, std::string>> said;
  for (const Words& words : commands) {
    std::string name;
    for (const std::string& word : words) name += word + " ";
    said.emplace_back(name, Run(words, documents));
    if (getenv("SHOW") != nullptr) std::printf("%s\n%.300s\n", name.c_str(), said.back().second.c_str());
  }
  return said;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const auto plain = RunAll(argv[1]);
  std::locale::global(std::locale(std::locale::classic(), new Comma));
  std::ostringstream comma;
  comma << 1234.5;
  if (comma.str() != "1.234,5") return 2;
  const auto found = RunAll(argv[1]);
  int differences = 0;
  for (size_t i = 0; i < plain.size(); ++i) {
    const std::string &expected = plain[i].second, &said = found[i].second;
    if (expected == said) continue;
    ++differences;
    size_t at = 0;
    while (at < expected.size() && at < said.size() && expected[at] == said[at]) ++at;
    const size_t from = at < 60 ? 0 : at - 60;
    std::fprintf(stderr, "locale: %s\n  expected ...%s\n  found    ...%s\n", plain[i].first.c_str(),
                 expected.substr(from, 120).c_str(), said.substr(from, 120).c_str());
  }
  return differences;
}
