// Sounds and radio samples: filtered, transformed, and drawn.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <sstream>
#include <vector>

#include "components/classes.hpp"
#include "components/picture.hpp"
#include "kernels/fir.hpp"
#include "kernels/fourier.hpp"
#include "penstock/components.hpp"

namespace penstock::components {
namespace {

using Complex = std::complex<float>;

bool is_power_of_two(std::size_t n) noexcept { return n != 0 && (n & (n - 1)) == 0; }

struct Mono {
    static constexpr bool may_be_copied = true;
    Input<float> samples{"samples"};
    Output<float> mono{"mono"};
    void operator()() {
        const auto read = samples.read();
        const std::size_t channels = read.rank() == 2 ? read.extent(1) : 1,
                          count = read.size() / std::max<std::size_t>(channels, 1);
        auto made = mono.make(count);
        auto to = made.edit();
        for (std::size_t i = 0; i < count; ++i) {
            float sum = 0;
            for (std::size_t c = 0; c < channels; ++c) sum += read[i * channels + c];
            to[i] = sum / static_cast<float>(channels);
        }
        mono.write(std::move(made));
    }
};

/// Blocks of another length, which may overlap.
template <class T>
struct Overlap {
    Input<T> samples{"samples"};
    Output<T> blocks{"blocks"};
    Setting<int> size{"size", 1024, {.unit = "samples", .least = 1, .most = 1 << 24, .doc = "Of each block."}};
    Setting<int> hop{"hop",
                     512,
                     {.unit = "samples",
                      .least = 1,
                      .most = 1 << 24,
                      .doc = "By which each begins behind the one before; what is left at the end is dropped."}};
    void operator()() {
        const auto read = samples.read();
        if (read.rank() != 1) throw UsageError("it takes samples of one channel: put `mono` before it");
        if (kept_.empty() && next_ == 0) rate_ = read.tags().user[1];
        kept_.insert(kept_.end(), read.span().begin(), read.span().end());
        const auto length = static_cast<std::size_t>(size.get()), step = static_cast<std::size_t>(hop.get());
        std::size_t from = skip_;
        for (; from + length <= kept_.size(); from += step) {
            auto made = blocks.make(length);
            std::copy_n(kept_.data() + from, length, made.edit().data());
            made.edit_tags() = {.sequence = next_, .time = next_ * step, .user = {next_, rate_}};
            ++next_;
            blocks.write(std::move(made));
        }
        const auto gone = std::min(from, kept_.size());
        kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(gone));
        skip_ = from - gone;
    }

  private:
    std::vector<T> kept_;
    std::size_t skip_ = 0;
    std::uint64_t next_ = 0, rate_ = 0;
};

/// Its memory goes from block to block, so blocks come in order and in one copy.
template <class T>
struct Fir {
    Input<T> samples{"samples"};
    Output<T> filtered{"filtered"};
    Setting<std::string> taps{
        "taps", "", {.doc = "Numbers with blanks between; empty: a band-pass of `length` taps is made."}};
    Setting<double> low{"low",
                        0,
                        {.least = 0,
                         .most = 0.5,
                         .doc = "Where the band begins, as a part of the samples a second; 0: at the bottom."}};
    Setting<double> high{"high", 0.25, {.least = 0, .most = 0.5, .doc = "Where it ends; 0.5: at the top."}};
    Setting<int> length{"length",
                        63,
                        {.least = 1,
                         .most = 8191,
                         .doc = "Of the filter that is made: an odd number. It is a sinc under Hamming's window."}};
    Setting<int> keep_one_of{"keep-one-of",
                             1,
                             {.unit = "samples",
                              .least = 1,
                              .most = 1 << 16,
                              .doc = "Every so many-th result is kept: the rate becomes so many times lower."}};

    void start() { weights_ = taps.get().empty() ? designed() : given(); }
    void operator()() {
        const auto read = samples.read();
        if (read.rank() == 2 && read.extent(1) != 1)
            throw UsageError("it takes samples of one channel: put `mono` before it");
        const auto step = static_cast<std::size_t>(keep_one_of.get());
        if (kept_.empty()) kept_.resize(weights_.size() - 1);  // silence before the first sample
        kept_.insert(kept_.end(), read.span().begin(), read.span().end());
        const auto room = kept_.size() - (weights_.size() - 1);
        const auto count = room > skip_ ? (room - skip_ + step - 1) / step : 0;
        auto made = filtered.make(count);
        if (count != 0) kernels::fir<T>(std::span<const T>(kept_).subspan(skip_), weights_, made.edit(), step);
        auto& tags = made.edit_tags();
        tags = read.tags();
        tags.time /= step;
        tags.user[1] /= step;
        skip_ = skip_ + count * step - room;
        kept_.erase(kept_.begin(), kept_.end() - static_cast<std::ptrdiff_t>(weights_.size() - 1));
        filtered.write(std::move(made));
    }

  private:
    std::vector<float> given() const {
        std::istringstream words(taps.get());
        std::vector<float> all;
        for (float each = 0; words >> each;) all.push_back(each);
        if (all.empty() || !words.eof()) throw UsageError("the taps '" + taps.get() + "' are not numbers");
        return all;
    }
    std::vector<float> designed() const {
        if (low >= high) throw UsageError("the band ends at or before where it begins: set `low` below `high`");
        if (length % 2 == 0) throw UsageError("the `length` of a filter that is made is an odd number");
        const int middle = length / 2;
        const auto lowpass = [](double cutoff, int i) {
            return i == 0 ? 2 * cutoff : std::sin(2 * std::numbers::pi * cutoff * i) / (std::numbers::pi * i);
        };
        std::vector<double> all;
        double sum = 0;
        for (int i = -middle; i <= middle; ++i) {
            const double window = middle == 0 ? 1 : 0.54 + 0.46 * std::cos(std::numbers::pi * i / middle);
            all.push_back((lowpass(high, i) - (low > 0 ? lowpass(low, i) : 0)) * window);
        }
        // What lies in the middle of the band keeps its height.
        const double at = low > 0 ? (high == 0.5 ? 0.5 : (low + high) / 2) : 0;
        for (int i = -middle; i <= middle; ++i)
            sum += all[static_cast<std::size_t>(i + middle)] * std::cos(2 * std::numbers::pi * at * i);
        std::vector<float> made;
        for (const double each : all) made.push_back(static_cast<float>(each / sum));
        return made;
    }
    std::vector<float> weights_;
    std::vector<T> kept_;
    std::size_t skip_ = 0;
};

/// Roots and memory for transforms of one length.
class Transform {
  public:
    void operator()(std::span<Complex> row) {
        if (!is_power_of_two(row.size()))
            throw UsageError("blocks of " + std::to_string(row.size()) +
                             " samples cannot be transformed: their number is a power of two (`overlap` makes such)");
        if (roots_.size() != row.size()) {
            roots_.resize(row.size());
            scratch_.resize(row.size());
            kernels::fourier_roots<float>(roots_, row.size());
        }
        kernels::fourier<float>(row, roots_, scratch_);
    }

  private:
    std::vector<Complex> roots_, scratch_;
};

struct Fft {
    static constexpr bool may_be_copied = true;
    Input<Complex> samples{"samples"};
    Output<Complex> spectrum{"spectrum"};
    Setting<bool> inverse{"inverse", false, {.doc = "The inverse transform, divided by the number of samples."}};
    Transform transform;
    void operator()() {
        auto read = samples.read();
        const auto row = read.edit();
        const auto conjugate = [&](float by) {
            for (auto& each : row) each = std::conj(each) * by;
        };
        if (inverse) conjugate(1);
        transform(row);
        if (inverse) conjugate(1 / static_cast<float>(row.size()));
        spectrum.write(std::move(read));
    }
};

/// The power at each frequency, under Hann's window; 0 dB is a sine (or a turning pair) of height 1.
template <class T>
struct Spectrum {
    static constexpr bool may_be_copied = true;
    Input<T> blocks{"blocks"};
    Output<float> power{"power"};
    Transform transform;
    std::vector<Complex> row;
    std::vector<float> window;
    void operator()() {
        const auto read = blocks.read();
        constexpr bool real = std::is_same_v<T, float>;
        const auto n = read.size();
        if (window.size() != n) {
            window.clear();
            for (std::size_t i = 0; i < n; ++i)
                window.push_back(static_cast<float>(
                    0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n))));
        }
        row.resize(n);
        for (std::size_t i = 0; i < n; ++i) row[i] = Complex(read[i]) * window[i];
        transform(row);
        const double sum = static_cast<double>(n) / 2;  // of the window
        const auto count = real ? n / 2 + 1 : n;
        auto made = power.make(count);
        auto to = made.edit();
        const auto scale = static_cast<float>((real ? 2 : 1) / std::max(sum, 1e-9));
        for (std::size_t i = 0; i < count; ++i) {
            const auto at = real ? i : (i + n / 2) % n;  // the lowest frequency first
            to[i] = 20 * std::log10(std::max(std::abs(row[at]) * scale, 1e-10f));
        }
        power.write(std::move(made));
    }
};

/// Rows of values as a picture: one column a buffer, the first value at the bottom.
struct Waterfall {
    Input<float> values{"values"};
    Output<std::uint8_t> picture{"picture"};
    Setting<double> least{"least", -100, {.doc = "The value that is black."}};
    Setting<double> most{"most", 0, {.doc = "The value that is white."}};
    Setting<int> most_columns{"most-columns",
                              16384,
                              {.unit = "pixels",
                               .least = 1,
                               .most = 1 << 16,
                               .doc = "Where more come, pairs become one, the greater of both."}};
    void operator()() {
        const auto read = values.read();
        if (rows_ != 0 && read.size() != rows_)
            throw UsageError("a buffer of " + std::to_string(read.size()) + " values came behind one of " +
                             std::to_string(rows_));
        rows_ = read.size();
        if (rows_ > 1 << 16)
            throw UsageError("a picture of " + std::to_string(rows_) + " rows is too high: 65536 are the most");
        auto& column =
            pending_.empty() ? pending_.emplace_back(read.span().begin(), read.span().end()) : pending_.front();
        for (std::size_t i = 0; i < rows_; ++i) column[i] = std::max(column[i], read[i]);
        if (++taken_ < together_) return;
        columns_.push_back(std::move(column));
        pending_.clear();
        taken_ = 0;
        if (columns_.size() <= static_cast<std::size_t>(most_columns.get())) return;
        // Half as many, of twice as much.
        const auto count = columns_.size() / 2;
        for (std::size_t j = 0; j < count; ++j) {
            auto& to = columns_[j];
            if (j != 0) to = std::move(columns_[2 * j]);
            for (std::size_t i = 0; i < rows_; ++i) to[i] = std::max(to[i], columns_[2 * j + 1][i]);
        }
        if (columns_.size() % 2 != 0) pending_.push_back(std::move(columns_.back())), taken_ = together_;
        columns_.resize(count);
        together_ *= 2;
    }
    void finish() {
        if (!pending_.empty()) columns_.push_back(std::move(pending_.front()));
        if (columns_.empty())
            throw UsageError("nothing came that could be drawn: is the recording shorter than one block?");
        auto made = picture.make(rows_, columns_.size(), 3);
        auto* to = made.edit().data();
        for (std::size_t i = 0; i < rows_; ++i)
            for (const auto& column : columns_) to = put_colour((column[rows_ - 1 - i] - least) / (most - least), to);
        made.edit_tags() = {};
        picture.write(std::move(made));
    }

  private:
    /// Black, blue, red, yellow, white.
    static std::uint8_t* put_colour(double share, std::uint8_t* to) {
        constexpr double stops[5][3] = {{0, 0, 0}, {32, 32, 140}, {200, 40, 60}, {250, 200, 40}, {255, 255, 255}};
        const double at = std::isnan(share) ? 0 : std::clamp(share, 0.0, 1.0) * 4;
        const auto low = std::min<std::size_t>(static_cast<std::size_t>(at), 3);
        for (std::size_t c = 0; c < 3; ++c)
            *to++ = static_cast<std::uint8_t>(
                std::lround(stops[low][c] + (at - static_cast<double>(low)) * (stops[low + 1][c] - stops[low][c])));
        return to;
    }
    std::vector<std::vector<float>> columns_, pending_;
    std::size_t rows_ = 0, together_ = 1, taken_ = 0;
};

}  // namespace

void add_signals(Components& components) {
    components.add<Mono>("mono", "The mean of all channels of a sound.");
    components.add<Overlap<float>>("overlap", "Samples in blocks of another length, which may overlap.");
    components.add<Overlap<Complex>>("overlap:complex64", "The same for complex samples.");
    components.add<Fir<float>>("fir",
                               "Samples filtered with a finite response, across the blocks; it may lower the rate.");
    components.add<Fir<Complex>>("fir:complex64", "The same for complex samples.");
    components.add<Fft>(
        "fft", "The Fourier transform of each block of complex samples, not scaled; their number is a power of two.");
    components.add<Spectrum<float>>("spectrum",
                                    "The power of each frequency of a block, in dB, from 0 to half the rate.");
    components.add<Spectrum<Complex>>("spectrum:complex64",
                                      "The same for complex samples, from minus half the rate to half of it.");
    components.add<Waterfall>("waterfall", "Buffers of values as the columns of a picture, which comes at the end.");
}

}  // namespace penstock::components
