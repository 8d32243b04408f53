// What one rank does, in each variant.
#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "apps/buffer.hpp"
#include "apps/copy_engine.hpp"
#include "apps/exchange.hpp"
#include "apps/fft2d/layout.hpp"
#include "penstock/store_way.hpp"

namespace penstock::apps::fft2d {
namespace {

/// What all variants share: this rank's rows before the exchange, which are its columns behind it.
class RowsPart {
  public:
    void prepare() const noexcept {}

  protected:
    RowsPart(Rank me, const Problem& problem)
        : problem_{problem}, n_{problem.n}, pitch_{problem.pitch}, me_{static_cast<std::size_t>(me.index())},
          layout_{problem.n, static_cast<std::size_t>(me.size())}, mine_{layout_.of(me_)}, barrier_{me, "exchange"} {}

    /// Transforms row `row` of the image.
    void transform(std::size_t row, Complex* to) const noexcept {
        problem_.plan.transform(&problem_.image[row * pitch_], to);
    }
    /// The same, each number as soon as it is done.
    template <class Store>
    void transform_each(std::size_t row, Complex* scratch, Store&& store) const {
        problem_.plan.transform_each(&problem_.image[row * pitch_], scratch, store);
    }
    /// Transforms this rank's columns, which lie as rows at the problem's pitch.
    void transform_columns(Complex* columns) const noexcept {
        for (std::size_t column = 0; column < count(); ++column) problem_.plan.transform(columns + column * pitch_);
    }
    void leave(const Complex* columns) const {
        std::copy_n(columns, count() * pitch_, &problem_.result.data()[mine_.begin * pitch_]);
    }
    std::size_t count() const noexcept { return mine_.end - mine_.begin; }
    /// All ranks, the next one first and oneself last: no two begin with the same one.
    template <class Visit>
    void for_each_rank(Visit&& visit) const {
        for (std::size_t step = 1; step <= layout_.ranks; ++step) visit((me_ + step) % layout_.ranks);
    }

    const Problem& problem_;
    std::size_t n_, pitch_, me_;
    Layout layout_;
    Range mine_;
    Barrier barrier_;
};

class SharedPart : public RowsPart {
  public:
    SharedPart(Rank me, const Problem& problem, const SharedArray<Complex>& transposed)
        : RowsPart{me, problem}, transposed_{transposed}, row_{pitch_} {
        std::fill_n(columns(), count() * pitch_, Complex{});  // homed at the rank that reads them
    }

    void run() {
        for (std::size_t row = mine_.begin; row < mine_.end; ++row) {
            transform_each(row, row_.data(), [&](std::size_t column, const Complex& value) {
                transposed_[column * pitch_ + row] = value;
            });
        }
        barrier_.arrive_and_wait();
        transform_columns(columns());
    }
    void collect() const { leave(columns()); }

  private:
    Complex* columns() const noexcept { return transposed_.data() + mine_.begin * pitch_; }

    const SharedArray<Complex>& transposed_;
    Buffer<Complex> row_;
};

/// Bulk exchange, of everything or row by row, copied by the rank or by an engine beside it. What arrives are the rows
/// of all ranks, cut to this rank's columns.
class BulkPart : public RowsPart {
  public:
    BulkPart(Rank me, const Problem& problem, bool row_by_row, bool by_engine)
        : RowsPart{me, problem}, row_by_row_{row_by_row}, rows_{std::max<std::size_t>(1, count()) * pitch_},
          packed_{rows_.size()}, columns_{rows_.size()}, inbox_{me, "inbox", n_ * std::max<std::size_t>(1, count())} {
        if (by_engine) engine_.emplace();
    }

    void run() {
        for (std::size_t row = 0; row < count(); ++row) {
            transform(mine_.begin + row, rows_.data() + row * pitch_);
            if (row_by_row_) for_each_rank([&](std::size_t rank) { send(rank, row, 1); });
        }
        if (!row_by_row_) for_each_rank([&](std::size_t rank) { send(rank, 0, count()); });
        if (engine_) engine_->finish();
        barrier_.arrive_and_wait();
        transpose(inbox_.mine().data(), count(), columns_.data(), pitch_, n_, count());
        transform_columns(columns_.data());
    }
    void collect() const { leave(columns_.data()); }

  private:
    /// Sends `rows` rows to a rank in one piece: the part that it needs, put together where there are several.
    void send(std::size_t rank, std::size_t row, std::size_t rows) {
        const Range wanted = layout_.of(rank);
        const std::size_t wide = layout_.count(rank);
        if (engine_)  // which takes rectangles, as the paper's
            return engine_->copy(inbox_.of(rank), {(mine_.begin + row) * wide, rows, wide, wide},
                                 rows_.span().subspan(row * pitch_ + wanted.begin), pitch_);
        const Complex* const first = rows_.data() + row * pitch_ + wanted.begin;
        std::span<const Complex> piece{first, wide};
        if (rows != 1) {
            for (std::size_t r = 0; r < rows; ++r) std::copy_n(first + r * pitch_, wide, packed_.data() + r * wide);
            piece = packed_.span().first(rows * wide);
        }
        inbox_.of(rank).store((mine_.begin + row) * wide, piece);
    }

    bool row_by_row_;
    Buffer<Complex> rows_, packed_, columns_;
    Exchange<Complex> inbox_;
    std::optional<CopyEngine<Complex>> engine_;  ///< behind what it reads and writes
};

/// Each number by one store to the rank that has its column, as the paper's remote stores: nothing is gathered.
class ElementsPart : public RowsPart {
  public:
    ElementsPart(Rank me, const Problem& problem)
        : RowsPart{me, problem}, scratch_{pitch_}, columns_{me, "columns", std::max<std::size_t>(1, count()) * pitch_} {
        for (std::size_t rank = 0; rank < layout_.ranks; ++rank)
            for (std::size_t column = 0; column < layout_.count(rank); ++column)
                places_.push_back({&columns_.of(rank), column * pitch_});
    }

    void run() {
        for (std::size_t row = mine_.begin; row < mine_.end; ++row)
            transform_each(row, scratch_.data(), [&](std::size_t column, const Complex& value) {
                places_[column].rank->store(places_[column].first + row, value);
            });
        barrier_.arrive_and_wait();
        transform_columns(columns_.mine().data());
    }
    void collect() const { leave(columns_.mine().data()); }

  private:
    /// Where a column begins.
    struct Place {
        const Remote<Complex>* rank;
        std::size_t first;
    };

    Buffer<Complex> scratch_;
    Exchange<Complex> columns_;
    std::vector<Place> places_;
};

class PushPart : public RowsPart {
  public:
    PushPart(Rank me, const Problem& problem)
        : RowsPart{me, problem}, rows_{Problem::line * pitch_},
          columns_{me, "columns", std::max<std::size_t>(1, count()) * pitch_} {
        // All blocks that go to a rank are published together: what suits the size of one alone is another question.
        for (std::size_t rank = 0; rank < layout_.ranks; ++rank) columns_.expect(rank, count() * layout_.count(rank));
    }

    void run() {
        for (std::size_t row = mine_.begin; row < mine_.end; row += Problem::line) {
            const std::size_t high = std::min(Problem::line, mine_.end - row);
            for (std::size_t r = 0; r < high; ++r) transform(row + r, rows_.data() + r * pitch_);
            for_each_rank([&](std::size_t rank) {
                const std::size_t wide = layout_.count(rank);
                if (wide == 0) return;
                const std::size_t first = layout_.of(rank).begin;
                if (rank == me_)  // what stays is read here soon, and stays in the cache
                    return transpose(rows_.data() + first, pitch_, columns_.mine().data() + row, pitch_, high, wide);
                columns_.of(rank).store_transposed({.offset = row, .rows = wide, .columns = high, .pitch = pitch_},
                                                   rows_.span().subspan(first), pitch_);
            });
        }
        barrier_.arrive_and_wait();
        transform_columns(columns_.mine().data());
    }
    void collect() const { leave(columns_.mine().data()); }

  private:
    Buffer<Complex> rows_;
    Exchange<Complex> columns_;
};

class PullPart : public RowsPart {
  public:
    PullPart(Rank me, const Problem& problem, const SharedArray<Complex>& rows)
        : RowsPart{me, problem}, rows_{rows}, columns_{std::max<std::size_t>(1, count()) * pitch_} {
        // homed at the rank that makes them
        std::fill_n(rows_.data() + mine_.begin * pitch_, count() * pitch_, Complex{});
    }

    void run() {
        for (std::size_t row = mine_.begin; row < mine_.end; ++row) transform(row, rows_.data() + row * pitch_);
        barrier_.arrive_and_wait();
        for_each_rank([&](std::size_t rank) {
            const std::size_t first = layout_.of(rank).begin;
            transpose(rows_.data() + first * pitch_ + mine_.begin, pitch_, columns_.data() + first, pitch_,
                      layout_.count(rank), count());
        });
        transform_columns(columns_.data());
    }
    void collect() const { leave(columns_.data()); }

  private:
    const SharedArray<Complex>& rows_;
    Buffer<Complex> columns_;
};

/// Push or pull, whichever has lately been faster for one size, number of ranks and substrate. What is faster changes
/// while a program runs (virtual processors move, others use the caches), and a verdict of once was seen to be wrong by
/// 1.5 times minutes later. So every run's time counts, and now and then a run tries the other way.
class Choice {
  public:
    Variant best() const { return median(push_) <= median(pull_) ? Variant::push : Variant::pull; }
    /// What to run next.
    Variant next() {
        if (push_.size() < enough || pull_.size() < enough)
            return push_.size() <= pull_.size() ? Variant::push : Variant::pull;
        const Variant now = best();
        if (++runs_ % runs_a_try != 0) return now;
        return now == Variant::push ? Variant::pull : Variant::push;
    }
    void took(Variant variant, double seconds) {
        auto& times = variant == Variant::push ? push_ : pull_;
        times.push_back(seconds);
        if (times.size() > kept) times.erase(times.begin());
    }
    bool known() const { return push_.size() >= enough && pull_.size() >= enough; }

  private:
    static constexpr std::size_t enough = 5, kept = 5;
    static constexpr int runs_a_try = 12;  ///< when the other way takes half as long again, trying it costs 4 %

    static double median(std::vector<double> times) {
        std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
        return times[times.size() / 2];
    }

    std::vector<double> push_, pull_;
    int runs_ = 0;
};

/// The choices of this process, one caller at a time.
struct Choices {
    std::mutex mutex;
    std::map<std::tuple<std::size_t, Transform, int, Substrate>, Choice> of;

    static Choices& here() {
        static Choices choices;
        return choices;
    }
};

double run_choice(Choice& choice, const Problem& problem, const RankOptions& options) {
    const Variant variant = choice.next();
    const double seconds = parallel(problem, variant, options);
    choice.took(variant, seconds);
    return seconds;
}

}  // namespace

Variant chosen(const Problem& problem, const RankOptions& options) {
    auto& choices = Choices::here();
    const std::lock_guard lock{choices.mutex};
    auto& choice = choices.of[{problem.n, problem.plan.rows(), options.ranks, options.substrate}];
    while (!choice.known()) run_choice(choice, problem, options);
    return choice.best();
}

void of_rank(Rank me, const Problem& problem, Variant variant, int passes) {
    switch (variant) {
        case Variant::bulk:
        case Variant::pencils:
        case Variant::dma_bulk:
        case Variant::dma_pencils:
            seconds_of_rank(me, passes, [&](Rank rank) {
                return BulkPart{rank, problem, variant == Variant::pencils || variant == Variant::dma_pencils,
                                variant == Variant::dma_bulk || variant == Variant::dma_pencils};
            });
            return;
        case Variant::elements:
            seconds_of_rank(me, passes, [&](Rank rank) { return ElementsPart{rank, problem}; });
            return;
        case Variant::push:
            seconds_of_rank(me, passes, [&](Rank rank) { return PushPart{rank, problem}; });
            return;
        default:
            throw UsageError("fft2d: the variant '" + std::string(name(variant)) +
                             "' needs memory that all ranks share");
    }
}

double parallel(const Problem& problem, Variant variant, const RankOptions& options) {
    StoreWays::here();  // measured here, once, and not by each rank
    switch (variant) {
        case Variant::shared: {
            const SharedArray<Complex> transposed{problem.n * problem.pitch, Home::first_touch};
            return seconds_of_ranks(options, [&](Rank me) { return SharedPart{me, problem, transposed}; });
        }
        case Variant::bulk:
            return seconds_of_ranks(options, [&](Rank me) { return BulkPart{me, problem, false, false}; });
        case Variant::pencils:
            return seconds_of_ranks(options, [&](Rank me) { return BulkPart{me, problem, true, false}; });
        case Variant::dma_bulk:
            return seconds_of_ranks(options, [&](Rank me) { return BulkPart{me, problem, false, true}; });
        case Variant::dma_pencils:
            return seconds_of_ranks(options, [&](Rank me) { return BulkPart{me, problem, true, true}; });
        case Variant::elements:
            return seconds_of_ranks(options, [&](Rank me) { return ElementsPart{me, problem}; });
        case Variant::push:
            return seconds_of_ranks(options, [&](Rank me) { return PushPart{me, problem}; });
        case Variant::pull: {
            const SharedArray<Complex> rows{problem.n * problem.pitch, Home::first_touch};
            return seconds_of_ranks(options, [&](Rank me) { return PullPart{me, problem, rows}; });
        }
        case Variant::choice: {
            chosen(problem, options);  // has tried both
            auto& choices = Choices::here();
            const std::lock_guard lock{choices.mutex};
            return run_choice(choices.of[{problem.n, problem.plan.rows(), options.ranks, options.substrate}], problem,
                              options);
        }
    }
    throw UsageError("fft2d: there is no such variant");
}

}  // namespace penstock::apps::fft2d
