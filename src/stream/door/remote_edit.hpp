// Edits that come from outside, as JSON:
// {"edits": [{"do": "set", "filter": "blur", "setting": "sigma", "value": 2}, ...]}.
//
//     set         filter, setting, value
//     copies      filter, count (0: automatic)
//     place       filter, targets (a list; empty: any)
//     add         name, class, copies, settings (an object)
//     replace     filter, class, settings, how
//     remove      filter, how: "finish", "hand_over", "discard"
//     connect     from, to, capacity, policy, when_full, ordered, feedback
//     change      the same, for a stream that there is; ordered and feedback stay
//     disconnect  from, to
#pragma once

#include "penstock/edit.hpp"
#include "stream/door/json.hpp"

namespace penstock::streaming {

/// Does to `edit` what the request says. Throws UsageError, which names the edit by its number from 1; whatever is
/// wrong with the graph that comes of it is found when the edit is made.
void describe(const Json& request, Edit& edit);

}  // namespace penstock::streaming
