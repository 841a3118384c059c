#include "loops/buffers.h"

namespace tokamak {

void add_kernel_buffers(const FusedKernel& fused, const std::vector<Layout>& layouts, NestBuilder& builder) {
  const Graph& body = fused.body;
  uint32_t stride_slots = 0;
  for (size_t i = 0; i < body.parameters().size(); ++i) {
    const TensorType& type = body.type_of(body.parameters()[i]);
    Buffer buffer{body.parameter_name(i), type, Buffer::Role::input, dense_strides(type)};
    if (!layouts[i].dense) {
      buffer.first_stride_slot = stride_slots;
      stride_slots += static_cast<uint32_t>(type.shape.size());
      for (size_t axis = 0; axis < type.shape.size(); ++axis) {
        switch (layouts[i].axes[axis]) {
          case Layout::Axis::zero:
            buffer.strides[axis] = 0;
            break;
          case Layout::Axis::unit:
            buffer.strides[axis] = static_cast<int64_t>(size_of(type.dtype));
            break;
          case Layout::Axis::other:
            buffer.strides[axis] = kDynamicStride;
            break;
        }
      }
    }
    builder.add_buffer(std::move(buffer));
  }
  for (size_t i = 0; i < body.outputs().size(); ++i) {
    const TensorType& type = body.type_of(body.outputs()[i]);
    Buffer buffer{"out" + std::to_string(i), type, Buffer::Role::output, dense_strides(type)};
    builder.add_buffer(std::move(buffer));
  }
}

}  // namespace tokamak
