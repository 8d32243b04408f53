// gnuradio_receiver FILE PASSES                 receives the frames in a file of samples so often: nanoseconds a sample
// gnuradio_receiver FILE latency ITEMS FRAMES   nanoseconds from the last sample of a frame to its octets, the median
// of
//                                               so many frames of the file; no call of a block makes more than ITEMS
//
// The chain of gr-ieee802-11, which is GNU Radio's receiver for these frames, out of the blocks that come with GNU
// Radio, where there are any: delay, conjugate, product, moving averages and quotient for the short training, the
// transform, and the convolutional decoder. In between stand blocks with the kernels of ours. A program of its own: GNU
// Radio starts threads before main().
#include <gnuradio/blocks/complex_to_mag.h>
#include <gnuradio/blocks/complex_to_mag_squared.h>
#include <gnuradio/blocks/conjugate_cc.h>
#include <gnuradio/blocks/delay.h>
#include <gnuradio/blocks/divide.h>
#include <gnuradio/blocks/moving_average.h>
#include <gnuradio/blocks/multiply.h>
#include <gnuradio/fec/cc_decoder.h>
#include <gnuradio/fft/fft_v.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numbers>
#include <thread>
#include <vector>

#include "apps/ofdm/coding.hpp"
#include "apps/ofdm/decode.hpp"
#include "apps/ofdm/demodulate.hpp"
#include "apps/ofdm/samples.hpp"
#include "apps/ofdm/synchronise.hpp"

namespace {

namespace ofdm = penstock::apps::ofdm;
using Clock = std::chrono::steady_clock;
using ofdm::Sample;
constexpr std::size_t n = 64, quarter = 16, symbol = 80, early = 4;
const ofdm::Format& format = ofdm::Format::of(n);
const pmt::pmt_t frame_begins = pmt::mp("frame");

gr::io_signature::sptr one(std::size_t bytes) { return gr::io_signature::make(1, 1, static_cast<int>(bytes)); }
gr::io_signature::sptr none() { return gr::io_signature::make(0, 0, 0); }

std::atomic<std::uint64_t> frames_whole{0}, frames_damaged{0};
std::atomic<std::int64_t> first_sample_at{0}, last_frame_at{0};
std::vector<std::int64_t> sent_at, came_at;  ///< for latency: of each frame its last sample, its octets
std::int64_t now() { return Clock::now().time_since_epoch().count(); }

/// All samples so often; or, for latency, all but those of the last symbol of each frame at once, and these after a
/// rest.
class Source final : public gr::sync_block {
  public:
    Source(std::vector<Sample> samples, std::size_t passes, std::vector<std::size_t> ends)
        : gr::sync_block("source", none(), one(sizeof(Sample))), samples_(std::move(samples)), passes_(passes),
          ends_(std::move(ends)) {}
    int work(int room, gr_vector_const_void_star&, gr_vector_void_star& outputs) override {
        if (first_sample_at == 0) first_sample_at = now();
        if (at_ == samples_.size()) {
            at_ = 0;
            if (--passes_ == 0) return WORK_DONE;
        }
        std::size_t until = samples_.size();
        if (!ends_.empty()) {
            if (next_ == ends_.size()) return WORK_DONE;
            if (frames_whole + frames_damaged < next_) {
                std::this_thread::sleep_for(std::chrono::microseconds(50));
                return 0;
            }
            // Blocks that work on vectors keep the last samples until others come.
            const std::size_t end = ends_[next_] + behind, begin = end - behind - symbol;
            until = at_ < begin ? begin : end;
            if (at_ == begin) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                sent_at[next_] = now();
            }
        }
        const auto count = std::min<std::size_t>(static_cast<std::size_t>(room), until - at_);
        std::memcpy(outputs[0], samples_.data() + at_, count * sizeof(Sample));
        at_ += count;
        if (!ends_.empty() && at_ == ends_[next_] + behind) ++next_;
        return static_cast<int>(count);
    }

  private:
    static constexpr std::size_t behind = 48;
    std::vector<Sample> samples_;
    std::size_t passes_, at_ = 0, next_ = 0;
    std::vector<std::size_t> ends_;
};

/// Samples, the correlation of the short training, and its quotient by the power: symbols of 64 samples, without
/// offset, from a long training on, until the next one.
class Symbols final : public gr::block {
  public:
    Symbols()
        : gr::block("symbols", gr::io_signature::make3(3, 3, sizeof(Sample), sizeof(Sample), sizeof(float)),
                    one(n * sizeof(Sample))) {
        set_history(1);
    }
    void forecast(int, gr_vector_int& wanted) override {
        std::fill(wanted.begin(), wanted.end(), state_ == State::training ? 320 : state_ == State::copy ? 80 : 1);
    }
    int general_work(int room, gr_vector_int& there, gr_vector_const_void_star& inputs,
                     gr_vector_void_star& outputs) override {
        const auto* const samples = static_cast<const Sample*>(inputs[0]);
        const auto* const product = static_cast<const Sample*>(inputs[1]);
        const auto* const metric = static_cast<const float*>(inputs[2]);
        auto* to = static_cast<Sample*>(outputs[0]);
        const auto count = static_cast<std::size_t>(*std::min_element(there.begin(), there.end()));
        std::size_t used = 0;
        int made = 0;
        while (used < count && made < room) {
            if (state_ == State::search) {
                above_ = metric[used] > 0.56f ? above_ + 1 : 0;
                if (above_ == 1) offset_ = 0;
                if (above_ == plateau) offset_ = std::arg(product[used]) / quarter, state_ = State::training;
                ++used;
            } else if (state_ == State::training) {
                constexpr std::size_t places = 192, window = places + 2 * n;
                if (count - used < window) break;
                std::vector<float> re(window), im(window);
                for (std::size_t i = 0; i < window; ++i) {
                    const Sample sample = samples[used + i] * std::polar(1.0f, -offset_ * static_cast<float>(i));
                    re[i] = sample.real();
                    im[i] = sample.imag();
                }
                std::vector<Sample> shape(places + n);
                penstock::kernels::ofdm::correlate({re.data(), im.data()}, format.long_symbol, shape);
                std::size_t best = early;
                for (std::size_t p = early; p < places; ++p)
                    if (std::norm(shape[p]) + std::norm(shape[p + n]) >
                        std::norm(shape[best]) + std::norm(shape[best + n]))
                        best = p;
                const auto found = penstock::kernels::ofdm::correlate_with_later(samples + used + best, n, n);
                const float fine = std::arg(found.product) / n, cycle = 2 * std::numbers::pi_v<float> / n;
                offset_ = fine + std::round((offset_ - fine) / cycle) * cycle;
                rotation_ = ofdm::against_offset(format, offset_ / (2 * std::numbers::pi));
                used += best - early;
                given_ = 0;
                above_ = 0;
                state_ = State::copy;
            } else {
                // The two of the training have no prefix.
                const std::size_t before = given_ < 2 ? 0 : symbol - n;
                if (count - used < before + n) break;
                if (given_ == 0)
                    add_item_tag(0, nitems_written(0) + static_cast<std::uint64_t>(made), frame_begins,
                                 pmt::from_float(offset_));
                for (std::size_t i = 0; i < n; ++i) to[i] = samples[used + before + i] * rotation_[i];
                for (std::size_t i = 0; i < before + n && given_ > 6; ++i) {
                    above_ = metric[used + i] > 0.56f ? above_ + 1 : 0;
                    if (above_ < plateau) continue;
                    offset_ = std::arg(product[used + i]) / quarter;
                    state_ = State::training;
                    used += i + 1;
                    break;
                }
                if (state_ == State::training) continue;
                used += before + n;
                to += n;
                ++made;
                ++given_;
            }
        }
        consume_each(static_cast<int>(used));
        return made;
    }

  private:
    enum class State { search, training, copy };
    static constexpr std::size_t plateau = 40;
    State state_ = State::search;
    std::size_t above_ = 0, given_ = 0;
    float offset_ = 0;
    std::vector<Sample> rotation_;
};

/// Transformed symbols: soft bits of frames, two for each bit, from the tag on.
class Carriers final : public gr::block {
  public:
    Carriers() : gr::block("carriers", one(n * sizeof(Sample)), one(1)) {
        set_tag_propagation_policy(TPP_DONT);
        set_output_multiple(432);
    }
    void forecast(int, gr_vector_int& wanted) override { wanted[0] = 1; }
    int general_work(int room, gr_vector_int& there, gr_vector_const_void_star& inputs,
                     gr_vector_void_star& outputs) override {
        const auto* from = static_cast<const Sample*>(inputs[0]);
        auto* const to = static_cast<std::int8_t*>(outputs[0]);
        std::vector<gr::tag_t> tags;
        get_tags_in_window(tags, 0, 0, static_cast<std::uint64_t>(there[0]), frame_begins);
        int used = 0, made = 0;
        for (; used < there[0]; ++used, from += n) {
            const auto here = nitems_read(0) + static_cast<std::uint64_t>(used);
            if (std::any_of(tags.begin(), tags.end(), [&](const auto& tag) { return tag.offset == here; }))
                seen_ = 0, left_ = 1;
            if (left_ == 0) continue;
            if (seen_ < 2) {
                for (std::size_t i = 0; i < format.used.size(); ++i) {
                    const Sample value = from[format.row(format.used[i])] * (0.5f * format.long_carriers[i]);
                    channel_[i] = seen_ == 0 ? value : channel_[i] + value;
                }
                ++seen_;
                continue;
            }
            if (seen_ == 2) {
                std::int8_t soft[48];
                symbol_of(from, ofdm::rates[0], 0, soft);
                if (ofdm::read_signal(soft, head_)) {
                    left_ = 1 + format.symbols(ofdm::rates[head_.rate], head_.octets);
                    add_item_tag(0, nitems_written(0) + static_cast<std::uint64_t>(made), frame_begins,
                                 pmt::cons(pmt::from_long(head_.rate), pmt::from_long(head_.octets)));
                } else {
                    left_ = 1;
                }
            } else {
                const auto& rate = ofdm::rates[head_.rate];
                const auto bits = static_cast<int>(2 * format.data_bits(rate));
                if (room - made < bits) break;
                symbol_of(from, rate, seen_ - 2, to + made);
                made += bits;
            }
            ++seen_;
            --left_;
        }
        consume_each(used);
        return made;
    }

  private:
    void symbol_of(const Sample* rows, const ofdm::Rate& rate, std::size_t number, std::int8_t* soft) {
        Sample pilots{};
        for (std::size_t i = 0, p = 0; i < format.used.size() && p < 4; ++i) {
            if (format.used[i] != format.pilots[p]) continue;
            pilots += rows[format.row(format.used[i])] * std::conj(channel_[i]) *
                      (format.pilot_signs[p++] * ofdm::pilot_polarity(number));
        }
        const Sample back = std::abs(pilots) > 0 ? std::conj(pilots) / std::abs(pilots) : Sample{1, 0};
        penstock::kernels::ofdm::Block block{re_.data(), im_.data()};
        std::array<float, ofdm::most_data> power{};
        for (std::size_t i = 0, p = 0, d = 0; i < format.used.size(); ++i) {
            if (p < 4 && format.used[i] == format.pilots[p]) {
                ++p;
                continue;
            }
            const Sample value = rows[format.row(format.used[i])] * std::conj(channel_[i]) * back;
            re_[d * 8] = value.real();
            im_[d * 8] = value.imag();
            power[d++] = std::norm(channel_[i]);
        }
        demapper_.begin(rate, power);
        demapper_.block(block, 1, soft);
    }

    std::array<Sample, 52> channel_{};
    std::vector<float> re_ = std::vector<float>(49 * 8), im_ = re_;
    ofdm::Demapper demapper_{format};
    ofdm::FrameHead head_{};
    std::size_t seen_ = 0, left_ = 0;
};

/// Soft bits of frames: octets, by the convolutional decoder of GNU Radio.
class Decoder final : public gr::sync_block {
  public:
    Decoder() : gr::sync_block("decoder", one(1), none()) { set_tag_propagation_policy(TPP_DONT); }
    int work(int items, gr_vector_const_void_star& inputs, gr_vector_void_star&) override {
        const auto* const from = static_cast<const std::int8_t*>(inputs[0]);
        std::vector<gr::tag_t> tags;
        get_tags_in_window(tags, 0, 0, static_cast<std::uint64_t>(items), frame_begins);
        for (int i = 0; i < items; ++i) {
            for (const auto& tag : tags) {
                if (tag.offset != nitems_read(0) + static_cast<std::uint64_t>(i)) continue;
                octets_ = static_cast<std::size_t>(pmt::to_long(pmt::cdr(tag.value)));
                steps_ = 16 + 8 * octets_ + 6;
                soft_.clear();
            }
            if (soft_.size() == 2 * steps_) continue;
            soft_.push_back(static_cast<std::uint8_t>(from[i] + 128));
            if (soft_.size() == 2 * steps_) decode();
        }
        return items;
    }

  private:
    void decode() {
        auto& decoder = decoders_[steps_];
        if (decoder == nullptr)
            decoder = gr::fec::code::cc_decoder::make(static_cast<int>(steps_), 7, 2, {109, 79}, 0, 0, CC_TRUNCATED);
        std::vector<std::uint8_t> bits(steps_ + 64);
        decoder->generic_work(soft_.data(), bits.data());
        ofdm::FrameHead head{};
        head.octets = static_cast<std::uint32_t>(octets_);
        ofdm::FrameBits packed{};
        for (std::size_t i = 0; i < steps_; ++i) packed[i / 64] |= std::uint64_t{bits[i] & 1u} << (i % 64);
        ofdm::Frame frame;
        ofdm::check(head, packed, frame);
        last_frame_at = now();
        if (const auto number = frames_whole + frames_damaged; number < came_at.size()) came_at[number] = last_frame_at;
        ++(frame.whole ? frames_whole : frames_damaged);
    }

    std::size_t octets_ = 0, steps_ = 0;
    std::vector<std::uint8_t> soft_;
    std::map<std::size_t, gr::fec::generic_decoder::sptr> decoders_;
};

/// Where each frame ends, by the receiver on one thread.
std::vector<std::size_t> ends_of(const std::vector<Sample>& samples) {
    std::vector<std::size_t> ends;
    ofdm::Synchroniser synchroniser{format};
    const auto piece = std::make_unique<ofdm::SamplePiece>();
    synchroniser.push(samples);
    while (!synchroniser.next(*piece).empty())
        if (piece->head.last())
            ends.push_back(piece->head.frame.position + 2 * n + (1 + piece->head.frame.symbols) * symbol);
    return ends;
}

}  // namespace

int main(int count, char** arguments) {
    const bool latency = count == 5 && std::strcmp(arguments[2], "latency") == 0;
    if (count != 3 && !latency)
        return std::fprintf(stderr, "gnuradio_receiver FILE PASSES | FILE latency ITEMS FRAMES\n"), 2;
    auto samples = ofdm::read_samples(arguments[1], "cf32");
    const std::size_t size = samples.size(), passes = latency ? 1 : static_cast<std::size_t>(std::atoi(arguments[2]));
    auto ends = latency ? ends_of(samples) : std::vector<std::size_t>{};
    if (latency) ends.resize(std::min(ends.size(), static_cast<std::size_t>(std::atoi(arguments[4]))));
    const std::size_t wanted = ends.size();

    const auto graph = gr::make_top_block("receiver");
    const auto source = gnuradio::get_initial_sptr(new Source(std::move(samples), passes, std::move(ends)));
    const auto delay = gr::blocks::delay::make(sizeof(Sample), quarter);
    const auto conjugate = gr::blocks::conjugate_cc::make();
    const auto product = gr::blocks::multiply_cc::make(1);
    const auto correlation = gr::blocks::moving_average_cc::make(48, 1, 4000);
    const auto strength = gr::blocks::complex_to_mag::make(1);
    const auto square = gr::blocks::complex_to_mag_squared::make(1);
    const auto power = gr::blocks::moving_average_ff::make(48, 1, 4000);
    const auto quotient = gr::blocks::divide_ff::make(1);
    const auto symbols = gnuradio::get_initial_sptr(new Symbols());
    const auto transform = gr::fft::fft_v<gr_complex, true>::make(n, std::vector<float>{}, false, 1);
    const auto carriers = gnuradio::get_initial_sptr(new Carriers());
    const auto decoder = gnuradio::get_initial_sptr(new Decoder());
    graph->connect(source, 0, delay, 0);
    graph->connect(delay, 0, conjugate, 0);
    graph->connect(source, 0, product, 0);
    graph->connect(conjugate, 0, product, 1);
    graph->connect(product, 0, correlation, 0);
    graph->connect(correlation, 0, strength, 0);
    graph->connect(source, 0, square, 0);
    graph->connect(square, 0, power, 0);
    graph->connect(strength, 0, quotient, 0);
    graph->connect(power, 0, quotient, 1);
    graph->connect(source, 0, symbols, 0);
    graph->connect(correlation, 0, symbols, 1);
    graph->connect(quotient, 0, symbols, 2);
    graph->connect(symbols, 0, transform, 0);
    graph->connect(transform, 0, carriers, 0);
    graph->connect(carriers, 0, decoder, 0);
    if (!latency) {
        graph->run();
        std::printf("%.4f %llu %llu\n",
                    static_cast<double>(last_frame_at - first_sample_at) / static_cast<double>(size * passes),
                    static_cast<unsigned long long>(frames_whole), static_cast<unsigned long long>(frames_damaged));
        return 0;
    }
    sent_at.resize(wanted);
    came_at.resize(wanted);
    graph->start(std::atoi(arguments[3]));
    const auto patience = Clock::now() + std::chrono::seconds(20);
    while (frames_whole + frames_damaged < wanted && Clock::now() < patience)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    graph->stop();
    graph->wait();
    if (frames_whole != wanted)
        return std::fprintf(stderr, "%llu frames came, of %zu\n", static_cast<unsigned long long>(frames_whole),
                            wanted),
               1;
    std::vector<double> times;
    for (std::size_t frame = 0; frame < wanted; ++frame)
        times.push_back(static_cast<double>(came_at[frame] - sent_at[frame]));
    std::sort(times.begin(), times.end());
    std::printf("%.1f\n", times[times.size() / 2]);
}
