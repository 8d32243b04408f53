#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "h264/pictures.hpp"
#include "h264/rivals.hpp"
#include "harness/processors.hpp"
#include "penstock/detail/machine/relax.hpp"

namespace bench {
namespace {

/// How far a row is. Its writer stores (release), others load (acquire).
struct alignas(64) Progress {
    std::atomic<int> macroblocks{0};
};

/// A picture under way, with how far each row is.
struct InFlight : Encoding {
    using Encoding::Encoding;
    std::vector<Progress> progress{static_cast<std::size_t>(down())};
    alignas(64) std::atomic<int> finished{0};  ///< rows
    std::shared_ptr<InFlight> earlier, later;
};

template <class Ready>
void spin_until(Ready ready) {
    for (int turn = 0; !ready(); ++turn) {
        if (turn < 4096) penstock::relax();
        else std::this_thread::yield();
    }
}

class Team {
  public:
    explicit Team(const h264::Job& job) : job_{job}, common_{job}, waiting_{job}, references_{common_} {
        for (int i = 0; i < most; ++i) sources_.emplace_back(job.size);
    }
    void work() {
        while (const auto next = take()) {
            auto& [picture, y] = *next;
            encode(*picture, y);
        }
    }
    void finish() {
        while (!under_way_.empty()) hand_over();
    }

  private:
    static constexpr int most = 3;  // pictures under way
    struct Row {
        std::shared_ptr<InFlight> picture;
        int y;
    };

    /// The next row of all pictures, in their order.
    std::optional<Row> take() {
        const std::lock_guard lock{mutex_};
        if (over_) return std::nullopt;
        if (next_row_ == job_.size.down() || current_ == nullptr) {
            if (under_way_.size() == most) hand_over();
            const auto planned = waiting_.next();
            if (!planned) {
                over_ = true;
                current_ = nullptr;
                return std::nullopt;
            }
            begin(*planned);
        }
        return Row{current_, next_row_++};
    }
    void begin(const h264::Planned& planned) {
        current_ = std::make_shared<InFlight>(common_, references_, planned,
                                              sources_[static_cast<std::size_t>(begun_++ % most)],
                                              waiting_.file_picture(planned.shown));
        const bool both = planned.place.type == h264::Type::b;
        current_->earlier = both ? earlier_ : planned.place.idr ? nullptr : later_;
        current_->later = both ? later_ : nullptr;
        if (!both) earlier_ = std::exchange(later_, current_);
        under_way_.push_back(current_);
        next_row_ = 0;
    }
    /// The first picture, when it is there: others have taken all its rows.
    void hand_over() {
        InFlight& first = *under_way_.front();
        spin_until([&] { return first.finished.load(std::memory_order_acquire) == first.down(); });
        job_.push(encoded_of(common_, first.work.planned, first.rows), *first.work.picture);
        waiting_.forget(first.work.planned.shown);
        first.earlier = first.later = nullptr;
        under_way_.pop_front();
    }

    static void encode(InFlight& picture, int y) {
        for (const auto& reference : {picture.earlier, picture.later})
            if (reference != nullptr)
                spin_until([&, needed = picture.work.coder.rows_needed(y)] {
                    return reference->finished.load(std::memory_order_acquire) >= needed;
                });
        auto& here = picture.progress[static_cast<std::size_t>(y)].macroblocks;
        const int across = picture.across();
        int above = y == 0 ? across : 0;
        for (int x = 0; x < across; ++x) {
            const int wanted = std::min(x + 2, across);
            if (above < wanted)
                spin_until([&] {
                    above =
                        picture.progress[static_cast<std::size_t>(y - 1)].macroblocks.load(std::memory_order_acquire);
                    return above >= wanted;
                });
            picture.encode(y, x, x + 1);
            here.store(x + 1, std::memory_order_release);
        }
        spin_until([&] { return picture.finished.load(std::memory_order_acquire) == y; });
        picture.finish(y);
        picture.finished.store(y + 1, std::memory_order_release);
    }

    const h264::Job& job_;
    const h264::Common common_;
    std::mutex mutex_;
    h264::Waiting waiting_;
    h264::References references_;
    std::deque<h264::Source> sources_;
    std::deque<std::shared_ptr<InFlight>> under_way_;
    std::shared_ptr<InFlight> current_, earlier_, later_;
    int next_row_ = 0, begun_ = 0;
    bool over_ = false;
};

}  // namespace

void by_hand(const h264::Job& job, int threads) {
    check(job);
    Team team{job};
    {
        std::vector<std::jthread> others;
        const auto& processors = allowed_processors();
        for (int i = 1; i < threads; ++i)
            others.emplace_back([&, i] {
                pin_this_thread(processors[static_cast<std::size_t>(i) % processors.size()]);
                team.work();
            });
        const Pinned pinned{processors.front()};
        team.work();
    }
    team.finish();
}

}  // namespace bench
