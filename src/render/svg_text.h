// Text in SVG that every viewer sets equally wide.
#pragma once

#include <string>
#include <string_view>

namespace sbp {

// Graphviz's SVG with a `textLength` on every text, by SetWidth (text_width.h), and the font named once for all instead
// of on each. `centre_nodes`: the lines of nodes are centred, whose place Graphviz gives as the left end of the room
// that it was told they take (RoomFor). Titles, which are the names of things in the source, are left out, and so are
// labels of edges that would lie upon earlier ones; what else is no text stays as it is. Linear but for labels of edges
// on one height, each of which is held against the others.
std::string FixTextLengths(std::string_view svg, bool centre_nodes);

}  // namespace sbp
