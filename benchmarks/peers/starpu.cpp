#include "peers/starpu.hpp"

#if defined(PENSTOCK_BENCH_STARPU)
#include <starpu.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "harness/processors.hpp"
#include "peers/peer.hpp"

namespace bench {

struct StarPu::State {
    std::vector<double> cells;
    std::vector<starpu_data_handle_t> handles;
    starpu_codelet tasks[3]{};  ///< with one, two and three cells read

    static void body(void**, void*) { null_task(); }
};

bool StarPu::available() noexcept { return true; }

StarPu::StarPu(std::size_t cells) : state_(std::make_unique<State>()) {
    setenv("STARPU_SILENT", "1", 0);
    starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = std::max(1, static_cast<int>(allowed_processors().size()));
    conf.ncuda = 0;
    conf.nopencl = 0;
    conf.sched_policy_name = "eager";  // the cheapest of its schedulers
    if (starpu_init(&conf) != 0) throw std::runtime_error("StarPU does not start");
    state_->cells.assign(cells, 0);
    state_->handles.resize(cells);
    for (std::size_t i = 0; i < cells; ++i)
        starpu_variable_data_register(&state_->handles[i], STARPU_MAIN_RAM,
                                      reinterpret_cast<std::uintptr_t>(&state_->cells[i]), sizeof(double));
    for (int reads = 1; reads <= 3; ++reads) {
        auto& task = state_->tasks[reads - 1];
        starpu_codelet_init(&task);
        task.cpu_funcs[0] = &State::body;
        task.nbuffers = reads + 1;
        for (int i = 0; i < reads; ++i) task.modes[i] = STARPU_R;
        task.modes[reads] = STARPU_W;
    }
}

StarPu::~StarPu() {
    for (auto handle : state_->handles) starpu_data_unregister(handle);
    starpu_shutdown();
}

void StarPu::insert(std::size_t left, std::size_t middle, std::size_t right, std::size_t out) {
    starpu_task* const task = starpu_task_create();
    int reads = 0;
    for (const auto cell : {left, middle, right}) {
        bool given = false;
        for (int i = 0; i < reads; ++i) given = given || task->handles[i] == state_->handles[cell];
        if (!given) task->handles[reads++] = state_->handles[cell];
    }
    task->handles[reads] = state_->handles[out];
    task->cl = &state_->tasks[reads - 1];
    if (starpu_task_submit(task) != 0) throw std::runtime_error("StarPU refuses a task");
}

void StarPu::wait() { starpu_task_wait_for_all(); }

}  // namespace bench

#else
namespace bench {

struct StarPu::State {};
bool StarPu::available() noexcept { return false; }
StarPu::StarPu(std::size_t) {}
StarPu::~StarPu() = default;
void StarPu::insert(std::size_t, std::size_t, std::size_t, std::size_t) {}
void StarPu::wait() {}

}  // namespace bench
#endif
