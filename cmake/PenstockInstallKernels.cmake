# penstock_install_kernels(FOLDER WORDS...): the headers of the kernels into FOLDER/penstock-kernels; what only their own sources include
# stays out. WORDS: more of install(DIRECTORY).
function(penstock_install_kernels folder)
  get_filename_component(top ${CMAKE_CURRENT_FUNCTION_LIST_DIR} DIRECTORY)
  install(DIRECTORY ${top}/kernels DESTINATION ${folder}/penstock-kernels ${ARGN} FILES_MATCHING PATTERN "*.hpp"
          REGEX "/(affine_strip|affine_vectors|convolution_rows|each_target|h264_vectors|idct_line|lab_pixel|ofdm_loops|shapes|yuv_row)\\.hpp$" EXCLUDE)
endfunction()
