// The filters of the receiver. The tag `user[0]` of a piece is the number of its frame. Those at the ends work in the
// program's memory, where they are given any, and else with files that their settings name.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "apps/ofdm/capture.hpp"
#include "apps/ofdm/decode.hpp"
#include "apps/ofdm/ofdm.hpp"
#include "apps/ofdm/samples.hpp"
#include "apps/ofdm/synchronise.hpp"
#include "apps/settings.hpp"
#include "penstock/filter.hpp"

namespace penstock::apps::ofdm {

/// Which format a filter works in.
struct SizeSetting {
    Setting<int> size{"size", 64, {.unit = "carriers", .least = 64, .most = 256}};
    const Format& format() const { return Format::of(static_cast<std::size_t>(size.get())); }
};

/// Samples from a file or a socket, or a made signal, in portions.
struct Read {
    Output<Sample> samples{"samples"};
    SizeSetting size;
    Setting<std::string> input{"input", ""}, format{"format", "auto"};
    Setting<int> portion{"portion", static_cast<int>(usual_portion), {.unit = "samples", .least = 1, .most = 1 << 24}};
    Setting<int> frames{"frames", 64, {.unit = "frames", .least = 1, .most = 1 << 20}};
    Setting<int> octets{"octets", 1000, {.unit = "octets", .least = 1, .most = static_cast<double>(longest_frame)}};
    Setting<int> rate{"rate", 54, {.unit = "Mbit/s", .least = 6, .most = 54}};
    Setting<std::int64_t> seed{"seed", 1, {.least = 0, .most = 4294967295.0}};

    Read() = default;
    explicit Read(const Problem* problem) : left_{problem->samples.data(), problem->count}, given_{true} {}
    void start() {
        if (given_) return;
        if (!input.get().empty()) {
            reader_ = std::make_shared<SampleReader>(input.get(), format.get());
        } else {
            made_ = std::make_shared<std::vector<Sample>>(
                made_signal(size.format(), {static_cast<std::size_t>(frames), static_cast<std::size_t>(octets), rate,
                                            static_cast<std::uint32_t>(seed.get())}));
            left_ = *made_;
        }
    }
    bool operator()() {
        const auto most = static_cast<std::size_t>(portion.get());
        if (reader_ == nullptr) {
            if (left_.empty()) return false;
            const auto part = left_.first(std::min(most, left_.size()));
            left_ = left_.subspan(part.size());
            samples.write(samples.wrap(part, made_));
            return true;
        }
        if (reader_->ended()) return false;
        auto buffer = samples.make(most);
        if (const std::size_t count = reader_->read(buffer.edit()); count > 0) {
            buffer.resize(count);
            samples.write(std::move(buffer));
        }
        return true;
    }

  private:
    std::span<const Sample> left_;
    bool given_ = false;
    std::shared_ptr<SampleReader> reader_;
    std::shared_ptr<std::vector<Sample>> made_;
};

struct Gain {
    Input<Sample> in{"in"};
    Output<Sample> out{"out"};
    Setting<double> gain{"gain", 1, {.least = -1e6, .most = 1e6}};

    void operator()() {
        auto buffer = in.read();
        const auto factor = static_cast<float>(gain.get());
        if (factor != 1)
            for (Sample& sample : buffer.edit()) sample *= factor;
        out.write(std::move(buffer));
    }
};

/// A radio channel (channel.hpp). Its settings may be changed while it works: the next portion goes through the new
/// channel.
struct Air {
    Input<Sample> in{"in"};
    Output<Sample> out{"out"};
    SizeSetting size;
    Setting<double> snr{"snr", 1000, {.unit = "dB", .least = -50, .most = 1000}};
    Setting<double> offset{"offset", 0, {.unit = "cycles a sample", .least = -0.5, .most = 0.5}};
    Setting<int> echoes{"echoes", 0, {.least = 0, .most = 64}};
    Setting<std::int64_t> seed{"seed", 1, {.least = 0, .most = 4294967295.0}};

    void operator()() {
        auto buffer = in.read();
        const bool clean = snr >= 1000 && offset == 0 && echoes == 0;
        if (!clean || channel_) {
            const ChannelModel model{1, offset, echoes, snr >= 1000 ? 0 : noise_for(size.format(), snr),
                                     static_cast<std::uint32_t>(seed.get())};
            if (channel_) channel_->change(model);
            else channel_.emplace(model);
            const auto values = buffer.edit();
            channel_->pass(values, values);
        }
        out.write(std::move(buffer));
    }

  private:
    std::optional<Channel> channel_;
};

/// What was sent over the air, into a file; `count`, at the end: how many samples.
struct Save {
    Input<Sample> samples{"samples"};
    Output<double> count{"count"};
    Setting<std::string> output{"output", "samples.cf32"}, format{"format", "auto"};

    void operator()() {
        const auto buffer = samples.read();
        all_.insert(all_.end(), buffer.span().begin(), buffer.span().end());
    }
    void finish() {
        write_samples(output, all_, format);
        auto found = count.make(1);
        found.edit()[0] = static_cast<double>(all_.size());
        count.write(std::move(found));
    }

  private:
    std::vector<Sample> all_;
};

/// The samples of a piece go beside it, where they are: most refer to the portion that they came in.
struct Synchronise {
    Input<Sample> samples{"samples"};
    Output<SamplePiece> pieces{"pieces"};
    Output<Sample> symbols{"symbols"};
    SizeSetting size;

    void operator()() {
        if (!synchroniser_) synchroniser_.emplace(size.format());
        const auto portion = std::make_shared<const penstock::Buffer<Sample>>(samples.read());
        synchroniser_->push(portion->span());
        for (;;) {
            if (!piece_) piece_ = pieces.make(1);
            SamplePiece& piece = piece_.edit()[0];
            const auto found = synchroniser_->next(piece);
            if (found.empty()) return;
            auto beside = within(found, portion->span()) ? symbols.wrap(found, portion) : copied(found);
            beside.edit_tags() =
                piece_.edit_tags() = {.sequence = given_++, .time = 0, .user = {piece.head.frame.number, 0}};
            pieces.write(std::move(piece_));
            symbols.write(std::move(beside));
        }
    }

  private:
    static bool within(std::span<const Sample> part, std::span<const Sample> all) noexcept {
        const std::less_equal<const Sample*> not_behind;
        return not_behind(all.data(), part.data()) && not_behind(part.data() + part.size(), all.data() + all.size());
    }
    penstock::Buffer<Sample> copied(std::span<const Sample> found) {
        auto buffer = symbols.make(found.size());
        std::ranges::copy(found, buffer.edit().begin());
        return buffer;
    }

    std::optional<Synchroniser> synchroniser_;
    penstock::Buffer<SamplePiece> piece_;
    std::uint64_t given_ = 0;
};

/// A stage in the format that the piece at hand says.
template <class Stage>
class StageFor {
  public:
    Stage& operator()(const FrameHead& frame) {
        if (!stage_ || size_ != frame.size) stage_.emplace(Format::of(size_ = frame.size));
        return *stage_;
    }

  private:
    std::optional<Stage> stage_;
    std::uint32_t size_ = 0;
};

struct Demodulate {
    static constexpr bool may_be_copied = true;
    Input<SamplePiece> pieces{"pieces"};
    Input<Sample> symbols{"symbols"};
    Output<SoftPiece> out{"out"};

    void operator()() {
        const auto piece = pieces.read();
        const auto samples = symbols.read();
        auto to = out.make(1);
        stage_(piece[0].head.frame).run(piece[0], samples.span(), to.edit()[0]);
        out.write(std::move(to));
    }

  private:
    StageFor<SoftDemodulator> stage_;
};

struct Decode {
    static constexpr bool may_be_copied = true;
    Input<SoftPiece> in{"in"};
    Output<Frame> out{"out"};

    void operator()() {
        const auto from = in.read();
        if (!frame_) frame_ = out.make(1);
        if (stage_(from[0].head.frame).run(from[0], frame_.edit()[0])) out.write(std::move(frame_));
    }

  private:
    StageFor<Decoder> stage_;
    penstock::Buffer<Frame> frame_;
};

/// Frames in their order, into a capture (.pcap) or the program's memory. `counts`, at the end: whole frames, damaged
/// ones.
struct Collect {
    Input<Frame> frames{"frames"};
    Output<double> counts{"counts"};
    Setting<std::string> output{"output", ""};
    Setting<bool> damaged{"damaged", false};  ///< into the capture, too
    Setting<double> rate{"samples-a-second", 20e6, {.unit = "1/s", .least = 1, .most = 1e12}};

    Collect() = default;
    explicit Collect(const Problem* problem) : problem_{problem} {}
    void start() {
        if (!output.get().empty()) capture_ = std::make_unique<Capture>(output, rate);
    }
    void operator()() {
        auto frame = frames.read();
        waiting_.emplace(frame[0].head.number, std::move(frame));
        for (auto next = waiting_.begin(); next != waiting_.end() && next->first == next_;
             next = waiting_.erase(next)) {
            take(next->second[0]);
            ++next_;
        }
    }
    void finish() {
        for (const auto& [number, frame] : waiting_) take(frame[0]);  // one before them was lost
        waiting_.clear();
        if (problem_ != nullptr) problem_->found[0] = whole_ + broken_;
        auto made = counts.make(2);
        made.edit()[0] = static_cast<double>(whole_);
        made.edit()[1] = static_cast<double>(broken_);
        counts.write(std::move(made));
        if (capture_) capture_->flush();
    }

  private:
    void take(const Frame& frame) {
        if (problem_ != nullptr && frame.head.number < problem_->frames.size()) {
            Frame& to = problem_->frames[frame.head.number];
            to.head = frame.head;
            to.whole = frame.whole;
            std::copy_n(frame.octets.begin(), frame.head.octets, to.octets.begin());
        }
        if (capture_ && (frame.whole || damaged)) capture_->add(frame);
        ++(frame.whole ? whole_ : broken_);
    }

    const Problem* problem_ = nullptr;
    std::unique_ptr<Capture> capture_;
    std::map<std::uint64_t, penstock::Buffer<Frame>> waiting_;
    std::uint64_t next_ = 0, whole_ = 0, broken_ = 0;
};

}  // namespace penstock::apps::ofdm
