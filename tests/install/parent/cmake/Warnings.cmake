function(parent_warnings)
  message(STATUS "the parent's own Warnings.cmake")
endfunction()
