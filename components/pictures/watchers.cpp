// Filters that look at a film: what moves in it, and when.
#include <algorithm>
#include <cmath>
#include <vector>

#include "components/classes.hpp"
#include "components/picture.hpp"
#include "penstock/components.hpp"

namespace penstock::components {
namespace {

struct Moving {
    Input<std::uint8_t> picture{"picture"};
    Output<std::uint8_t> mask{"mask"};
    Setting<int> threshold{
        "threshold",
        20,
        {.least = 1, .most = 255, .doc = "White where a channel differs by more from the background."}};
    Setting<double> rate{
        "rate",
        0.05,
        {.least = 0,
         .most = 1,
         .doc = "How much of each picture goes into the background, which is the mean of those before."}};

    void operator()() {
        const auto read = picture.read();
        const auto shape = shape_of(read);
        const auto values = read.span();
        auto made = make_picture(mask, {shape.rows, shape.columns, 1});
        const auto to = made.edit();
        if (background_.size() != values.size()) background_.assign(values.begin(), values.end());
        const auto most = static_cast<float>(threshold.get()), part = static_cast<float>(rate.get());
        for (std::size_t i = 0, at = 0; i < to.size(); ++i) {
            bool moves = false;
            for (std::size_t c = 0; c < shape.channels; ++c, ++at) {
                const float apart = static_cast<float>(values[at]) - background_[at];
                moves = moves || std::abs(apart) > most;
                background_[at] += part * apart;
            }
            to[i] = moves ? 255 : 0;
        }
        mask.write(std::move(made));
    }

  private:
    std::vector<float> background_;
};

/// Tells when the pictures of a stream begin and cease to differ from one another.
struct Motion {
    Input<std::uint8_t> picture{"picture"};
    EventOutput<double> began{"began"};
    EventOutput<double> ended{"ended"};
    Setting<int> threshold{"threshold",
                           20,
                           {.least = 1,
                            .most = 255,
                            .doc = "A pixel has changed when a channel differs by more from the picture before."}};
    Setting<double> least{
        "least",
        0.01,
        {.least = 0,
         .most = 1,
         .doc = "The share of the pixels that must have changed for a motion to begin; it ends below half of that."}};
    Setting<int> quiet{"quiet",
                       3,
                       {.unit = "pictures",
                        .least = 1,
                        .most = 1 << 20,
                        .doc = "So many in a row must be still before a motion has ended."}};

    void operator()() {
        auto read = picture.read();
        const auto shape = shape_of(read);
        if (before_ && shape_of(before_) == shape) {
            const auto now = read.span(), then = before_.span();
            std::size_t changed = 0;
            for (std::size_t i = 0, at = 0; i < shape.pixels(); ++i) {
                bool moves = false;
                for (std::size_t c = 0; c < shape.channels; ++c, ++at)
                    moves = moves || std::abs(static_cast<int>(now[at]) - static_cast<int>(then[at])) > threshold;
                changed += moves ? 1 : 0;
            }
            judge(static_cast<double>(changed) / std::max<double>(1, static_cast<double>(shape.pixels())));
        }
        before_ = std::move(read);
    }

  private:
    void judge(double share) {
        still_ = share < least / 2 ? still_ + 1 : 0;
        if (!moves_ && share >= least && share > 0) {
            moves_ = true;
            began.send(share);
        } else if (moves_ && still_ >= quiet) {
            moves_ = false;
            ended.send(share);
        }
    }
    Buffer<std::uint8_t> before_;
    bool moves_ = false;
    int still_ = 0;
};

/// Pictures whose value is large or small enough.
struct KeepIf {
    Input<std::uint8_t> picture{"picture"};
    Input<double> value{"value"};
    Output<std::uint8_t> kept{"kept"};
    Setting<double> least{"least", 0, {.doc = "Of the value, for a picture to be passed on."}};
    Setting<double> most{"most", 1e300};
    void operator()() {
        auto read = picture.read();
        const auto figure = value.read();
        if (!figure.empty() && figure[0] >= least && figure[0] <= most) kept.write(std::move(read));
    }
};

}  // namespace

void add_watchers(Components& components) {
    components.add<Moving>("moving", "White where a film differs from its background: what moves.");
    components.add<Motion>(
        "motion",
        "Sends events when motion begins and ends in a film, each with the share of the pixels that changed.");
    components.add<KeepIf>("keep-if",
                           "Passes on the pictures whose value lies between two limits, and drops the others.");
}

}  // namespace penstock::components
