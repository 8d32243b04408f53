# Builds for 64-bit Arm with Debian's cross compiler and runs the tests under qemu's user emulation:
#   cmake --preset aarch64 && cmake --build build/aarch64 && ctest --test-dir build/aarch64
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(PENSTOCK_AARCH64_ROOT /usr/aarch64-linux-gnu CACHE PATH "Where the cross compiler's libraries are")
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)

find_program(PENSTOCK_QEMU_AARCH64 NAMES qemu-aarch64 qemu-aarch64-static)
if(PENSTOCK_QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${PENSTOCK_QEMU_AARCH64} -L ${PENSTOCK_AARCH64_ROOT})
endif()

# Programs come from this system, everything else from the target's.
set(CMAKE_FIND_ROOT_PATH ${PENSTOCK_AARCH64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:${PENSTOCK_AARCH64_ROOT}/lib/pkgconfig)
