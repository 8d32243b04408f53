// Both algorithms as graphs of filters. They share the filters at their ends, and differ in the group between them:
//
//     Pictures -> [ by turned kernels:  Filter                         ] -> Strongest -> the program
//     Pictures -> [ by turned pictures: TurnThere -> Respond -> TurnBack ] -> Strongest -> the program
//
// What travels is one picture for one angle; tags.user says which. The filters of the groups run in copies that overtake one
// another: the greatest of all angles is the same in any order, so the bits are too.
#pragma once

#include <cstddef>
#include <vector>

#include "apps/edge/edge.hpp"
#include "penstock/graph.hpp"

namespace penstock::apps::edge {

/// Number of the picture in tags.user[0], of the angle in tags.user[1].
enum Tag : std::size_t { picture_tag = 0, angle_tag = 1 };

/// The source: each picture once for each angle.
struct Pictures {
    Output<float> picture{"picture"};
    Pictures(view<const float, 3> pictures, std::size_t angles) : pictures_{pictures}, angles_{angles} {}
    bool operator()();

  private:
    view<const float, 3> pictures_;
    std::size_t angles_, next_ = 0;
};

/// Edge-2D at the angle that comes with the picture.
struct Filter {
    static constexpr bool may_be_copied = true;
    Input<float> picture{"picture"};
    Output<float> response{"response"};
    explicit Filter(std::size_t angles) : detect_{Algorithm::dense, angles} {}
    void operator()();

  private:
    Detector detect_;
};

/// The picture turned by its angle, on a canvas that holds it.
struct TurnThere {
    static constexpr bool may_be_copied = true;
    Input<float> picture{"picture"};
    Output<float> canvas{"canvas"};
    explicit TurnThere(std::size_t angles) : angles_{angles} {}
    void operator()();

  private:
    std::size_t angles_;
};

/// The strongest of the 16 responses of a canvas.
struct Respond {
    static constexpr bool may_be_copied = true;
    Input<float> canvas{"canvas"};
    Output<float> response{"response"};
    void operator()();

  private:
    Separable separable_;
    std::vector<float> smooth_, memory_;
};

/// The response turned back, as large as the picture was.
struct TurnBack {
    static constexpr bool may_be_copied = true;
    Input<float> canvas{"canvas"};
    Output<float> response{"response"};
    TurnBack(std::size_t rows, std::size_t columns, std::size_t angles) : rows_{rows}, columns_{columns}, angles_{angles} {}
    void operator()();

  private:
    std::size_t rows_, columns_, angles_;
};

/// The strongest of all angles, as soon as the last one of a picture has come.
struct Strongest {
    Input<float> response{"response"};
    Output<float> edges{"edges"};
    Strongest(std::size_t pictures, std::size_t angles) : angles_{angles}, best_(pictures) {}
    void operator()();

  private:
    struct Best {
        penstock::Buffer<float> edges;  // not apps::Buffer
        std::size_t angles = 0;
    };
    std::size_t angles_;
    std::vector<Best> best_;
};

/// How many copies of each filter between the ends, and on which targets (none: whichever is free).
struct Placement {
    int copies = 1;
    std::vector<int> targets{};
};

/// The groups. Both have the same ports.
struct ByTurnedKernels {
    ByTurnedKernels(GraphBuilder& graph, std::size_t angles, const Placement& placement);
    Input<float>& picture;
    Output<float>& response;

  private:
    explicit ByTurnedKernels(Filter& filter);
};
struct ByTurnedPictures {
    ByTurnedPictures(GraphBuilder& graph, std::size_t rows, std::size_t columns, std::size_t angles, const Placement& placement);
    Input<float>& picture;
    Output<float>& response;

  private:
    ByTurnedPictures(GraphBuilder& graph, TurnThere& there, Respond& respond, TurnBack& back);
};

/// The result of serial(), bit for bit, by a graph on the machine's targets and the caller. Returns when all is done: the
/// seconds without those in which the graph was described.
double streams(Algorithm algorithm, view<const float, 3> pictures, view<float, 3> result, std::size_t angles, Machine& machine,
               const Placement& placement);

}  // namespace penstock::apps::edge
