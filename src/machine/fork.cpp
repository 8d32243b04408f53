#include "machine/fork.hpp"

#include "machine/budget_table.hpp"
#include "machine/pages.hpp"
#include "penstock/topology.hpp"
#include "penstock/waiter.hpp"

namespace penstock {

void settle_before_fork() noexcept {
    try {
        Topology::here();
        budget::table_of_this_process();
    } catch (...) {
        // Whoever wants them next fails as well, and says why.
    }
    pages::small();
    pages::huge();
    waiting::process_wide_barrier();
    waiting::can_doze();
}

}  // namespace penstock
