// A picture of figures over sizes: lines between points, both axes logarithmic, as SVG.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bench {

/// One line of a chart, with a mark at each point; a `ringed` point is told apart.
struct Series {
    struct Point {
        double x = 0;
        double y = 0;
        bool ringed = false;
    };
    std::string name;
    std::vector<Point> points;
};

/// Charts beside one another, over the same axes, with one legend.
class Plot {
  public:
    /// What an axis counts: bytes, ns, or how many times.
    enum class Unit { bytes, time, times };
    Plot(std::string title, std::string x, std::string y, Unit of_x = Unit::bytes, Unit of_y = Unit::time)
        : title_(std::move(title)), x_(std::move(x)), y_(std::move(y)), of_x_(of_x), of_y_(of_y) {}

    void chart(std::string title, std::vector<Series> series) {
        charts_.push_back({std::move(title), std::move(series)});
    }
    /// `ring`: what a ringed point means.
    std::string svg(const std::string& ring) const;

  private:
    struct Chart {
        std::string title;
        std::vector<Series> series;
    };
    std::string title_, x_, y_;
    Unit of_x_, of_y_;
    std::vector<Chart> charts_;
};

}  // namespace bench
