#include "driver/run.h"

#include "runtime/buffer_pool.h"

namespace tokamak {

std::vector<Tensor> run_on_tensors(const Program& program, std::span<const Tensor> arguments) {
  std::vector<const void*> inputs;
  for (const Tensor& argument : arguments) inputs.push_back(argument.data());
  const std::vector<const int64_t*> strides(arguments.size(), nullptr);
  std::vector<Block> blocks;
  std::vector<void*> outputs;
  for (const TensorType& type : program.outputs) {
    blocks.push_back(BufferPool::instance().allocate(type.bytes()));
    outputs.push_back(blocks.back().data());
  }
  program.run(inputs.data(), strides.data(), outputs.data());
  std::vector<Tensor> results;
  for (size_t i = 0; i < outputs.size(); ++i)
    results.push_back(Tensor::copy_of(program.outputs[i], outputs[i]));
  return results;
}

}  // namespace tokamak
