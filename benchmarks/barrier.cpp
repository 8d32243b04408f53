// Barriers of 2..N members: ours between threads and processes, against std::barrier, pthread_barrier and OpenMP's.
#include <pthread.h>

#include <barrier>
#include <cstring>
#include <string>

#include "harness/floors.hpp"
#include "peers/carried.hpp"
#include "peers/crew.hpp"
#include "penstock/spmd.hpp"

#if defined(_OPENMP)
#include <omp.h>

#include "peers/openmp.hpp"
#endif

namespace {

using bench::Contestant;
using bench::Crew;
using penstock::Rank;
using penstock::Substrate;

constexpr std::uint32_t times = 2000;

/// A barrier of POSIX in memory that all members share.
class PosixBarrier {
  public:
    explicit PosixBarrier(Rank me) {
        if (me.index() != 0) {
            memory_ = me.accept(0, "pthread");
            return;
        }
        memory_ = me.make("pthread", sizeof(pthread_barrier_t));
        pthread_barrierattr_t attributes;
        pthread_barrierattr_init(&attributes);
        if (me.substrate() == Substrate::processes) pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_barrier_init(get(), &attributes, static_cast<unsigned>(me.size()));
        pthread_barrierattr_destroy(&attributes);
        for (int rank = 1; rank < me.size(); ++rank) me.grant(memory_, rank);
    }

    void arrive_and_wait() { pthread_barrier_wait(get()); }

  private:
    pthread_barrier_t* get() const noexcept { return reinterpret_cast<pthread_barrier_t*>(memory_.data()); }
    penstock::RankMemory memory_;
};

#if defined(_OPENMP)
/// OpenMP has threads of its own: rank 0 calls them while the other members sleep.
double openmp_barriers(int members) {
    bench::bind_openmp_team();
    double time = 0;
#pragma omp parallel num_threads(members)
    {
        for (std::uint32_t i = 0; i < times / 4; ++i) {
#pragma omp barrier
        }
        const auto start = bench::Clock::now();
        for (std::uint32_t i = 0; i < times; ++i) {
#pragma omp barrier
        }
#pragma omp master
        time = bench::nanoseconds_since(start) / times;
    }
    return time;
}
#endif

/// One member; rank 0 measures.
void member(Rank me, std::barrier<>& standard, const bench::Options& options, bench::Carried& carried) {
    Crew crew(me);
    penstock::Barrier ours(me, "ours");
    PosixBarrier posix(me);
    const bool threads = me.substrate() == Substrate::threads;
    const auto passes = [&crew](auto& barrier) {
        crew.add([&barrier](std::uint32_t count) {
            for (std::uint32_t i = 0; i < count; ++i) barrier.arrive_and_wait();
        });
    };
    passes(ours);
    passes(posix);
    const auto wait_standard = [&standard](std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) standard.arrive_and_wait();
    };
    if (threads) crew.add(wait_standard);
    if (me.index() != 0) return crew.serve();

    const auto& processors = bench::allowed_processors();
    bench::Floors floors{processors.front(), processors[processors.size() > 1 ? 1 : 0]};
    std::vector<Contestant> contestants{floors.one_line(),
                                        {"ours", [&] { return crew.timed(0, times); }},
                                        {"pthread_barrier", [&] { return crew.timed(1, times); }}};
    if (threads) {
        contestants.push_back({"std::barrier", [&] { return crew.timed(2, times); }});
#if defined(_OPENMP)
        contestants.push_back({"OpenMP", [&] { return openmp_barriers(me.size()); }});
#endif
    }
    const auto result = bench::measure(contestants, options.plan);
    carried.rows(std::to_string(me.size()) + " " + std::string(penstock::name(me.substrate())) + ", ", result);
    if (threads) carried.goal(0, result.ratio("std::barrier", "ours"));
    crew.stop();
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "barrier",
        "a barrier of 2..N members: ours, std::barrier, pthread_barrier, OpenMP's; threads and processes",
        {"barrier/over-std"}};
    const bench::Options options = bench::parse(argc, argv, about);
    bench::Report report{about, options};
    bench::Carried carried;
    for (const int members : bench::member_counts())
        for (const auto substrate : {Substrate::processes, Substrate::threads}) {
            std::barrier<> standard{members};
            penstock::spmd(members, [&](Rank me) { member(me, standard, options, carried); },
                           {.substrate = substrate, .pin = false});
        }
    carried.hand_over(report);
    report.goal("barrier/over-std", *carried.goal(0), bench::Direction::at_least, 8);
    report.note("the goal is the worst of all numbers of members; every member stays on a processor of its own");
    if (bench::allowed_processors().size() < 2)
        report.note("one processor: the members share it, so the figures are those of switching");
    return report.finish();
}
