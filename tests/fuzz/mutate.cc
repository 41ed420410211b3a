// Where there is no libFuzzer (scripts/fuzz): fuzz_mutate TARGET SECONDS CORPUS [SEED]. Changes files of the corpus at
// random, as texts and as bytes, and runs the target on them. What ends the process, or takes more than 25 s, is left
// in the folder of work as mutate-TARGET-SEED.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/target.h"

namespace sbp::fuzz {
namespace {

constexpr unsigned kHangSeconds = 25;
constexpr rlim_t kMostMemory = rlim_t{4} << 30;

std::string current, finding;  // which the handler writes

// Only calls that a signal handler may make.
void KeepFinding(int signal) {
  const int file = open(finding.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  for (size_t done = 0; file >= 0 && done < current.size();) {
    const ssize_t written = write(file, current.data() + done, current.size() - done);
    if (written <= 0) break;
    done += static_cast<size_t>(written);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

class Mutator {
 public:
  Mutator(std::vector<std::string> corpus, uint64_t seed) : corpus_(std::move(corpus)), engine_(seed) {}

  std::string Next() {
    std::string text = corpus_[Pick(corpus_.size())];
    const size_t changes = 1 + Pick(6);
    for (size_t i = 0; i < changes; ++i) Change(text);
    return text;
  }

 private:
  size_t Pick(size_t n) { return n == 0 ? 0 : engine_() % n; }

  void Change(std::string& text) {
    static constexpr std::array<std::string_view, 24> kTokens = {"0",
                                                                 "-1",
                                                                 "9223372036854775807",
                                                                 "18446744073709551616",
                                                                 "1e308",
                                                                 "1000000000",
                                                                 "{",
                                                                 "}",
                                                                 "[",
                                                                 "]",
                                                                 "(",
                                                                 ")",
                                                                 "\"",
                                                                 ",",
                                                                 ":",
                                                                 "null",
                                                                 "?",
                                                                 "*",
                                                                 "x",
                                                                 "NaN",
                                                                 "%0",
                                                                 "^bb0",
                                                                 "\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
                                                                 std::string_view("\0\0\0\0", 4)};
    const size_t at = Pick(text.size() + 1), length = std::min(text.size() - at, 1 + Pick(Pick(4) == 0 ? 200 : 8));
    switch (Pick(8)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << Pick(8)));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      case 3:
        text.insert(at, kTokens[Pick(kTokens.size())]);
        break;
      case 4:
        ChangeNumber(text, at, kTokens[Pick(6)]);
        break;
      case 5:
        text.replace(at, length, text.substr(Pick(text.size() + 1), length));
        break;
      case 6: {
        const std::string& other = corpus_[Pick(corpus_.size())];
        text.replace(at, length, other.substr(Pick(other.size() + 1), 1 + Pick(400)));
        break;
      }
      default:
        SwapWords(text, at);
    }
  }

  // The number, or the word, that begins at `at` or behind it.
  static std::pair<size_t, size_t> WordFrom(std::string_view text, size_t at, std::string_view characters) {
    const size_t begin = text.find_first_of(characters, at);
    if (begin == std::string_view::npos) return {0, 0};
    return {begin, std::min(text.find_first_not_of(characters, begin), text.size()) - begin};
  }
  static void ChangeNumber(std::string& text, size_t at, std::string_view number) {
    const auto [begin, length] = WordFrom(text, at, "0123456789");
    if (length > 0) text.replace(begin, length, number);
  }
  void SwapWords(std::string& text, size_t at) {
    static constexpr std::string_view kWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.";
    const auto [begin, length] = WordFrom(text, at, kWord);
    const auto [other, other_length] = WordFrom(text, Pick(text.size() + 1), kWord);
    const std::string word = text.substr(other, other_length);
    text.replace(begin, length, word);
  }

  std::vector<std::string> corpus_;
  std::mt19937_64 engine_;
};

std::vector<std::string> ReadCorpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

int Mutate(const Target& target, double seconds, const std::string& folder, uint64_t seed) {
  Mutator mutator(ReadCorpus(folder), seed);
  finding = "mutate-" + std::string(target.name) + "-" + std::to_string(seed);
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL, SIGALRM}) std::signal(signal, KeepFinding);
#ifndef __SANITIZE_ADDRESS__  // which maps far more than it uses
  const rlimit memory = {kMostMemory, kMostMemory};
  setrlimit(RLIMIT_AS, &memory);
#endif
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  uint64_t count = 0;
  for (; passed() < seconds; ++count) {
    current = mutator.Next();
    alarm(kHangSeconds);
    target.run(current);
    alarm(0);
  }
  std::printf("%.*s: %llu inputs\n", static_cast<int>(target.name.size()), target.name.data(),
              static_cast<unsigned long long>(count));
  return 0;
}

}  // namespace
}  // namespace sbp::fuzz

int main(int argc, char** argv) {
  for (const sbp::fuzz::Target& target : sbp::fuzz::AllTargets()) {
    if (argc < 4 || target.name != argv[1]) continue;
    return sbp::fuzz::Mutate(target, std::strtod(argv[2], nullptr), argv[3],
                             argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 1);
  }
  std::fprintf(stderr, "fuzz_mutate TARGET SECONDS CORPUS [SEED]\n");
  return 2;
}
