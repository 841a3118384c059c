# Layers: every folder of src/ is a target that sees only the folders it names (and what those see).
#
# A layer's include path is a folder of links to just those layers, so that an #include against the direction of flow
# does not compile. tokamak_layer(fusion DEPENDS ops passes) builds src/fusion/*.cpp with ops/, passes/ and all that they see.

set(TOKAMAK_LAYERS "" CACHE INTERNAL "")

function(tokamak_layer name)
  cmake_parse_arguments(LAYER "" "" "DEPENDS;LIBRARIES" ${ARGN})
  set(visible ${name})
  foreach(dependency ${LAYER_DEPENDS})
    get_target_property(seen tokamak_${dependency} TOKAMAK_VISIBLE)
    list(APPEND visible ${seen})
  endforeach()
  list(REMOVE_DUPLICATES visible)

  set(links ${PROJECT_BINARY_DIR}/layers/${name})
  file(REMOVE_RECURSE ${links})
  file(MAKE_DIRECTORY ${links})
  foreach(folder ${visible})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/${folder} ${links}/${folder} SYMBOLIC)
  endforeach()

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  if(NOT sources)
    message(STATUS "Layer ${name} has no .cpp files yet: headers only")
    add_library(tokamak_${name} INTERFACE)
    set_target_properties(tokamak_${name} PROPERTIES TOKAMAK_VISIBLE "${visible}")
    return()
  endif()
  add_library(tokamak_${name} OBJECT ${sources})
  set_target_properties(tokamak_${name} PROPERTIES TOKAMAK_VISIBLE "${visible}")
  target_include_directories(tokamak_${name} PRIVATE ${links} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(tokamak_${name} PRIVATE ${LAYER_LIBRARIES})
  if(TOKAMAK_VERIFY OR CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_definitions(tokamak_${name} PRIVATE TOKAMAK_VERIFY_ALWAYS=1)
  endif()
  set(TOKAMAK_LAYERS ${TOKAMAK_LAYERS} ${name} CACHE INTERNAL "")
endfunction()
