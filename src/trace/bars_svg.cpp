// The breakdown as a picture. Colours have one meaning in both kinds of bar: blue the application, green the bodies of
// tasks, orange what Penstock costs, red full queues, grey nothing to do.
#include <array>
#include <penstock/trace.hpp>

#include "trace/text.hpp"

namespace penstock::trace {

namespace {

constexpr int width = 900, margin = 16, name_width = 170, wall_width = 80;
constexpr int bar_left = margin + name_width, bar_width = width - bar_left - wall_width - margin;
constexpr int row_height = 28, bar_height = 20, legend_height = 22;
constexpr double smallest_label = 5.0;  // percent; below this a label does not fit its part

// Every fill stands out from both backgrounds by 3:1 or more, and every label from its fill by 4.5:1 or more.
constexpr const char* style =
    "<style>"
    ".penstock-bars{font:13px system-ui,sans-serif;color-scheme:light dark}"
    ".penstock-bars .paper{fill:#ffffff}.penstock-bars .ink{fill:#1f2328}.penstock-bars .faint{fill:#59636e}"
    ".penstock-bars .part{stroke:#ffffff;stroke-width:1}"
    ".penstock-bars .label{font-size:11px;text-anchor:middle}.penstock-bars .title{font-size:16px;font-weight:600}"
    ".penstock-bars .on-dark{fill:#ffffff}.penstock-bars .on-light{fill:#000000}"
    "@media (prefers-color-scheme:dark){.penstock-bars .paper{fill:#0d1117}.penstock-bars .ink{fill:#e6edf3}"
    ".penstock-bars .faint{fill:#9198a1}.penstock-bars .part{stroke:#0d1117}}"
    "</style>\n";

struct Look {
    const char* fill;
    const char* label;  // class of the text on it
};

constexpr std::array<Look, 9> looks{{{"#2f6fb5", "on-dark"},     // application
                                     {"#c97a10", "on-light"},    // runtime
                                     {"#c23b3b", "on-dark"},     // queue stall
                                     {"#8a8f98", "on-light"},    // wait
                                     {"#237a5e", "on-dark"},     // helping
                                     {"#237a5e", "on-dark"},     // compute
                                     {"#7a5cc2", "on-dark"},     // transfer
                                     {"#c97a10", "on-light"},    // library
                                     {"#8a8f98", "on-light"}}};  // idle

Look look(Part part) noexcept { return looks[static_cast<std::size_t>(part)]; }

std::string text(const char* classes, double x, double y, const std::string& content, const char* more = "") {
    return std::string("<text class=\"") + classes + "\" x=\"" + fixed(x, 1) + "\" y=\"" + fixed(y, 1) + "\"" + more +
           ">" + content + "</text>\n";
}

std::string rectangle(Part part, double x, double y, double w, double h, const std::string& tooltip) {
    return "<rect class=\"part\" x=\"" + fixed(x, 2) + "\" y=\"" + fixed(y, 1) + "\" width=\"" + fixed(w, 2) +
           "\" height=\"" + fixed(h, 1) + "\" fill=\"" + look(part).fill + "\"><title>" + tooltip + "</title></rect>\n";
}

std::string bar_row(const Bar& bar, double y) {
    const double middle = y + bar_height / 2.0 + 4.5;
    std::string out = "<g><title>" + xml_text(bar.track.name) + "</title>\n";
    out += text("ink", margin, middle, xml_text(plain_text(bar.track.name, 22)));
    double x = bar_left;
    for (const Share& share : bar.shares) {
        if (share.ticks == 0) continue;
        const double w = share.percent / 100.0 * bar_width;
        const std::string part(word(share.part));
        out += rectangle(share.part, x, y, w, bar_height,
                         part + ": " + duration(share.seconds) + ", " + fixed(share.percent, 1) + " %");
        if (share.percent >= smallest_label) {
            const std::string classes = std::string("label ") + look(share.part).label;
            out += text(classes.c_str(), x + w / 2, middle - 0.5, fixed(share.percent, 0) + " %");
        }
        x += w;
    }
    out += text("faint", width - margin, middle, (bar.scaled ? "~" : "") + duration(bar.wall_seconds),
                " text-anchor=\"end\"");
    return out + "</g>\n";
}

/// The heading of one kind of bar with what its colours mean.
std::string legend(const Bar& bar, double y) {
    std::string out = text("faint", margin, y + 11, bar.track.role == Role::initiator ? "initiators" : "targets");
    double x = bar_left;
    for (const Share& share : bar.shares) {
        const std::string part(word(share.part));
        out += rectangle(share.part, x, y, 12, 12, part);
        out += text("ink", x + 17, y + 11, part);
        x += 17 + 7.2 * static_cast<double>(part.size()) + 16;  // 7.2: width of a letter, with room to spare
    }
    return out;
}

}  // namespace

std::string bars_svg(const Breakdown& breakdown, const std::string& title) {
    std::string body = text("ink title", margin, 30, xml_text(title));
    double y = 46;
    for (const Role role : {Role::initiator, Role::target}) {
        bool first = true;
        for (const Bar& bar : breakdown.bars()) {
            if (bar.track.role != role) continue;
            if (std::exchange(first, false)) {
                body += legend(bar, y);
                y += legend_height;
            }
            body += bar_row(bar, y);
            y += row_height;
        }
        if (!first) y += 10;
    }
    if (breakdown.bars().empty()) {
        body += text("faint", margin, y + 11, "nothing was traced");
        y += row_height;
    }
    const std::string height = fixed(y + 6, 0);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"penstock-bars\" role=\"img\" width=\"" +
           std::to_string(width) + "\" height=\"" + height + "\" viewBox=\"0 0 " + std::to_string(width) + " " +
           height + "\">\n<title>" + xml_text(title) + "</title>\n" + style +
           "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n" + body + "</svg>\n";
}

}  // namespace penstock::trace
