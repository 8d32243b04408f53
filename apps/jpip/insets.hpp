// Picture in picture: one film in full size, and small pictures of others laid over it while they are wanted.
//
//     camera -> decode ----------------------------> Insert -> the program
//     camera -> decode at 1/4 ----(each picture) --/
//
// The film in the background sets the pace: at each of its frames Insert takes what has come of the pictures, about one
// frame each, and shows the newest of each film. Which frames met is not the same in every run, so Insert writes down
// what it showed.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <utility>
#include <vector>

#include "apps/jpip/jpip.hpp"

namespace penstock::apps::jpip {

/// What one screen shows.
struct Screen {
    std::uint64_t frame = 0;  ///< of the film in the background
    /// Numbers of the films in the pictures, and of their frames. Film k lies at place k of 4 x 4.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pictures;
};

/// Lays pictures over frames. Events "show" and "hide", each with the number of a film, say which; at first those in
/// `shown`.
struct Insert {
    Input<std::uint8_t> background{"background"};
    Input<std::uint8_t> picture{"picture", {.required = false}};
    Output<std::uint8_t> screen{"screen"};
    Insert() { shown_.set(); }
    explicit Insert(std::bitset<tiles> shown) : shown_{shown} {}
    void operator()();
    void on_event(const Event& event);

    /// What has been shown so far; for whoever has waited for the end of the run.
    const std::vector<Screen>& screens() const noexcept { return screens_; }

  private:
    void take(penstock::Buffer<std::uint8_t> picture);

    std::bitset<tiles> shown_;
    std::array<penstock::Buffer<std::uint8_t>, tiles> newest_;
    std::vector<Screen> screens_;
};

/// A film made small while it is decoded, as a group: camera and decoder.
struct SmallFilm {
    SmallFilm(GraphBuilder& graph, const Films* films, std::size_t film);
    Output<std::uint8_t>& small;

  private:
    SmallFilm(GraphBuilder& graph, Camera& camera, Decode& decode);
};

/// One thread: the screen that shows these frames, rows x 3 columns of a frame in full size. The film in the background
/// is number `behind`.
void draw(const Films& films, std::size_t behind, const Screen& shown, view<std::uint8_t, 2> result);

/// Runs film `behind` with pictures of the films in `shown`: result(f, ...) is the screen at its frame f. Returns what
/// was shown.
std::vector<Screen> insets(const Films& films, std::size_t behind, std::bitset<tiles> shown,
                           view<std::uint8_t, 3> result, Machine& machine, int copies);

}  // namespace penstock::apps::jpip
