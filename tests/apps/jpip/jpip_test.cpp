#include "apps/jpip/jpip.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "apps/jpeg.hpp"
#include "penstock/machine.hpp"
#include "penstock/stream_error.hpp"
#include "tests/fetched_ahead.hpp"

namespace {

using penstock::Machine;
using penstock::view;
namespace jpip = penstock::apps::jpip;
using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t rows = 37, columns = 50, frames = 5;

const jpip::Films& films() {
    static const jpip::Films made = [] {
        const Bytes photograph = jpip::generated_photograph(60, 70, 2);
        return jpip::make_films(jpip::tiles, {rows, columns, frames, 4}, {photograph.data(), {60, 70 * 3}});
    }();
    return made;
}

view<std::uint8_t, 3> into(Bytes& result) {
    const auto mosaic = jpip::mosaic_of({rows, columns});
    result.assign(frames * mosaic.rows * mosaic.columns * 3, 0);
    return {result.data(), {frames, mosaic.rows, mosaic.columns * 3}};
}

// divisor, targets, copies
using Way = std::tuple<int, int, int>;
class Jpip : public testing::TestWithParam<Way> {};

TEST_P(Jpip, mosaics_have_the_bits_of_the_serial_program_for_every_number_of_copies_and_targets) {
    const auto [divisor, targets, copies] = GetParam();
    Machine machine{{.targets = targets}};
    Bytes serially, streamed;
    jpip::serial(films(), divisor, into(serially));
    jpip::streams(films(), divisor, into(streamed), machine, copies);
    EXPECT_EQ(streamed, serially);
}

INSTANTIATE_TEST_SUITE_P(ways, Jpip, testing::Values(Way{1, 1, 1}, Way{1, 2, 3}, Way{2, 3, 2}, Way{4, 2, 4}));

TEST(JpipJobs, are_chains_whose_pictures_are_fetched_ahead) {
    Machine machine{{.targets = 1, .prefetch = penstock::Prefetch::always}};
    Bytes mosaics;
    const auto into_mosaics = into(mosaics);
    const auto work = [&] {  // often: small as it is, the thread that waits may run all of it
        for (int i = 0; i < 30; ++i) jpip::streams(films(), 2, into_mosaics, machine, 1);
    };
    EXPECT_GT(penstock::tests::fetched_ahead(machine, work), 0u);
    EXPECT_GT(penstock::tests::chains(machine, work), 0u);
}

TEST(JpipJobs, refuse_films_of_different_sizes) {
    const Bytes photograph = jpip::generated_photograph(60, 70, 2);
    const auto others =
        jpip::make_films(jpip::tiles, {rows + 8, columns, frames, 4}, {photograph.data(), {60, 70 * 3}});
    jpip::Films mixed;
    mixed.count = jpip::tiles, mixed.frames = frames;
    for (std::size_t film = 0; film < jpip::tiles; ++film)
        for (std::size_t frame = 0; frame < frames; ++frame) {
            const auto file = (film == 7 ? others : films()).file(film, frame);
            mixed.jpeg.insert(mixed.jpeg.end(), file.begin(), file.end());
            mixed.ends.push_back(static_cast<std::uint32_t>(mixed.jpeg.size()));
        }
    Machine machine{{.targets = 2}};
    Bytes result;
    try {
        jpip::streams(mixed, 1, into(result), machine, 1);
        FAIL() << "made a mosaic of films of different sizes";
    } catch (const penstock::FilterFailed& failure) {
        EXPECT_NE(std::string(failure.what()).find("decoded to 45 x 50"), std::string::npos) << failure.what();
    }
}

TEST(JpegDecoder, gives_a_picture_in_pieces_and_can_leave_off) {
    const auto file = films().file(3, 1);
    penstock::apps::JpegDecoder decoder;
    Bytes whole(rows * columns * 3), pieces(whole.size());
    decoder.decode(file, {whole.data(), {rows, columns * 3}});
    EXPECT_EQ(decoder.begin(file), (penstock::apps::PictureSize{rows, columns}));
    decoder.next_rows({pieces.data(), {10, columns * 3}});
    EXPECT_EQ(decoder.begin(file), (penstock::apps::PictureSize{rows, columns}));  // from the beginning
    for (const auto [first, count] : {std::pair{0, 20}, {20, 1}, {21, 16}})
        decoder.next_rows(
            {pieces.data() + first * static_cast<int>(columns) * 3, {static_cast<std::size_t>(count), columns * 3}});
    EXPECT_EQ(pieces, whole);
    EXPECT_THROW(decoder.next_rows({pieces.data(), {1, columns * 3}}), penstock::UsageError);
    EXPECT_THROW(decoder.decode(file.first(file.size() / 2), {whole.data(), {rows, columns * 3}}),
                 penstock::apps::JpegError);
    decoder.decode(file, {pieces.data(), {rows, columns * 3}});
    EXPECT_EQ(pieces, whole);
}

TEST(JpipFrames, are_laid_side_by_side_in_the_order_of_the_films) {
    Bytes mosaics;
    const auto result = into(mosaics);
    jpip::serial(films(), 1, result);
    penstock::apps::JpegDecoder decoder;
    Bytes memory(rows * columns * 3);
    for (const std::size_t film : {0u, 3u, 4u, 15u}) {
        decoder.decode(films().file(film, 2), {memory.data(), {rows, columns * 3}});
        unsigned sum = 8;  // half of what it is divided by
        for (std::size_t i = 4; i < 8; ++i)
            for (std::size_t j = 12; j < 16; ++j) sum += memory[i * columns * 3 + 3 * j + 1];
        EXPECT_EQ(result(2, film / 4 * 10 + 1, film % 4 * 13 * 3 + 3 * 3 + 1), sum / 16) << "film " << film;
    }
}

TEST(JpipFilms, move_and_differ) {
    Bytes first, second;
    for (std::size_t film = 0; film < jpip::tiles; ++film) {
        const auto now = films().file(film, 0), next = films().file(film, 1);
        first.assign(now.begin(), now.end());
        second.assign(next.begin(), next.end());
        const auto other = films().file((film + 1) % jpip::tiles, 0);
        EXPECT_NE(first, Bytes(other.begin(), other.end())) << "film " << film;
    }
    EXPECT_NE(first, second);
    EXPECT_EQ(penstock::apps::JpegDecoder().size(films().file(7, 3)), (penstock::apps::PictureSize{rows, columns}));
}

TEST(JpipFilms, are_files_that_can_be_read_again) {
    const auto folder = std::filesystem::path(testing::TempDir()) / ("penstock-films-" + std::to_string(::getpid()));
    jpip::save(films(), folder);
    EXPECT_EQ(jpip::load(folder, jpip::tiles, frames), films());
    std::filesystem::remove(folder / "film-15-frame-004.jpg");
    EXPECT_THROW(jpip::load(folder, jpip::tiles, frames), std::runtime_error);
    std::filesystem::remove_all(folder);
    try {
        jpip::load(folder, 1, 1);
        FAIL() << "read a file that is not there";
    } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string(error.what()).find("film-00-frame-000.jpg"), std::string::npos) << error.what();
    }
}

TEST(Jpip, a_file_that_breaks_off_ends_the_run_with_the_name_of_the_filter_that_could_not_read_it) {
    jpip::Films damaged = films();
    const auto file = damaged.file(9, 3);
    const auto begin = static_cast<std::size_t>(file.data() - damaged.jpeg.data());
    for (std::size_t i = begin; i < begin + file.size(); ++i) damaged.jpeg[i] = 0;
    Machine machine{{.targets = 2}};
    Bytes result;
    try {
        jpip::streams(damaged, 1, into(result), machine, 3);
        FAIL() << "decoded zeros";
    } catch (const penstock::FilterFailed& failure) {
        EXPECT_EQ(failure.filter(), "decode");
        EXPECT_THROW(std::rethrow_exception(failure.cause()), penstock::apps::JpegError);
    }
    EXPECT_THROW(jpip::serial(damaged, 1, into(result)), penstock::apps::JpegError);
}

}  // namespace
