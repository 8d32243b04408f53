// What the rivals share: a picture, a part of a row, and pictures one after the other.
#pragma once

#include <algorithm>
#include <vector>

#include "apps/h264/sequence.hpp"

namespace bench {

namespace h264 = penstock::apps::h264;

/// A picture that somebody encodes.
struct Encoding {
    Encoding(const h264::Common& common, h264::References& references, const h264::Planned& planned,
             h264::Source& source, std::span<const std::uint8_t> file_picture)
        : work{references.begin(planned, source)}, file{file_picture},
          rows(static_cast<std::size_t>(common.size.down())) {}
    int across() const { return work.coder.size().across(); }
    int down() const { return work.coder.size().down(); }

    /// Macroblocks [first, end) of a row, all steps but the filter.
    void encode(int y, int first, int end) {
        const auto& coder = work.coder;
        auto& bits = rows[static_cast<std::size_t>(y)];
        if (first == 0) {
            bits.clear();
            coder.prepare(y, file);
        }
        h264::Levels levels;
        for (int x = first; x < end; ++x) {
            coder.decide(x, y);
            coder.reconstruct(x, y, levels);
            coder.write(x, y, levels, bits);
        }
    }
    void finish(int y) {
        work.coder.filter(y);
        if (work.coder.place().reference) work.coder.complete(y);
    }

    h264::Work work;
    std::span<const std::uint8_t> file;
    std::vector<h264::RowBits> rows;
};

/// Has each picture of the job encoded by `encode`, one after the other.
template <class Encode>
void each_picture(const h264::Job& job, Encode encode) {
    check(job);
    const h264::Common common{job};
    h264::Waiting waiting{job};
    h264::References references{common};
    h264::Source source{job.size};
    while (const auto planned = waiting.next()) {
        Encoding picture{common, references, *planned, source, waiting.file_picture(planned->shown)};
        encode(picture);
        job.push(encoded_of(common, picture.work.planned, picture.rows), *picture.work.picture);
        waiting.forget(planned->shown);
    }
}

}  // namespace bench
