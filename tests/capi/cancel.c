/* Calls that are cancelled while they generate a graph or draw: cancel GRAPH. They end with SBP_CANCELLED and leave no
 * document. Exits with the number of what went wrong. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sbp_plan.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile int32_t cancelled;

/* Refuses to go on from the first word of it that begins with `user`. */
static int refuse(void* user, const char* what) { return strncmp(what, user, strlen(user)) == 0; }

static void* cancel_soon(void* unused) {
  usleep(200000);
  __atomic_store_n(&cancelled, 1, __ATOMIC_RELEASE);
  return unused;
}

static int expect_cancelled(const char* const* words, size_t count, const char* at, const volatile int32_t* cancel) {
  sbp_request request = {.struct_size = sizeof request, .words = words, .num_words = count, .cancel = cancel};
  sbp_answer* answer;
  int code, failed;
  if (at != NULL) {
    request.progress = refuse;
    request.user = (void*)at;
  }
  code = sbp_call(&request, &answer);
  failed = code != SBP_CANCELLED || sbp_answer_num_documents(answer) != 0;
  if (failed) {
    fprintf(stderr, "cancel: %s at \"%s\": %d, %zu documents, %s\n", words[0], at == NULL ? "" : at, code,
            sbp_answer_num_documents(answer), sbp_answer_chatter(answer, NULL));
  }
  sbp_answer_free(answer);
  return failed;
}

int main(int argc, char** argv) {
  const char* small[] = {"generate", "llama", "--layers", "4", "-o", "memory:graph.json"};
  const char* large[] = {"generate", "mlp", "--ops", "3000000", "-o", "memory:graph.pb"};
  const char* problem[] = {"generate", "iopddl-like", "--ops", "100", "-o", "memory:problem.json"};
  const char* render[] = {"render", NULL, "--dim", "batch=4", "--dim", "seq=8", "-o", "memory:graph.svg"};
  pthread_t thread;
  int failures = 0;
  if (argc < 2) return 2;
  render[1] = argv[1];
  failures += expect_cancelled(small, 6, "generate", NULL);
  failures += expect_cancelled(small, 6, "writing", NULL);
  failures += expect_cancelled(problem, 6, "generate", NULL);
  failures += expect_cancelled(render, 8, "render", NULL);
  failures += expect_cancelled(render, 8, "drawing", NULL);
  if (pthread_create(&thread, NULL, cancel_soon, NULL) != 0) return 2;
  failures += expect_cancelled(large, 6, NULL, &cancelled);
  pthread_join(thread, NULL);
  return failures;
}
