// Nothing: an object library needs one source to precompile headers for (Precompile.cmake).
