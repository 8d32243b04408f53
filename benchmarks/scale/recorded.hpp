// How long the procedures of real applications take on this machine, measured one after the other on one thread: what
// the bodies of a rehearsal sleep for, once stretched.
#pragma once

namespace bench {

/// ns of the four procedures of LU in blocks of 16 x 16 in double, inside a factorisation of 512 x 512.
struct LuTimes {
    double factor = 0, bdiv = 0, bmodd = 0, bmod = 0;
};
LuTimes record_lu();

/// ns of the filters of the tissue analysis for one JPEG tile of 128 x 128 pixels.
struct TissueTimes {
    double read = 0, decode = 0, colour = 0, pattern = 0, shrink = 0, classify = 0, overview = 0;
    double all() const noexcept { return read + decode + colour + pattern + shrink + classify + overview; }
};
TissueTimes record_tissue();

/// ns of JPiP: a file of 1280 x 720 pixels from JPEG into its place of a mosaic, and a mosaic into the result.
struct JpipTimes {
    double file = 0, store = 0;
};
JpipTimes record_jpip();

}  // namespace bench
