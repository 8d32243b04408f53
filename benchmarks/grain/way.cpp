#include "grain/way.hpp"

#include "harness/processors.hpp"
#include "peers/openmp.hpp"

namespace bench::grain {

void on_the_first(const std::function<void()>& batch) {
    const Pinned pinned{allowed_processors().front()};
    batch();
}

void in_openmp(const std::function<void()>& batch) {
#if defined(_OPENMP)
    bind_openmp_team();
#endif
    on_the_first(batch);
}

}  // namespace bench::grain
