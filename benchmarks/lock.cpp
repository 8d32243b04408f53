// Locks of 2..N members: ours between threads and processes, against pthread_mutex and OpenMP's.
#include <pthread.h>

#include <array>
#include <string>

#include "harness/floors.hpp"
#include "peers/carried.hpp"
#include "peers/crew.hpp"
#include "penstock/mutex.hpp"
#include "penstock/spmd.hpp"

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace {

using bench::Contestant;
using bench::Crew;
using penstock::Rank;
using penstock::Substrate;

/// What is done with a lock, and between two times that it is taken.
struct Load {
    const char* name;
    bool alone;           ///< only rank 0 does it
    int inside, outside;  ///< dependent multiplications, about 1 ns each
};
constexpr std::array<Load, 4> loads{{{"one of them alone", true, 0, 0},
                                     {"all at once, nothing else", false, 0, 0},
                                     {"all at once, 200 ns between", false, 0, 200},
                                     {"all at once, 100 ns in it, 100 between", false, 100, 100}}};
constexpr std::uint32_t times = 4000;

/// What the locks guard, on lines of its own.
struct Guarded {
    alignas(128) std::uint64_t sections;
    alignas(128) pthread_mutex_t posix;
#if defined(_OPENMP)
    alignas(128) omp_lock_t openmp;
#endif
};

/// Memory of rank 0 that all members share.
class SharedGuarded {
  public:
    explicit SharedGuarded(Rank me) {
        if (me.index() != 0) {
            memory_ = me.accept(0, "guarded");
            return;
        }
        memory_ = me.make("guarded", sizeof(Guarded));
        new (memory_.data()) Guarded{};
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        if (me.substrate() == Substrate::processes) pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutex_init(&get().posix, &attributes);
        pthread_mutexattr_destroy(&attributes);
#if defined(_OPENMP)
        omp_init_lock(&get().openmp);
#endif
        for (int rank = 1; rank < me.size(); ++rank) me.grant(memory_, rank);
    }
    Guarded& get() const noexcept { return *reinterpret_cast<Guarded*>(memory_.data()); }

  private:
    penstock::RankMemory memory_;
};

struct PosixLock {
    pthread_mutex_t& mutex;
    void lock() { pthread_mutex_lock(&mutex); }
    void unlock() { pthread_mutex_unlock(&mutex); }
};

#if defined(_OPENMP)
struct OpenmpLock {
    omp_lock_t& mutex;
    void lock() { omp_set_lock(&mutex); }
    void unlock() { omp_unset_lock(&mutex); }
};
#endif

void work(int multiplications) {
    std::uint64_t value = 1;
    for (int i = 0; i < multiplications; ++i) {
        value *= 0x9e3779b97f4a7c15;
        asm volatile("" : "+r"(value));
    }
}

/// One member; rank 0 measures. Figures are the time from the first section to the last one of all, over their number.
void member(Rank me, const bench::Options& options, bench::Carried& carried) {
    Crew crew(me);
    penstock::Mutex ours(me, "ours");
    const SharedGuarded shared(me);
    std::uint64_t& sections = shared.get().sections;
    std::vector<std::string> names;
    const auto add = [&](std::string name, auto lock) {
        for (const auto& load : loads)
            crew.add([=, &load, &sections](std::uint32_t count) mutable {
                if (load.alone && me.index() != 0) return;
                for (std::uint32_t i = 0; i < count; ++i) {
                    lock.lock();
                    ++sections;
                    work(load.inside);
                    lock.unlock();
                    work(load.outside);
                }
            });
        names.push_back(std::move(name));
    };
    struct OurLock {
        penstock::Mutex* mutex;
        void lock() { mutex->lock(); }
        void unlock() { mutex->unlock(); }
    };
    add("ours", OurLock{&ours});
    add("pthread_mutex", PosixLock{shared.get().posix});
#if defined(_OPENMP)
    if (me.substrate() == Substrate::threads) add("OpenMP", OpenmpLock{shared.get().openmp});
#endif
    if (me.index() != 0) return crew.serve();

    const auto& processors = bench::allowed_processors();
    bench::Floors floors{processors.front(), processors[processors.size() > 1 ? 1 : 0]};
    for (std::size_t load = 0; load < loads.size(); ++load) {
        const double sections_each = loads[load].alone ? 1 : me.size();
        std::vector<Contestant> contestants{floors.one_line()};
        for (std::size_t kind = 0; kind < names.size(); ++kind)
            contestants.push_back(
                {names[kind], [&, kind] { return crew.timed(kind * loads.size() + load, times) / sections_each; }});
        const auto result = bench::measure(contestants, options.plan);
        const auto substrate = std::string(penstock::name(me.substrate()));
        carried.rows(std::to_string(me.size()) + " " + substrate + ", " + loads[load].name + ", ", result);
        carried.goal(0, result.ratio("pthread_mutex", "ours"));
    }
    crew.stop();
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "lock",
        "a section under a lock of 2..N members: ours, pthread_mutex and OpenMP's, threads and processes",
        {"lock/over-pthread"}};
    bench::Options options = bench::parse(argc, argv, about);
    if (!options.quick) options.plan.rounds = 51;
    bench::Report report{about, options};
    bench::Carried carried;
    for (const int members : bench::member_counts())
        for (const auto substrate : {Substrate::processes, Substrate::threads})
            penstock::spmd(members, [&](Rank me) { member(me, options, carried); },
                           {.substrate = substrate, .pin = false});
    carried.hand_over(report);
    report.goal("lock/over-pthread", *carried.goal(0), bench::Direction::at_least, 1, bench::Judged::by_interval);
    report.note("the goal is the worst of all numbers of members, loads and substrates");
    if (bench::allowed_processors().size() < 2)
        report.note("one processor: the members share it, so the figures are those of switching");
    return report.finish();
}
