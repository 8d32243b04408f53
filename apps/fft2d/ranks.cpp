// What one rank does, in each variant.
#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "apps/buffer.hpp"
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
        : problem_{problem},
          n_{problem.n},
          pitch_{problem.pitch},
          me_{static_cast<std::size_t>(me.index())},
          layout_{problem.n, static_cast<std::size_t>(me.size())},
          mine_{layout_.of(me_)},
          barrier_{me, "exchange"} {}

    /// Transforms row `row` of the image.
    void transform(std::size_t row, Complex* to) const noexcept { problem_.plan.transform(&problem_.image[row * pitch_], to); }
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
        : RowsPart{me, problem}, transposed_{transposed}, row_{pitch_} {}

    void run() {
        for (std::size_t row = mine_.begin; row < mine_.end; ++row) {
            transform(row, row_.data());
            for (std::size_t column = 0; column < n_; ++column) transposed_[column * pitch_ + row] = row_[column];
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

/// Bulk exchange, of everything or row by row. What arrives are the rows of all ranks, cut to this rank's columns.
class BulkPart : public RowsPart {
  public:
    BulkPart(Rank me, const Problem& problem, bool row_by_row)
        : RowsPart{me, problem},
          row_by_row_{row_by_row},
          rows_{std::max<std::size_t>(1, count()) * pitch_},
          packed_{rows_.size()},
          columns_{rows_.size()},
          inbox_{me, "inbox", n_ * std::max<std::size_t>(1, count())} {}

    void run() {
        for (std::size_t row = 0; row < count(); ++row) {
            transform(mine_.begin + row, rows_.data() + row * pitch_);
            if (row_by_row_) for_each_rank([&](std::size_t rank) { send(rank, row, 1); });
        }
        if (!row_by_row_) for_each_rank([&](std::size_t rank) { send(rank, 0, count()); });
        barrier_.arrive_and_wait();
        transpose(inbox_.mine().data(), count(), columns_.data(), pitch_, n_, count());
        transform_columns(columns_.data());
    }
    void collect() const { leave(columns_.data()); }

  private:
    /// Sends `rows` rows to a rank in one piece: the part that it needs, put together where there are several.
    void send(std::size_t rank, std::size_t row, std::size_t rows) const {
        const Range wanted = layout_.of(rank);
        const std::size_t wide = layout_.count(rank);
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
};

class PushPart : public RowsPart {
  public:
    PushPart(Rank me, const Problem& problem)
        : RowsPart{me, problem},
          rows_{Problem::line * pitch_},
          columns_{me, "columns", std::max<std::size_t>(1, count()) * pitch_} {}

    void run() {
        for (std::size_t row = mine_.begin; row < mine_.end; row += Problem::line) {
            const std::size_t high = std::min(Problem::line, mine_.end - row);
            for (std::size_t r = 0; r < high; ++r) transform(row + r, rows_.data() + r * pitch_);
            for_each_rank([&](std::size_t rank) {
                const std::size_t wide = layout_.count(rank);
                if (wide == 0) return;
                columns_.of(rank).store_transposed({.offset = row, .rows = wide, .columns = high, .pitch = pitch_},
                                                   rows_.span().subspan(layout_.of(rank).begin), pitch_);
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
        : RowsPart{me, problem}, rows_{rows}, columns_{std::max<std::size_t>(1, count()) * pitch_} {}

    void run() {
        for (std::size_t row = mine_.begin; row < mine_.end; ++row) transform(row, rows_.data() + row * pitch_);
        barrier_.arrive_and_wait();
        for_each_rank([&](std::size_t rank) {
            const std::size_t first = layout_.of(rank).begin;
            transpose(rows_.data() + first * pitch_ + mine_.begin, pitch_, columns_.data() + first, pitch_, layout_.count(rank),
                      count());
        });
        transform_columns(columns_.data());
    }
    void collect() const { leave(columns_.data()); }

  private:
    const SharedArray<Complex>& rows_;
    Buffer<Complex> columns_;
};

Variant measured(const Problem& problem, const RankOptions& options) {
    constexpr int rounds = 7;
    std::vector<double> push, pull;
    for (int round = 0; round < rounds; ++round) {
        push.push_back(parallel(problem, Variant::push, options));
        pull.push_back(parallel(problem, Variant::pull, options));
    }
    std::ranges::nth_element(push, push.begin() + rounds / 2);
    std::ranges::nth_element(pull, pull.begin() + rounds / 2);
    return push[rounds / 2] <= pull[rounds / 2] ? Variant::push : Variant::pull;
}

}  // namespace

Variant chosen(const Problem& problem, const RankOptions& options) {
    static std::mutex mutex;
    static std::map<std::tuple<std::size_t, int, Substrate>, Variant> known;
    const std::lock_guard lock{mutex};
    const std::tuple key{problem.n, options.ranks, options.substrate};
    auto found = known.find(key);
    if (found == known.end()) found = known.emplace(key, measured(problem, options)).first;
    return found->second;
}

double parallel(const Problem& problem, Variant variant, const RankOptions& options) {
    StoreWays::here();  // measured here, once, and not by each rank
    switch (variant) {
        case Variant::shared: {
            const SharedArray<Complex> transposed{problem.n * problem.pitch};
            return seconds_of_ranks(options, [&](Rank me) { return SharedPart{me, problem, transposed}; });
        }
        case Variant::bulk:
            return seconds_of_ranks(options, [&](Rank me) { return BulkPart{me, problem, false}; });
        case Variant::pencils:
            return seconds_of_ranks(options, [&](Rank me) { return BulkPart{me, problem, true}; });
        case Variant::push:
            return seconds_of_ranks(options, [&](Rank me) { return PushPart{me, problem}; });
        case Variant::pull: {
            const SharedArray<Complex> rows{problem.n * problem.pitch};
            return seconds_of_ranks(options, [&](Rank me) { return PullPart{me, problem, rows}; });
        }
        case Variant::choice:
            return parallel(problem, chosen(problem, options), options);
    }
    throw UsageError("fft2d: there is no such variant");
}

}  // namespace penstock::apps::fft2d
