#include "h264/rivals.hpp"

#include <atomic>
#include <memory>

#include "h264/pictures.hpp"
#if defined(PENSTOCK_BENCH_TBB)
#include "peers/onetbb.hpp"
#endif

namespace bench {

#if defined(_OPENMP)
void by_openmp_tasks(const h264::Job& job, int macroblocks, int threads) {
#pragma omp parallel num_threads(threads)
#pragma omp single
    each_picture(job, [&](Encoding& picture) {
        const int across = picture.across(), down = picture.down();
        const int parts = (across + macroblocks - 1) / macroblocks;
        // What the clauses name: a part of a row, one before the first of each row, and a row that is finished.
        std::vector<char> names(static_cast<std::size_t>((parts + 2) * (down + 1)));
        [[maybe_unused]] char* const name = names.data();
        const auto at = [&](int y, int part) { return (y + 1) * (parts + 2) + part + 1; };
        for (int y = 0; y < down; ++y) {
            for (int part = 0; part < parts; ++part) {
                const int left = at(y, part - 1), above = at(y - 1, std::min(part + 1, parts - 1)), here = at(y, part);
#pragma omp task depend(in : name[left], name[above]) depend(inout : name[here]) firstprivate(y, part) shared(picture)
                picture.encode(y, part * macroblocks, std::min(across, (part + 1) * macroblocks));
            }
            const int last = at(y, parts - 1), before = at(y - 1, parts), row = at(y, parts);
#pragma omp task depend(in : name[last], name[before]) depend(inout : name[row]) firstprivate(y) shared(picture)
            picture.finish(y);
        }
#pragma omp taskwait
    });
}

void by_openmp_diagonals(const h264::Job& job, int threads) {
    each_picture(job, [&](Encoding& picture) {
        const int across = picture.across(), down = picture.down();
#pragma omp parallel num_threads(threads)
        for (int diagonal = 0; diagonal <= across + 2 * (down - 1); ++diagonal) {
            const int first = std::max(0, (diagonal - across + 1) / 2), end = std::min(down, diagonal / 2 + 1);
#pragma omp for schedule(dynamic)
            for (int y = first; y < end; ++y) {
                const int x = diagonal - 2 * y;
                if (x < across) picture.encode(y, x, x + 1);
                else picture.finish(y);
            }
        }
    });
}
#endif

#if defined(PENSTOCK_BENCH_TBB)
namespace {

/// A picture as a graph of parts, each of which counts what it still waits for.
class Wavefront {
  public:
    Wavefront(Encoding& picture, int macroblocks)
        : picture_{picture}, macroblocks_{macroblocks}, parts_{(picture.across() + macroblocks - 1) / macroblocks},
          waits_{std::make_unique<std::atomic<int>[]>(static_cast<std::size_t>((parts_ + 1) * picture.down()))} {
        for (int y = 0; y < picture.down(); ++y) {
            for (int part = 0; part < parts_; ++part) count(y, part) = (part > 0) + (y > 0);
            count(y, parts_) = 1 + (y > 0);  // the filter
        }
    }
    void run() {
        group_.run([this] { part(0, 0); });
        group_.wait();
    }

  private:
    std::atomic<int>& count(int y, int part) { return waits_[static_cast<std::size_t>(y * (parts_ + 1) + part)]; }
    bool last(int y, int part) { return count(y, part).fetch_sub(1, std::memory_order_acq_rel) == 1; }
    void part(int y, int i) {
        while (true) {
            picture_.encode(y, i * macroblocks_, std::min(picture_.across(), (i + 1) * macroblocks_));
            if (i + 1 == parts_ && last(y, parts_)) group_.run([this, y] { finish(y); });
            if (y + 1 < picture_.down()) {
                // The parts below whose neighbour above at the right this is; below the last one, two.
                if (i > 0 && last(y + 1, i - 1)) group_.run([this, y, i] { part(y + 1, i - 1); });
                if (i + 1 == parts_ && last(y + 1, i)) group_.run([this, y, i] { part(y + 1, i); });
            }
            if (i + 1 == parts_ || !last(y, i + 1)) return;
            ++i;  // on this thread
        }
    }
    void finish(int y) {
        picture_.finish(y);
        if (y + 1 < picture_.down() && last(y + 1, parts_)) group_.run([this, y] { finish(y + 1); });
    }

    Encoding& picture_;
    int macroblocks_, parts_;
    std::unique_ptr<std::atomic<int>[]> waits_;
    tbb::task_group group_;
};

}  // namespace

void by_onetbb(const h264::Job& job, int macroblocks) {
    in_onetbb_arena([&] { each_picture(job, [&](Encoding& picture) { Wavefront(picture, macroblocks).run(); }); });
}
#endif

}  // namespace bench
