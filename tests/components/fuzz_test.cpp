// Damaged files: pictures of all formats, slides, sounds and arrays, changed in ways that bytes can be. Each is read or
// refused, and nothing else happens; under the address sanitizer too. Input `n` is always the same. 2,000 inputs for
// each kind of file (200 films), and a hundred times as many in the long form (PENSTOCK_LONG=1).
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "components/files/npy.hpp"
#include "components/files/picture_file.hpp"
#include "components/files/wav.hpp"
#include "components/picture.hpp"
#include "penstock/application.hpp"
#include "penstock/component_classes.hpp"
#include "penstock/error.hpp"
#include "penstock/filter.hpp"
#include "penstock/machine.hpp"
#include "penstock/stream_error.hpp"

using namespace penstock;
using namespace penstock::components;

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes picture_bytes(std::size_t rows, std::size_t columns, std::size_t channels) {
    Bytes pixels(rows * columns * channels);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * i / 7);
    return pixels;
}

Bytes encoded(PictureFormat format, std::size_t channels) {
    auto pixels = picture_bytes(37, 29, channels);
    return encode_picture({pixels.data(), {37, 29 * channels}}, channels, format, 80);
}

Bytes damaged(Bytes bytes, std::mt19937& random) {
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    for (std::size_t i = 0, n = 1 + below(4); i < n && !bytes.empty(); ++i) {
        const auto at = below(2) == 0 ? below(std::min<std::size_t>(bytes.size(), 200)) : below(bytes.size());
        switch (below(6)) {
            case 0:
                bytes[at] = static_cast<std::uint8_t>(random());
                break;
            case 1:
                bytes[at] ^= static_cast<std::uint8_t>(1u << below(8));
                break;
            case 2:
                bytes.resize(at);
                break;
            case 3:
                bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), 1 + below(9),
                             static_cast<std::uint8_t>(random()));
                break;
            case 4:  // a number that is extreme
                for (std::size_t k = at; k < std::min(at + 4, bytes.size()); ++k) bytes[k] = below(2) ? 0xff : 0;
                break;
            default:
                bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                            bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), at + 1 + below(20))));
                break;
        }
    }
    return bytes;
}

/// `count` damaged files, and a hundred times as many in the long form: each is read, or refused with words.
void fuzz(const Bytes& whole, const std::function<void(const Bytes&)>& read, unsigned count = 2'000) {
    EXPECT_NO_THROW(read(whole));
    if (std::getenv("PENSTOCK_LONG") != nullptr) count *= 100;
    unsigned refused = 0;
    for (unsigned number = 0; number < count; ++number) {
        std::mt19937 random(number);
        const auto bytes = damaged(whole, random);
        try {
            read(bytes);
        } catch (const Error& error) {
            ++refused;
            ASSERT_STRNE(error.what(), "") << number;
        }
    }
    EXPECT_GT(refused, count / 50);
}

void decode(const Bytes& bytes) {
    static PictureDecoder decoder;  // which goes on behind each refusal
    std::vector<std::uint8_t> memory;
    decoder.decode(bytes, {.divisor = 1, .most_pixels = 1 << 16, .upright = true}, [&](PictureShape shape) {
        memory.assign(shape.pixels() * 3, 0);
        return view<std::uint8_t, 2>{memory.data(), {shape.rows, shape.columns * 3}};
    });
}

}  // namespace

class Formats : public testing::TestWithParam<PictureFormat> {};

TEST_P(Formats, damaged_pictures_are_read_or_refused) {
    for (const std::size_t channels : {1u, 3u}) fuzz(encoded(GetParam(), channels), decode);
}

INSTANTIATE_TEST_SUITE_P(Pictures, Formats,
                         testing::Values(PictureFormat::jpeg, PictureFormat::png, PictureFormat::tiff,
                                         PictureFormat::pnm));

TEST(Fuzz, orientations_in_damaged_headers_are_one_to_eight) {
    // A header with one entry: the orientation.
    Bytes exif{0xff, 0xd8, 0xff, 0xe1, 0, 34, 'E', 'x', 'i', 'f', 0, 0, 'I', 'I', 42, 0, 8, 0, 0,    0,
               1,    0,    0x12, 1,    3, 0,  1,   0,   0,   0,   6, 0, 0,   0,   0,  0, 0, 0, 0xff, 0xda};
    EXPECT_EQ(exif_orientation(exif), 6);
    for (unsigned number = 0; number < 20'000; ++number) {
        std::mt19937 random(number);
        const auto orientation = exif_orientation(damaged(exif, random));
        ASSERT_GE(orientation, 1);
        ASSERT_LE(orientation, 8);
    }
}

TEST(Fuzz, damaged_sounds_are_read_or_refused) {
    const WavFormat format{.channels = 2, .rate = 8000, .bytes = 3};
    const std::vector<float> samples(600, 0.25f);
    const auto data = bytes_of(samples, format);
    const auto head = wav_head(format, data.size());
    Bytes whole(head.begin(), head.end());
    for (const auto each : data) whole.push_back(static_cast<std::uint8_t>(each));
    fuzz(whole, [](const Bytes& bytes) {
        const auto found = parsed_wav({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "x.wav");
        std::vector<float> read(found.samples.size() / found.format.bytes);
        samples_of(found.samples, found.format, read);
    });
}

TEST(Fuzz, damaged_arrays_are_read_or_refused) {
    const std::size_t shape[] = {3, 5, 2};
    const auto head = npy_head("<f4", shape);
    Bytes whole(head.begin(), head.end());
    whole.resize(whole.size() + 30 * sizeof(float));
    fuzz(whole, [](const Bytes& bytes) {
        const auto found = npy_header({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "<f4", 4, "x.npy");
        ASSERT_LE(found.begin + found.elements * 4, bytes.size());
    });
}

TEST(Arrays, of_no_shape_hold_one_element_or_are_refused) {
    const auto head = npy_head("<f4", {});
    const auto number = head + std::string(4, '\0');
    EXPECT_EQ(npy_header(number, "<f4", 4, "x.npy").elements, 1u);
    EXPECT_THROW(npy_header(head, "<f4", 4, "x.npy"), UsageError);
    EXPECT_THROW(npy_header(head + "abc", "<f4", 4, "x.npy"), UsageError);
}

namespace {

/// Takes what a source of bytes' pictures gives.
struct Taker {
    Input<std::uint8_t> in{"in"};
    std::size_t* taken;
    explicit Taker(std::size_t* to) : taken(to) {}
    void operator()() { *taken += in.read().size(); }
};

std::string scratch(const std::string& ending) {
    return (std::filesystem::path(testing::TempDir()) / ("penstock-fuzz-" + std::to_string(getpid()) + ending))
        .string();
}

/// Reads a file to its end by a class, as an application does.
std::size_t read_by(Machine& machine, const std::string& of, const std::string& output, const std::string& path) {
    std::size_t taken = 0;
    Components components = Components::known();
    components.add<Taker>("taker", "", &taken);
    const auto text =
        "<application xmlns=\"urn:penstock:application:1\" name=\"fuzz\"><component name=\"read\" class=\"" + of +
        "\"><set name=\"path\" value=\"" + path +
        "\"/><set name=\"most-pixels\" value=\"65536\"/></component><component name=\"taker\" "
        "class=\"taker\"/><stream from=\"read." +
        output + "\" to=\"taker.in\"/></application>";
    Application::parse(text, "fuzz.xml", {.components = &components}).start(machine).finish();
    return taken;
}

/// Ten small pictures.
struct Giver {
    Output<std::uint8_t> out{"out"};
    std::size_t given = 0;
    bool operator()() {
        if (given == 10) return false;
        auto made = make_picture(out, {32, 48, 3});
        const auto to = made.edit();
        for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<std::uint8_t>(i * 7 + given);
        ++given;
        out.write(std::move(made));
        return true;
    }
};

/// Damaged files of one kind, each read to its end.
void fuzz_file(const Bytes& whole, const std::string& of, const std::string& output, const std::string& ending,
               unsigned count = 2'000) {
    Machine machine{{.targets = 0}};
    const auto path = scratch(ending);
    fuzz(
        whole,
        [&](const Bytes& bytes) {
            std::ofstream(path, std::ios::binary)
                .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
            (void)read_by(machine, of, output, path);
        },
        count);
    std::filesystem::remove(path);
}

}  // namespace

TEST(Fuzz, damaged_slides_are_read_or_refused) {
    register_component_classes();
    if (Components::known().find("read-slide") == nullptr) GTEST_SKIP() << "built without libtiff";
    fuzz_file(encoded(PictureFormat::tiff, 3), "read-slide", "tile", ".tif");
}

TEST(Fuzz, damaged_films_are_read_or_refused) {
    register_component_classes();
    if (Components::known().find("write-film") == nullptr) GTEST_SKIP() << "built without FFmpeg's headers";
    const auto path = scratch("-whole.mkv");
    Machine machine{{.targets = 0}};
    Components components = Components::known();
    components.add<Giver>("giver", "");
    try {
        Application::parse(
            "<application xmlns=\"urn:penstock:application:1\" name=\"film\"><component name=\"give\" class=\"giver\"/>"
            "<component name=\"write\" class=\"write-film\"><set name=\"path\" value=\"" +
                path +
                "\"/><set name=\"codec\" value=\"mpeg4\"/></component><stream from=\"give.out\" "
                "to=\"write.frame\"/></application>",
            "film.xml", {.components = &components})
            .start(machine)
            .finish();
    } catch (const FilterFailed& failed) {
        GTEST_SKIP() << failed.what();  // FFmpeg is not installed here
    }
    std::ifstream file(path, std::ios::binary);
    const Bytes whole{std::istreambuf_iterator<char>(file), {}};
    std::filesystem::remove(path);
    fuzz_file(whole, "read-film", "frame", ".mkv", 200);
}
