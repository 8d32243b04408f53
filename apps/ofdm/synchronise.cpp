#include "apps/ofdm/synchronise.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "apps/ofdm/decode.hpp"

namespace penstock::apps::ofdm {
namespace {

using kernels::ofdm::Block;
using kernels::ofdm::Correlation;
using kernels::ofdm::side;

// A period is there when what repeats has this part of the power, which a signal has that is 0.8 times as strong as the
// noise. Noise alone has it once in 10^8 windows of six quarters of 64.
constexpr float repeating = 0.45f;
// Of the energy of two long training symbols the part that one path has to bring; noise does not reach it, nor does a
// tone.
constexpr float one_path = 0.1f;
// An earlier path counts as the first when it is at least this strong, compared with the strongest.
constexpr float earlier_path = 0.3f;

float energy(std::span<const Sample> samples) noexcept {
    float sum = 0;
    for (const Sample sample : samples) sum += std::norm(sample);
    return sum;
}

double cycles_of(Sample product, std::size_t lag) noexcept {
    return std::arg(std::complex<double>(product)) / (2 * std::numbers::pi * static_cast<double>(lag));
}

}  // namespace

Synchroniser::Synchroniser(const Format& format)
    : format_{format}, demodulator_{format}, demapper_{format}, work_(8 * format.size * side), shape_(4 * format.size) {
}

void Synchroniser::push(std::span<const Sample> samples) {
    keep();
    pushed_ = samples;
    counts_.samples += samples.size();
}

/// The search looks back over two quarters, a frame over what is early of its symbols.
std::size_t Synchroniser::still_needed() const noexcept {
    const bool frame = state_ == State::signal || state_ == State::data;
    return at_ - std::min(at_, frame ? format_.early : format_.size);
}

/// From now on `view` is looked at, which begins `from` samples behind the one so far.
void Synchroniser::move(std::span<const Sample> view, std::size_t from) {
    view_ = view;
    position_ += from;
    at_ -= from;
}

/// Samples that are needed together lie together: some of those that were pushed are copied behind those that were
/// kept, until nothing before them is needed. False where there are no more.
bool Synchroniser::lengthen() {
    if (copied_ == pushed_.size()) return false;
    const std::size_t before = kept_.size() - copied_;
    if (still_needed() >= before) {
        move(pushed_, before);
        kept_.clear();
        copied_ = pushed_.size();
        return true;
    }
    const auto more = pushed_.subspan(copied_, std::min(pushed_.size() - copied_, side * format_.symbol));
    kept_.insert(kept_.end(), more.begin(), more.end());
    copied_ += more.size();
    view_ = kept_;
    return true;
}

/// Copies what is still needed, before it goes.
void Synchroniser::keep() {
    while (lengthen()) {
    }
    const std::size_t from = still_needed();
    const auto needed = view_.subspan(from);
    if (view_.data() == kept_.data())
        kept_.erase(kept_.begin(), kept_.end() - static_cast<std::ptrdiff_t>(needed.size()));
    else kept_.assign(needed.begin(), needed.end());
    move(kept_, from);
    pushed_ = {};
    copied_ = 0;
}

void Synchroniser::resume(std::size_t at) {
    state_ = State::searching;
    at_ = at;
    seen_ = above_ = 0;
    best_ = {};
}

std::span<const Sample> Synchroniser::next(SamplePiece& piece) {
    for (;;) {
        bool enough = false;
        switch (state_) {
            case State::searching:
                enough = search();
                break;
            case State::training:
                enough = find_training();
                break;
            case State::signal:
                enough = read_signal();
                break;
            case State::data:
                if (have(at_ - format_.early, format_.symbol)) return give(piece);
                break;
        }
        if (enough || lengthen()) continue;
        keep();
        return {};
    }
}

bool Synchroniser::search() {
    const std::size_t step = quarter();
    for (; have(at_, 2 * step); at_ += step) {
        quarters_[seen_++ % window] = kernels::ofdm::correlate_with_later(view_.data() + at_, step, step);
        if (seen_ < window) continue;
        Correlation sum;
        for (std::size_t i = 0; i < window; ++i) {
            sum.product += quarters_[i].product;
            sum.power += quarters_[i].power;
        }
        const bool repeats = std::norm(sum.product) > repeating * repeating * sum.power * sum.power;
        if (repeats) {
            ++above_;
            if (std::norm(sum.product) > std::norm(best_.product)) best_ = sum;
        } else if (above_ >= 2) {
            ++counts_.trainings;
            state_ = State::training;
            return true;
        } else {
            above_ = 0;
            best_ = {};
        }
    }
    return false;
}

/// The search stops at a quarter when two to four of its window are behind the short training. So this ended at most
/// two quarters before, and at most one behind, and after half a symbol of guard the long training begins: 0 to 3
/// quarters behind `at_`.
bool Synchroniser::find_training() {
    const std::size_t n = format_.size, places = 3 * n / 2, from = at_ - std::min(at_, 2 * quarter());
    if (!have(from, places + 2 * n)) return false;
    // Both symbols are looked for in samples without the greater part of the offset.
    const double coarse = cycles_of(best_.product, quarter());
    const std::size_t length = places + 2 * n;
    float *const re = work_.data(), *const im = re + length;
    const auto step = std::polar(1.0, -2 * std::numbers::pi * coarse);
    std::complex<double> factor = 1.0;
    for (std::size_t i = 0; i < length; ++i) {
        const std::complex<double> sample{view_[from + i]};
        re[i] = static_cast<float>(sample.real() * factor.real() - sample.imag() * factor.imag());
        im[i] = static_cast<float>(sample.real() * factor.imag() + sample.imag() * factor.real());
        factor = {factor.real() * step.real() - factor.imag() * step.imag(),
                  factor.real() * step.imag() + factor.imag() * step.real()};
    }
    kernels::ofdm::correlate({re, im}, format_.long_symbol, std::span(shape_).first(places + n));
    const auto strength = [&](std::size_t place) { return std::norm(shape_[place]) + std::norm(shape_[place + n]); };
    std::size_t strongest = 0;
    for (std::size_t place = 1; place < places; ++place)
        if (strength(place) > strength(strongest)) strongest = place;
    std::size_t first = strongest - std::min(strongest, format_.early);
    while (strength(first) < earlier_path * strength(strongest)) ++first;
    const std::size_t start = from + first;
    const float all = energy({view_.data() + from + strongest, 2 * n}) * energy(format_.long_symbol);
    if (!(strength(strongest) > one_path * all) || start < format_.early) {
        ++counts_.refused;
        resume(at_ + quarter());
        return true;
    }
    // The offset by both symbols, which say it to within a cycle a symbol; the short training says which cycle.
    const double fine = cycles_of(kernels::ofdm::correlate_with_later(view_.data() + start, n, n).product, n);
    const auto symbol = static_cast<double>(n);
    const double offset = fine + std::round((coarse - fine) * symbol) / symbol;

    const auto against = against_offset(format_, offset);
    const Block two{work_.data(), work_.data() + n * side}, scratch{two.im + n * side, two.im + 2 * n * side};
    kernels::ofdm::lay_side_by_side(view_.data() + start - format_.early, n, 2, against, two);
    const Block rows = kernels::ofdm::fourier(n, format_.roots, two, scratch);
    const Sample back{std::polar(1.0, -2 * std::numbers::pi * offset * symbol)};
    float difference = 0, power = 0;
    for (std::size_t i = 0; i < format_.used.size(); ++i) {
        const std::size_t at = format_.row(format_.used[i]) * side;
        const Sample one{rows.re[at], rows.im[at]}, other = Sample{rows.re[at + 1], rows.im[at + 1]} * back;
        difference += std::norm(one - other);
        channel_[i] = (one + other) * (0.5f * format_.long_carriers[i]);
        power += std::norm(channel_[i]);
    }
    frame_ = {};
    frame_.size = static_cast<std::uint32_t>(n);
    frame_.position = position_ + start;
    frame_.offset = static_cast<float>(offset);
    const float noise = difference / 2;  // of one symbol
    frame_.snr = noise > 0 ? std::max(0.0f, power - noise / 2) / noise : std::numeric_limits<float>::infinity();
    at_ = start + 2 * n;
    state_ = State::signal;
    return true;
}

bool Synchroniser::read_signal() {
    if (!have(at_ - format_.early, format_.symbol)) return false;
    const Block carriers{work_.data(), work_.data() + demodulator_.rows() * side};
    demodulator_.begin(frame_, channel_.data());
    demodulator_.block(view_.data() + at_ + format_.prefix - format_.early, 1, 0, carriers);
    std::array<std::int8_t, 2 * 96> soft{};
    const std::size_t count = 2 * format_.data_bits(rates[0]);
    demapper_.begin(rates[0], demodulator_.power());
    demapper_.block(carriers, 1, soft.data());
    if (!ofdm::read_signal(std::span(soft).first(count), frame_)) {
        ++counts_.refused;
        resume(at_);
        return true;
    }
    frame_.number = counts_.frames++;
    frame_.symbols = static_cast<std::uint32_t>(format_.symbols(rates[frame_.rate], frame_.octets));
    at_ += format_.symbol;
    given_ = 0;
    state_ = State::data;
    return true;
}

std::span<const Sample> Synchroniser::give(SamplePiece& piece) {
    const std::size_t there = (view_.size() + format_.early - at_) / format_.symbol;
    const auto count = static_cast<std::uint32_t>(std::min(
        {there, piece_symbols(format_, rates[frame_.rate]), static_cast<std::size_t>(frame_.symbols - given_)}));
    piece.head = {frame_, given_, count};
    if (given_ == 0) piece.channel = channel_;
    const auto samples =
        view_.subspan(at_ + format_.prefix - format_.early, (count - 1) * format_.symbol + format_.size);
    at_ += count * format_.symbol;
    given_ += count;
    if (given_ == frame_.symbols) {
        ++counts_.complete;
        resume(at_);
    }
    return samples;
}

void Synchroniser::restart() {
    kept_.clear();
    view_ = pushed_ = {};
    copied_ = 0;
    position_ = 0;
    counts_ = {};
    resume(0);
}

bool Synchroniser::end() {
    const bool cut = state_ == State::data || state_ == State::signal;
    if (cut) ++counts_.cut;
    resume(view_.size());
    return cut;
}

}  // namespace penstock::apps::ofdm
