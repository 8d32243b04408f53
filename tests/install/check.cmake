# Installs penstock under FOLDER, then configures, builds and runs the project in CONSUMER against what was installed.
# Run by ctest: cmake -D BUILD=... -D CONSUMER=... -D FOLDER=... -D COMPILER=... -D FLAGS=... -P check.cmake
file(REMOVE_RECURSE ${FOLDER})
function(step)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${FOLDER}/prefix --component development)
step(${CMAKE_COMMAND} -G Ninja -S ${CONSUMER} -B ${FOLDER}/build -DCMAKE_PREFIX_PATH=${FOLDER}/prefix
     -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS})
step(${CMAKE_COMMAND} --build ${FOLDER}/build)
step(${FOLDER}/build/consumer)
