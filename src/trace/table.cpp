#include <algorithm>
#include <penstock/detail/trace/export.hpp>
#include <vector>

#include "trace/text.hpp"

namespace penstock::trace {

namespace {

using Row = std::vector<std::string>;

constexpr std::size_t longest_name = 32;

Row heading(const Bar& bar) {
    Row row{bar.track.role == Role::initiator ? "initiator" : "target", "wall"};
    for (const Share& share : bar.shares) {
        row.emplace_back(word(share.part));
        row.emplace_back("%");
    }
    row.emplace_back(bar.track.role == Role::initiator ? "calls" : "tasks");
    return row;
}

Row line(const Bar& bar) {
    Row row{plain_text(bar.track.name, longest_name), (bar.scaled ? "~" : "") + duration(bar.wall_seconds)};
    for (const Share& share : bar.shares) {
        row.push_back(duration(share.seconds));
        row.push_back(fixed(share.percent, 1));
    }
    const bool initiator = bar.track.role == Role::initiator;
    row.push_back(std::to_string(initiator ? std::get<InitiatorTotals>(bar.totals).calls
                                           : std::get<TargetTotals>(bar.totals).tasks));
    return row;
}

std::string aligned(const std::vector<Row>& rows) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
    }
    std::string out;
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string gap(widths[i] - columns_of(row[i]), ' ');
            out += i == 0 ? row[i] + gap : "  " + gap + row[i];
        }
        out += '\n';
    }
    return out;
}

}  // namespace

std::string table(const Breakdown& breakdown) {
    std::string out;
    for (const Role role : {Role::initiator, Role::target}) {
        std::vector<Row> rows;
        for (const Bar& bar : breakdown.bars()) {
            if (bar.track.role != role) continue;
            if (rows.empty()) rows.push_back(heading(bar));
            rows.push_back(line(bar));
        }
        if (rows.empty()) continue;
        if (rows.size() > 2) rows.push_back(line(breakdown.all(role)));
        if (!out.empty()) out += '\n';
        out += aligned(rows);
    }
    return out.empty() ? "nothing was traced\n" : out;
}

}  // namespace penstock::trace
