# PENSTOCK_SANITIZE=thread|address|undefined instruments everything below this point.
set_property(CACHE PENSTOCK_SANITIZE PROPERTY STRINGS "" thread address undefined)
if(PENSTOCK_SANITIZE)
  if(NOT PENSTOCK_SANITIZE MATCHES "^(thread|address|undefined)$")
    message(FATAL_ERROR "PENSTOCK_SANITIZE is '${PENSTOCK_SANITIZE}'; it takes thread, address or undefined")
  endif()
  add_compile_options(-fsanitize=${PENSTOCK_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${PENSTOCK_SANITIZE})
  if(PENSTOCK_SANITIZE STREQUAL "undefined")
    # The check of dynamic types opens a pipe at each look, and takes code for wrong that runs when no descriptor is left, as
    # tests of that make it.
    add_compile_options(-fno-sanitize-recover=all -fno-sanitize=vptr)
  endif()
  if(PENSTOCK_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Werror=tsan)  # a standalone fence, which the sanitizer cannot see
  endif()
endif()
