// The filter classes that come with Penstock: enough to try an application, and the parts of tests.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <thread>
#include <tuple>

#include "penstock/components.hpp"

namespace penstock::language {
namespace {

struct Numbers {
    Output<double> out{"out"};
    Setting<std::int64_t> count{"count", 100, {.unit = "buffers", .least = 0}};
    Setting<std::int64_t> size{"size", 1, {.unit = "values", .least = 1, .most = 1 << 24}};
    Setting<double> first{"first", 0.0};
    Setting<double> step{"step", 1.0};
    Setting<double> pause{"pause", 0.0, {.unit = "s", .least = 0, .most = 3600}};
    std::int64_t made = 0;
    std::uint64_t value = 0;
    auto state() { return std::tie(made, value); }

    bool operator()() {
        if (made >= count) return false;
        if (pause > 0) std::this_thread::sleep_for(std::chrono::duration<double>(pause.get()));
        auto buffer = out.make(static_cast<std::size_t>(size.get()));
        for (double& each : buffer.edit()) each = first + step * static_cast<double>(value++);
        out.write(std::move(buffer));
        ++made;
        return true;
    }
};

struct Scale {
    static constexpr bool may_be_copied = true;
    Input<double> in{"in"};
    Output<double> out{"out"};
    Setting<double> factor{"factor", 2.0};
    void operator()() {
        auto buffer = in.read();
        for (double& value : buffer.edit()) value *= factor;
        out.write(std::move(buffer));
    }
};

struct Shift {
    static constexpr bool may_be_copied = true;
    Input<double> in{"in"};
    Output<double> out{"out"};
    Setting<double> offset{"offset", 1.0};
    void operator()() {
        auto buffer = in.read();
        for (double& value : buffer.edit()) value += offset;
        out.write(std::move(buffer));
    }
};

/// Sends an event for each buffer whose greatest value is greater than those of the buffers before.
struct Peaks {
    Input<double> in{"in"};
    Output<double> out{"out"};
    EventOutput<double> peak{"peak"};
    Setting<double> least{"least", 0.0, {.doc = "The height from which a peak counts."}};
    double highest = -std::numeric_limits<double>::infinity();
    auto state() { return std::tie(highest); }
    void operator()() {
        auto buffer = in.read();
        double most = highest;
        for (const double value : buffer.span()) most = std::max(most, value);
        if (most > highest && most >= least) peak.send(most);
        highest = most;
        out.write(std::move(buffer));
    }
};

struct PassOn {
    static constexpr bool may_be_copied = true;
    Input<double> in{"in"};
    Output<double> out{"out"};
    void operator()() { out.write(in.read()); }
};

struct Add {
    static constexpr bool may_be_copied = true;
    Input<double> a{"a"}, b{"b"};
    Output<double> sum{"sum"};
    void operator()() {
        auto left = a.read();
        const auto right = b.read();
        if (left.size() != right.size())
            throw UsageError("add: a buffer of " + std::to_string(left.size()) + " values met one of " +
                             std::to_string(right.size()));
        auto values = left.edit();
        for (std::size_t i = 0; i < values.size(); ++i) values[i] += right[i];
        sum.write(std::move(left));
    }
};

struct Neighbours {
    Input<double> in{"in"}, above{"above"}, below{"below"};
    Output<double> out{"out"};
    void operator()() {
        auto here = in.read();
        const auto up = above.read(), down = below.read();
        if (here.size() != up.size() || here.size() != down.size())
            throw UsageError("neighbours: the three buffers have different sizes");
        auto values = here.edit();
        for (std::size_t i = 0; i < values.size(); ++i) values[i] += up[i] + down[i];
        out.write(std::move(here));
    }
};

struct Round {
    static constexpr bool may_be_copied = true;
    Input<double> in{"in"};
    Output<std::int64_t> out{"out"};
    void operator()() {
        const auto from = in.read();
        auto to = out.make(from.size());
        // What no integer can be is the nearest one that can.
        std::transform(from.span().begin(), from.span().end(), to.edit().begin(), [](double value) {
            if (std::isnan(value)) return std::int64_t{0};
            return static_cast<std::int64_t>(std::llround(std::clamp(value, -9.2e18, 9.2e18)));
        });
        out.write(std::move(to));
    }
};

template <class T>
void write_one(Output<T>& out, T value) {
    auto buffer = out.make(1);
    buffer.edit()[0] = value;
    out.write(std::move(buffer));
}

struct Sum {
    Input<double> in{"in"};
    Output<double> out{"out"};
    double sum = 0;
    auto state() { return std::tie(sum); }
    void operator()() {
        const auto buffer = in.read();
        for (const double value : buffer.span()) sum += value;
    }
    void finish() { write_one(out, sum); }
};

struct Count {
    Input<double> in{"in"};
    Output<std::int64_t> out{"out"};
    std::int64_t buffers = 0;
    auto state() { return std::tie(buffers); }
    void operator()() {
        (void)in.read();
        ++buffers;
    }
    void finish() { write_one(out, buffers); }
};

/// `text` with a value behind it, a line each.
template <class T>
struct Print {
    Input<T> in{"in"};
    Setting<std::string> label{"label", ""};
    void operator()() {
        const auto buffer = in.read();
        for (const T value : buffer.span()) {
            if constexpr (std::is_integral_v<T>)
                std::printf("%s%lld\n", label.get().c_str(), static_cast<long long>(value));
            else std::printf("%s%.17g\n", label.get().c_str(), value);
        }
    }
    void finish() { std::fflush(stdout); }
};

}  // namespace
}  // namespace penstock::language

namespace penstock {

Components Components::builtin() {
    using namespace language;
    Components components;
    components.add<Numbers>(
        "numbers",
        "Writes `count` buffers of `size` values: first, first + step, ...; sleeps for `pause` before each.");
    components.add<Scale>("scale", "Multiplies each value by `factor`.");
    components.add<Shift>("shift", "Adds `offset` to each value.");
    components.add<Peaks>("peaks", "Passes buffers on, and sends the event `peak` whenever a value is a new maximum.");
    components.add<PassOn>("pass", "Passes buffers on as they are.");
    components.add<Add>("add", "Adds two buffers of the same size, value by value.");
    components.add<Neighbours>(
        "neighbours", "Adds three buffers of the same size, value by value: its own slice and the two beside it.");
    components.add<Round>("round", "The nearest integer to each value.");
    components.add<Sum>("sum", "Adds all values of all buffers, and writes the sum at the end.");
    components.add<Count>("count", "Counts buffers, and writes their number at the end.");
    components.add<Print<double>>("print", "Prints each value on a line of its own, behind `label`.");
    components.add<Print<std::int64_t>>("print-integers", "Prints each integer on a line of its own, behind `label`.");
    return components;
}

}  // namespace penstock
