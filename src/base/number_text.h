// Numbers as text whatever the process's locale says: a library's host may have set one with a decimal comma, in C
// (setlocale) or in C++ (std::locale::global), which any stream and printf follow.
#pragma once

#include <locale>
#include <sstream>
#include <string>

namespace sbp {

// As printf's "%.*g", "%.*f" and "%.*e" in the C locale. Six digits are what a stream writes.
std::string FormatGeneral(double value, int digits = 6);
std::string FormatFixed(double value, int decimals);
std::string FormatScientific(double value, int decimals);

// A stream into a string in the C locale.
class PlainStream : public std::ostringstream {
 public:
  PlainStream() { imbue(std::locale::classic()); }
};

}  // namespace sbp
