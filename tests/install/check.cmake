# Installs penstock under FOLDER, then configures, builds and runs the project in CONSUMER against what was installed.
# Run by ctest: cmake -D BUILD=... -D CONSUMER=... -D FOLDER=... -D COMPILER=... -D FLAGS=... -P check.cmake
file(REMOVE_RECURSE ${FOLDER})
function(step)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
foreach(component runtime development)
  step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${FOLDER}/prefix --component ${component})
endforeach()
step(${CMAKE_COMMAND} -G Ninja -S ${CONSUMER} -B ${FOLDER}/build -DCMAKE_PREFIX_PATH=${FOLDER}/prefix
     -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS})
step(${CMAKE_COMMAND} --build ${FOLDER}/build)
step(${FOLDER}/build/consumer)

# The same without CMake: what pkg-config says is all that the compiler needs.
find_program(PKG_CONFIG NAMES pkg-config pkgconf)
if(PKG_CONFIG)
  file(GLOB_RECURSE package ${FOLDER}/prefix/penstock.pc)
  get_filename_component(packages ${package} DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} ${packages}:$ENV{PKG_CONFIG_PATH})
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs penstock penstock-kernels OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(said UNIX_COMMAND "${said}")
  separate_arguments(flags UNIX_COMMAND "${FLAGS}")
  step(${COMPILER} -std=c++20 ${flags} ${CONSUMER}/main.cpp ${said} -Wl,-rpath,${packages}/.. -o ${FOLDER}/plain)
  step(${FOLDER}/plain)
endif()
