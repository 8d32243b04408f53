#include "harness/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

namespace bench {
namespace {

constexpr double chart_width = 420, chart_height = 320, left = 64, top = 64, gap = 72, below = 84;
constexpr std::array<const char*, 7> colours{"#2f6fb5", "#c97a10", "#237a5e", "#c23b3b",
                                             "#7a4fb0", "#6b7280", "#a3477f"};

constexpr const char* style =
    "<style>text{font:12px "
    "system-ui,sans-serif;fill:#1f2328}.paper{fill:#ffffff}.grid{stroke:#d0d7de}.title{font-size:15px;"
    "font-weight:600}@media "
    "(prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#0d1117}.grid{stroke:#30363d}}</style>\n";

struct Axis {
    double low = std::numeric_limits<double>::max(), high = 0;
    void take(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
    double place(double value) const { return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low)); }
};

std::string escaped(const std::string& text) {
    std::string result;
    for (const char letter : text) result += letter == '&' ? "&amp;" : letter == '<' ? "&lt;" : std::string(1, letter);
    return result;
}

template <class... Numbers>
std::string format(const char* pattern, Numbers... numbers) {
    char text[256];
    std::snprintf(text, sizeof text, pattern, numbers...);
    return text;
}

std::string in_bytes(double bytes) {
    if (bytes >= 1 << 20) return format("%.0f MiB", bytes / (1 << 20));
    return bytes >= 1024 ? format("%.0f KiB", bytes / 1024) : format("%.0f B", bytes);
}

std::string in_time(double ns) {
    if (ns >= 1e6) return format("%g ms", ns / 1e6);
    return ns >= 1e3 ? format("%g us", ns / 1e3) : format("%g ns", ns);
}

std::string in_unit(Plot::Unit unit, double value) {
    if (unit == Plot::Unit::times) return format("%g", value);
    return unit == Plot::Unit::bytes ? in_bytes(value) : in_time(value);
}

}  // namespace

std::string Plot::svg(const std::string& ring) const {
    Axis x, y;
    for (const auto& chart : charts_)
        for (const auto& series : chart.series)
            for (const auto& point : series.points) {
                x.take(point.x);
                y.take(point.y);
            }
    y.low = std::pow(10, std::floor(std::log10(y.low)));
    y.high = std::pow(10, std::ceil(std::log10(y.high)));
    const double width = left + static_cast<double>(charts_.size()) * (chart_width + gap),
                 height = top + chart_height + below;
    std::string out =
        format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\">\n", width, height) + style;
    out += format("<rect class=\"paper\" width=\"%.0f\" height=\"%.0f\"/>\n", width, height);
    out += format("<text class=\"title\" x=\"%.0f\" y=\"24\">", left) + escaped(title_) + "</text>\n";

    for (std::size_t c = 0; c < charts_.size(); ++c) {
        const double begin = left + static_cast<double>(c) * (chart_width + gap);
        const auto at_x = [&](double value) { return begin + x.place(value) * chart_width; };
        const auto at_y = [&](double value) { return top + (1 - y.place(value)) * chart_height; };
        out += format("<text x=\"%.1f\" y=\"%.1f\">", begin, top - 14) + escaped(charts_[c].title) + "</text>\n";
        for (double value = x.low; value <= x.high * 1.001; value *= of_x_ == Unit::bytes ? 8 : 10) {
            out += format("<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>", at_x(value), top, top + chart_height);
            out += format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", at_x(value), top + chart_height + 18) +
                   in_unit(of_x_, value) + "</text>\n";
        }
        for (double value = y.low; value <= y.high * 1.001; value *= 10) {
            out += format("<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", begin, at_y(value), begin + chart_width);
            out += format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", begin - 6, at_y(value) + 4) +
                   in_unit(of_y_, value) + "</text>\n";
        }
        for (std::size_t s = 0; s < charts_[c].series.size(); ++s) {
            const auto& series = charts_[c].series[s];
            const char* const colour = colours[s % colours.size()];
            std::string path;
            for (const auto& point : series.points)
                path += format(path.empty() ? "M%.1f %.1f" : "L%.1f %.1f", at_x(point.x), at_y(point.y));
            out += "<path fill=\"none\" stroke-width=\"1.6\" stroke=\"" + std::string(colour) + "\" d=\"" + path +
                   "\"/>\n";
            for (const auto& point : series.points) {
                out += format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"%s\"/>", at_x(point.x), at_y(point.y),
                              colour);
                if (point.ringed)
                    out += format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"6\" fill=\"none\" stroke=\"%s\"/>",
                                  at_x(point.x), at_y(point.y), colour);
            }
        }
        out += format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", begin + chart_width / 2,
                      top + chart_height + 38) +
               escaped(x_) + "</text>\n";
    }
    out += format("<text x=\"%.0f\" y=\"44\">", left) + escaped(y_) + "; " + escaped(ring) + "</text>\n";
    double at = left;
    for (std::size_t s = 0; !charts_.empty() && s < charts_.front().series.size(); ++s) {
        const auto& name = charts_.front().series[s].name;
        out += format("<rect x=\"%.0f\" y=\"%.0f\" width=\"14\" height=\"4\" fill=\"%s\"/>", at, height - 24,
                      colours[s % colours.size()]);
        out += format("<text x=\"%.0f\" y=\"%.0f\">", at + 20, height - 18) + escaped(name) + "</text>\n";
        at += 36 + 7.5 * static_cast<double>(name.size());
    }
    return out + "</svg>\n";
}

}  // namespace bench
