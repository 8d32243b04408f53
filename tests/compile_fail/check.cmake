# Compiles SOURCE, which must fail and say what its first line asks for, in the library's own words.
file(STRINGS ${SOURCE} first LIMIT_COUNT 1)
string(REPLACE "// MUST SAY: " "" expected "${first}")
execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -I${INCLUDE} -include ${HEADER} ${SOURCE}
                RESULT_VARIABLE result ERROR_VARIABLE said OUTPUT_QUIET)
if(result EQUAL 0)
  message(FATAL_ERROR "${SOURCE} compiles and must not")
endif()
string(FIND "${said}" "penstock: " named)
string(FIND "${said}" "${expected}" found)
# Where a compiler has nowhere to put a sentence, a name of ours says it.
if(found EQUAL -1 OR (named EQUAL -1 AND NOT expected MATCHES "^[a-z_]+$"))
  message(FATAL_ERROR "${SOURCE}: the compiler should say \"${expected}\" but says\n${said}")
endif()
