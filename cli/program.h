// A whole command line: parses flags, runs one command, turns a Status into a message and an exit code.
#pragma once

namespace sbp {

// What RunCommandLine returns where Ctrl-C, or the caller, has ended the command: that of a shell for SIGINT.
constexpr int kInterrupted = 130;

// Runs the words argv[1...argc-1]; returns the exit code. Never throws and never ends the process. Where it goes is the
// process's, or that of the thread's CallerScope (cli/caller.h) and CallFilesScope (io/call_files.h).
int RunCommandLine(int argc, const char* const* argv);

}  // namespace sbp
