// What a rank has measured, carried to the program that reports it: rank 0 may be a process of its own.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/report.hpp"
#include "penstock/detail/machine/memory.hpp"

namespace bench {

/// Rows, intervals and the conditions of the worst run. Made by the program before it starts any ranks.
class Carried {
  public:
    Carried()
        : memory_(penstock::SharedMemory::create("figures", sizeof(Content))), content_(new(memory_.data()) Content{}) {
    }

    void row(const std::string& name, const Report::Figures& figures) {
        Row& next = content_->rows.at(content_->row_count++);
        write(next.name, name);
        for (const auto& [column, value] : figures) {
            Figure& figure = next.figures.at(next.count++);
            write(figure.column, column);
            figure.value = value;
        }
    }
    /// The usual rows of a result, each over the first contestant.
    void rows(const std::string& prefix, const Result& result) {
        for (const auto& name : result.names()) {
            const auto over = result.ratio(name, result.names().front()).usual;
            row(prefix + name, {{"median_ns", result.median(name)},
                                {"over_" + result.names().front(), over.value},
                                {"low", over.low},
                                {"high", over.high}});
        }
        conditions(result);
    }
    void conditions(const Result& result) { content_->conditions.add(Report::Conditions::of(result)); }
    /// Keeps all that is given under this number (0 to 7): the goal is judged by each.
    void goal(std::size_t number, const Ratio& found) {
        auto& kept = content_->goals.at(number);
        for (const auto& one : found.standings) kept.all.at(kept.count++) = one;
    }
    std::optional<Ratio> goal(std::size_t number) const {
        const auto& kept = content_->goals.at(number);
        if (kept.count == 0) return std::nullopt;
        return Ratio{
            std::vector<Ratio::Of>(kept.all.begin(), kept.all.begin() + static_cast<std::ptrdiff_t>(kept.count))};
    }

    /// The first figure of the row of this name.
    std::optional<double> median(const std::string& name) const {
        for (std::size_t i = 0; i < content_->row_count; ++i)
            if (name == content_->rows[i].name.data()) return content_->rows[i].figures[0].value;
        return std::nullopt;
    }

    /// A sign on the row of this name.
    void mark(const std::string& name) {
        for (std::size_t i = 0; i < content_->row_count; ++i)
            if (name == content_->rows[i].name.data()) content_->rows[i].marked = true;
    }
    bool marked(const std::string& name) const {
        for (std::size_t i = 0; i < content_->row_count; ++i)
            if (name == content_->rows[i].name.data()) return content_->rows[i].marked;
        return false;
    }

    /// Everything but the goals, in the order in which it was measured.
    void hand_over(Report& report) const {
        for (std::size_t i = 0; i < content_->row_count; ++i) {
            const Row& row = content_->rows[i];
            Report::Figures figures;
            for (std::size_t k = 0; k < row.count; ++k)
                figures.emplace_back(row.figures[k].column.data(), row.figures[k].value);
            report.row(row.name.data(), std::move(figures));
        }
        report.conditions(content_->conditions);
    }

  private:
    struct Figure {
        std::array<char, 24> column;
        double value;
    };
    struct Row {
        std::array<char, 104> name;
        std::size_t count;
        bool marked;
        std::array<Figure, 6> figures;
    };
    struct Goal {
        std::size_t count;
        std::array<Ratio::Of, 512> all;
    };
    struct Content {
        std::size_t row_count;
        Report::Conditions conditions;
        std::array<Goal, 8> goals;
        std::array<Row, 1024> rows;
    };

    template <std::size_t n>
    static void write(std::array<char, n>& into, const std::string& text) {
        if (text.size() >= n) throw std::length_error("'" + text + "' is too long for a report's row");
        text.copy(into.data(), n - 1);
    }

    penstock::SharedMemory memory_;
    Content* content_;
};

}  // namespace bench
