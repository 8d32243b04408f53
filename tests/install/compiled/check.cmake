# Writes an application as a program, builds that against an installed penstock, and compares what both print, bit by bit.
# Run by ctest: cmake -D BUILD=... -D WRITTEN=... -D LIBRARY=... -D FILE=... -D FOLDER=... -D COMPILER=... -D FLAGS=... -P check.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER}/source)
function(step)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${FOLDER}/prefix --component development)
# Beside its own classes, one of penstock::component_classes.
file(READ ${FILE} text)
string(REPLACE "</application>" [[
  <component name="total" class="total"/>
  <component name="whole" class="print"><set name="label" value="total "/></component>
  <stream from="numbers.out" to="total.values"/>
  <stream from="total.total" to="whole.in"/>
</application>]] text "${text}")
set(FILE ${FOLDER}/application.xml)
file(WRITE ${FILE} "${text}")
step(${WRITTEN} ${LIBRARY} compile ${FILE} ${FOLDER}/source)
step(${CMAKE_COMMAND} -G Ninja -S ${FOLDER}/source -B ${FOLDER}/build -DCMAKE_PREFIX_PATH=${FOLDER}/prefix
     -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_BUILD_TYPE=Debug)
step(${CMAKE_COMMAND} --build ${FOLDER}/build)
# Two printing filters share the output, in no order.
function(lines_of result)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE ";" "," text "${text}")
  string(REPLACE "\n" ";" text "${text}")
  list(SORT text)
  set(${result} "${text}" PARENT_SCOPE)
endfunction()
foreach(settings "" "count=7;factor=0.3")
  set(options)
  foreach(setting ${settings})
    list(APPEND options --set ${setting})
  endforeach()
  lines_of(expected ${WRITTEN} ${LIBRARY} run ${FILE} ${settings})
  set(ways "--targets;1")
  if(NOT FLAGS MATCHES "sanitize=thread")  # which starts a thread before main, so that no worker processes can be forked
    list(APPEND ways "--isolation;process")
  endif()
  while(ways)
    list(POP_FRONT ways option value)
    lines_of(found ${FOLDER}/build/compiled ${options} ${option} ${value})
    if(NOT expected STREQUAL found)
      message(FATAL_ERROR "with '${settings}' the file prints\n${expected}\nand its program, with ${option} ${value}\n${found}")
    endif()
  endwhile()
endforeach()
execute_process(COMMAND ${FOLDER}/build/compiled --set stages=5 RESULT_VARIABLE status ERROR_VARIABLE said)
if(NOT status EQUAL 2 OR NOT said MATCHES "no parameter 'stages'")
  message(FATAL_ERROR "a parameter that is fixed should be refused: ${status}, ${said}")
endif()
# The library may lie elsewhere on another machine.
execute_process(COMMAND ${FOLDER}/build/compiled --library ${FOLDER}/nowhere.so RESULT_VARIABLE status ERROR_VARIABLE said)
if(NOT status EQUAL 2 OR NOT said MATCHES "nowhere.so gives no component classes: there is no such file")
  message(FATAL_ERROR "a library that is not there should be refused: ${status}, ${said}")
endif()
file(COPY_FILE ${LIBRARY} ${FOLDER}/moved.so)
lines_of(found ${FOLDER}/build/compiled --library ${FOLDER}/moved.so --set count=7 --set factor=0.3 --targets 1)
if(NOT expected STREQUAL found)
  message(FATAL_ERROR "with a library from elsewhere the program prints\n${found}\ninstead of\n${expected}")
endif()
