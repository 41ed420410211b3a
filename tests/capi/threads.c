/* Calls at once: threads EXAMPLES. Each of four threads plans another model several times over;
 * plans and outputs must be those of calls one after the other, and no memory may be left. Exits with the number of
 * what went wrong. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <sbp_plan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kThreads = 4, kRounds = 3, kMostWords = 16 };
static const size_t kMostLeft = 256 << 10; /* bytes, of all rounds: what threads keep for their next allocation */

static const char* kCases[kThreads][kMostWords] = {
    {"megatron/graph.json", "--mesh", "data=2,model=2", "--dim", "batch=8", "--dim", "seq=16"},
    {"gpt2/graph.json", "--mesh", "2", "--dim", "batch=4", "--dim", "seq=16", "--strategy", "einsum"},
    {"library/linear.json", "--mesh", "data=2", "--dim", "batch=8", "--train", "--loss", "mse:y", "--optimizer",
     "adamw"},
    {"megatron/graph.json", "--mesh", "4", "--dim", "batch=16", "--dim", "seq=8", "--memory-limit", "60MB"}};

typedef struct task {
  const char* const* words;
  char model[512];
  int rounds, failures;
  sbp_answer *plan, *outputs; /* of the last round */
} task;

static void forget(task* of) {
  sbp_answer_free(of->plan);
  sbp_answer_free(of->outputs);
  of->plan = of->outputs = NULL;
}

static sbp_answer* call(task* of, const char* const* words, size_t count, const sbp_document* document) {
  sbp_request request = {.struct_size = sizeof request, .words = words, .num_words = count, .documents = document};
  sbp_answer* answer = NULL;
  int code;
  request.num_documents = document == NULL ? 0 : 1;
  code = sbp_call(&request, &answer);
  if (code != SBP_OK) {
    fprintf(stderr, "threads: %s %s: %d %s", words[0], of->model, code,
            answer == NULL ? "" : sbp_answer_chatter(answer, NULL));
    ++of->failures;
  }
  return answer;
}

/* A plan of many parameters is only made. */
static int is_small(const task* of) { return strstr(of->words[0], "gpt2") == NULL; }

static void plan_and_run(task* of, int runs) {
  static const char* const run[] = {"run", "--no-reference", "memory:plan.json", "--outputs", "arrays:"};
  const char* words[kMostWords + 6] = {"infer", of->model};
  size_t count = 2, i;
  sbp_document plan;
  for (i = 1; i < kMostWords && of->words[i] != NULL; ++i) words[count++] = of->words[i];
  words[count++] = "-o";
  words[count++] = "memory:plan.json";
  forget(of);
  of->plan = call(of, words, count, NULL);
  if (runs && is_small(of) && of->plan != NULL && sbp_answer_document(of->plan, 0, &plan)) {
    of->outputs = call(of, run, sizeof run / sizeof *run, &plan);
  }
}

static void* work(void* argument) {
  task* of = argument;
  int round;
  for (round = 0; round < of->rounds; ++round) plan_and_run(of, round + 1 == of->rounds);
  return NULL;
}

/* Plans say when they were made and how long it took nowhere, so that equal ones have equal bytes. */
static int equal(const task* a, const task* b) {
  sbp_document plan_a, plan_b;
  sbp_array array_a, array_b;
  size_t i;
  if (a->plan == NULL || b->plan == NULL) return 0;
  if (!sbp_answer_document(a->plan, 0, &plan_a) || !sbp_answer_document(b->plan, 0, &plan_b)) return 0;
  if (plan_a.size != plan_b.size || memcmp(plan_a.data, plan_b.data, plan_a.size) != 0) return 0;
  if (strcmp(sbp_answer_output(a->plan, NULL), sbp_answer_output(b->plan, NULL)) != 0) return 0;
  if (!is_small(a)) return 1;
  if (a->outputs == NULL || b->outputs == NULL || sbp_answer_num_arrays(a->outputs) == 0) return 0;
  if (sbp_answer_num_arrays(a->outputs) != sbp_answer_num_arrays(b->outputs)) return 0;
  for (i = 0; sbp_answer_array(a->outputs, i, &array_a) && sbp_answer_array(b->outputs, i, &array_b); ++i) {
    if (strcmp(array_a.name, array_b.name) != 0 || array_a.size != array_b.size) return 0;
    if (memcmp(array_a.data, array_b.data, array_a.size) != 0) return 0;
  }
  return 1;
}

static size_t allocated(void) {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

static int at_once(task* tasks, int rounds) {
  pthread_t threads[kThreads];
  int i, failures = 0;
  for (i = 0; i < kThreads; ++i) {
    tasks[i].rounds = rounds;
    if (pthread_create(&threads[i], NULL, work, &tasks[i]) != 0) return 1;
  }
  for (i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (i = 0; i < kThreads; ++i) failures += tasks[i].failures;
  return failures;
}

int main(int argc, char** argv) {
  static task serial[kThreads], tasks[kThreads];
  size_t before, after;
  int i, rounds = argc > 2 ? atoi(argv[2]) : kRounds, failures = 0;
  if (argc < 2 || rounds < 1) {
    fprintf(stderr, "usage: threads EXAMPLES [ROUNDS]\n");
    return 2;
  }
  for (i = 0; i < kThreads; ++i) {
    serial[i].words = tasks[i].words = kCases[i];
    snprintf(serial[i].model, sizeof serial[i].model, "%s/%s", argv[1], kCases[i][0]);
    strcpy(tasks[i].model, serial[i].model);
    plan_and_run(&serial[i], 1);
    failures += serial[i].failures;
  }
  failures += at_once(tasks, 1);
  before = allocated();
  failures += at_once(tasks, rounds);
  for (i = 0; i < kThreads; ++i) {
    if (equal(&serial[i], &tasks[i])) continue;
    fprintf(stderr, "threads: %s: a call beside others and one alone come to different results\n", kCases[i][0]);
    ++failures;
  }
  after = allocated();
  if (after > before + kMostLeft) {
    fprintf(stderr, "threads: %d rounds leave %zu bytes\n", rounds, after - before);
    ++failures;
  }
  for (i = 0; i < kThreads; ++i) {
    forget(&serial[i]);
    forget(&tasks[i]);
  }
  printf("%d failures; %ld bytes more after %d rounds\n", failures, (long)after - (long)before, rounds);
  return failures;
}
