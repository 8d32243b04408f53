// JPEG pictures in memory, as the component classes have them, for the applications' own code.
#pragma once

#include "components/files/jpeg.hpp"

namespace penstock::apps {

using components::encode_jpeg;
using components::JpegDecoder;
using components::JpegError;
using components::PictureSize;

}  // namespace penstock::apps
