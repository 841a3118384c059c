#include "codegen/module.h"

#include <algorithm>
#include <span>

#include "codegen/access_report.h"
#include "codegen/external.h"
#include "codegen/lanewise.h"
#include "codegen/target.h"

namespace tokamak::codegen {
namespace {

std::string shape_name(llvm::FixedVectorType* type) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << type->getNumElements() << "x";
  type->getElementType()->print(out);
  return text;
}

/// for i in [0, count): body(i), in a function whose only other code is straight.
template <class Body>
void counted_loop(Builder& b, llvm::Value* count, Body body) {
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* head = llvm::BasicBlock::Create(b.getContext(), "head", function);
  auto* round = llvm::BasicBlock::Create(b.getContext(), "round", function);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "done", function);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2, "i");
  i->addIncoming(b.getInt64(0), before);
  // Made by hand: the builder would fold them, seeing only the first value of `i`.
  llvm::Value* more = b.Insert(new llvm::ICmpInst(llvm::CmpInst::ICMP_ULT, i, count));
  b.CreateCondBr(more, round, done);
  b.SetInsertPoint(round);
  body(i);
  i->addIncoming(b.Insert(llvm::BinaryOperator::CreateAdd(i, b.getInt64(1))), b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(done);
}

llvm::Value* element_pointer(Builder& b, llvm::Type* element, llvm::Value* base, llvm::Value* i) {
  return b.CreateGEP(element, base, i);
}

const llvm::Align kAnyAlign(1);

}  // namespace

CodeModule::CodeModule(const Cpu& cpu_, const std::string& name, bool keep_names)
    : cpu(cpu_),
      context(std::make_unique<llvm::LLVMContext>()),
      module(std::make_unique<llvm::Module>(name, *context)) {
  context->setDiscardValueNames(!keep_names);
  set_target(*module, cpu);
}

llvm::Type* CodeModule::lane_type(Lane lane) {
  switch (lane) {
    case Lane::i1:
    case Lane::i8:
    case Lane::i16:
    case Lane::i32:
    case Lane::i64:
      return llvm::Type::getIntNTy(*context, static_cast<unsigned>(bits_of(lane)));
    case Lane::f32:
      return llvm::Type::getFloatTy(*context);
    case Lane::f64:
      return llvm::Type::getDoubleTy(*context);
  }
  __builtin_unreachable();
}

llvm::Function* CodeModule::add_function(const std::string& name, llvm::FunctionType* type, bool internal) {
  auto linkage = internal ? llvm::Function::InternalLinkage : llvm::Function::ExternalLinkage;
  llvm::Function* function = llvm::Function::Create(type, linkage, name, *module);
  const std::string bits = std::to_string(cpu.vector_bytes * 8);
  function->addFnAttr("prefer-vector-width", bits);
  function->addFnAttr("min-legal-vector-width", bits);
  function->setDoesNotThrow();
  if (internal) function->addFnAttr(llvm::Attribute::NoInline);
  return function;
}

llvm::Function* CodeModule::prefix_load(llvm::FixedVectorType* type) {
  const std::string name = "load_first_" + shape_name(type);
  if (llvm::Function* known = module->getFunction(name)) return known;
  Builder b = builder();
  auto* signature = llvm::FunctionType::get(type, {b.getPtrTy(), b.getInt64Ty()}, false);
  llvm::Function* function = add_function(name, signature, true);
  b.SetInsertPoint(llvm::BasicBlock::Create(*context, "entry", function));
  llvm::Type* element = type->getElementType();
  llvm::Value* lanes = b.CreateAlloca(type);
  b.CreateStore(llvm::Constant::getNullValue(type), lanes);
  counted_loop(b, function->getArg(1), [&](llvm::Value* i) {
    llvm::Value* value =
        b.CreateAlignedLoad(element, element_pointer(b, element, function->getArg(0), i), kAnyAlign);
    b.CreateAlignedStore(value, element_pointer(b, element, lanes, i), kAnyAlign);
  });
  b.CreateRet(b.CreateLoad(type, lanes));
  return function;
}

llvm::Function* CodeModule::prefix_store(llvm::FixedVectorType* type) {
  const std::string name = "store_first_" + shape_name(type);
  if (llvm::Function* known = module->getFunction(name)) return known;
  Builder b = builder();
  auto* signature = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), type, b.getInt64Ty()}, false);
  llvm::Function* function = add_function(name, signature, true);
  b.SetInsertPoint(llvm::BasicBlock::Create(*context, "entry", function));
  llvm::Type* element = type->getElementType();
  llvm::Value* lanes = b.CreateAlloca(type);
  b.CreateStore(function->getArg(1), lanes);
  counted_loop(b, function->getArg(2), [&](llvm::Value* i) {
    llvm::Value* value = b.CreateAlignedLoad(element, element_pointer(b, element, lanes, i), kAnyAlign);
    b.CreateAlignedStore(value, element_pointer(b, element, function->getArg(0), i), kAnyAlign);
  });
  b.CreateRetVoid();
  return function;
}

/// Copies the elements where the mask, <W x i8> in memory, is not zero.
static void copy_masked(Builder& b, llvm::FixedVectorType* type, llvm::Value* mask, llvm::Value* from,
                        llvm::Value* to) {
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::Type* element = type->getElementType();
  counted_loop(b, b.getInt64(type->getNumElements()), [&](llvm::Value* i) {
    auto* wanted = llvm::BasicBlock::Create(b.getContext(), "wanted", function);
    auto* next = llvm::BasicBlock::Create(b.getContext(), "next", function);
    llvm::Value* on = b.CreateLoad(b.getInt8Ty(), element_pointer(b, b.getInt8Ty(), mask, i));
    b.CreateCondBr(b.CreateICmpNE(on, b.getInt8(0)), wanted, next);
    b.SetInsertPoint(wanted);
    llvm::Value* value = b.CreateAlignedLoad(element, element_pointer(b, element, from, i), kAnyAlign);
    b.CreateAlignedStore(value, element_pointer(b, element, to, i), kAnyAlign);
    b.CreateBr(next);
    b.SetInsertPoint(next);
  });
}

llvm::Function* CodeModule::masked_load(llvm::FixedVectorType* type) {
  const std::string name = "load_masked_" + shape_name(type);
  if (llvm::Function* known = module->getFunction(name)) return known;
  Builder b = builder();
  auto* mask_type = llvm::FixedVectorType::get(b.getInt8Ty(), type->getNumElements());
  auto* signature = llvm::FunctionType::get(type, {b.getPtrTy(), mask_type}, false);
  llvm::Function* function = add_function(name, signature, true);
  b.SetInsertPoint(llvm::BasicBlock::Create(*context, "entry", function));
  llvm::Value* lanes = b.CreateAlloca(type);
  llvm::Value* mask = b.CreateAlloca(mask_type);
  b.CreateStore(llvm::Constant::getNullValue(type), lanes);
  b.CreateStore(function->getArg(1), mask);
  copy_masked(b, type, mask, function->getArg(0), lanes);
  b.CreateRet(b.CreateLoad(type, lanes));
  return function;
}

llvm::Function* CodeModule::masked_store(llvm::FixedVectorType* type) {
  const std::string name = "store_masked_" + shape_name(type);
  if (llvm::Function* known = module->getFunction(name)) return known;
  Builder b = builder();
  auto* mask_type = llvm::FixedVectorType::get(b.getInt8Ty(), type->getNumElements());
  auto* signature = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), type, mask_type}, false);
  llvm::Function* function = add_function(name, signature, true);
  b.SetInsertPoint(llvm::BasicBlock::Create(*context, "entry", function));
  llvm::Value* lanes = b.CreateAlloca(type);
  llvm::Value* mask = b.CreateAlloca(mask_type);
  b.CreateStore(function->getArg(1), lanes);
  b.CreateStore(function->getArg(2), mask);
  copy_masked(b, type, mask, lanes, function->getArg(0));
  b.CreateRetVoid();
  return function;
}

llvm::Function* CodeModule::external(const LibmFunction& function) {
  if (llvm::Function* known = module->getFunction(function.name)) return known;
  externals.insert(function.name);
  llvm::Type* type = lane_type(function.lane);
  std::vector<llvm::Type*> operands(static_cast<size_t>(function.arity), type);
  auto* signature = llvm::FunctionType::get(type, operands, false);
  auto* declared = llvm::Function::Create(signature, llvm::Function::ExternalLinkage, function.name, *module);
  declared->setDoesNotThrow();
  // "sinf" is exactly the function behind the address: LLVM may not reason about it as the C library's.
  declared->addFnAttr(llvm::Attribute::NoBuiltin);
  return declared;
}

llvm::Function* CodeModule::transpose_tile(int64_t element_bytes) {
  const std::string name = transpose_symbol(element_bytes);
  if (llvm::Function* known = module->getFunction(name)) return known;
  externals.insert(name);
  Builder b = builder();
  llvm::Type* pointer = b.getPtrTy();
  llvm::Type* number = b.getInt64Ty();
  auto* type =
      llvm::FunctionType::get(b.getVoidTy(), {pointer, number, pointer, number, number, number}, false);
  auto* declared = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, *module);
  declared->setDoesNotThrow();
  return declared;
}

llvm::Function* CodeModule::report_access() {
  if (llvm::Function* known = module->getFunction(kReportAccess)) return known;
  externals.insert(kReportAccess);
  Builder b = builder();
  llvm::Type* pointer = b.getPtrTy();
  llvm::Type* number = b.getInt64Ty();
  llvm::Type* parameters[] = {pointer, b.getInt32Ty(), b.getInt32Ty(), number, number, pointer, number};
  auto* type = llvm::FunctionType::get(b.getVoidTy(), parameters, false);
  auto* declared = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kReportAccess, *module);
  declared->setDoesNotThrow();
  declared->addFnAttr(llvm::Attribute::Cold);
  return declared;
}

llvm::Function* CodeModule::lanewise(const LibmFunction& libm) {
  const std::string name = lanewise_symbol(libm.lane, libm.arity);
  if (llvm::Function* known = module->getFunction(name)) return known;
  externals.insert(name);
  return declare_lanewise(libm.arity, name);
}

llvm::Function* CodeModule::declare_lanewise(int arity, const std::string& name) {
  Builder b = builder();
  std::vector<llvm::Type*> parameters(static_cast<size_t>(arity) + 1, b.getPtrTy());
  parameters.push_back(b.getInt64Ty());
  llvm::Function* function =
      add_function(name, llvm::FunctionType::get(b.getVoidTy(), parameters, false), false);
  function->setCallingConv(llvm::CallingConv::PreserveAll);
  return function;
}

void CodeModule::define_lanewise(Lane lane, int arity) {
  Builder b = builder();
  llvm::Function* function = declare_lanewise(arity, lanewise_symbol(lane, arity));
  // LLVM would clear the upper halves of the registers on the way out, which the caller relies on.
  const std::string features = target_features(cpu);
  function->addFnAttr("target-features", features.empty() ? "-vzeroupper" : features + ",-vzeroupper");
  b.SetInsertPoint(llvm::BasicBlock::Create(*context, "entry", function));
  llvm::Type* element = lane_type(lane);
  std::vector<llvm::Type*> operands(static_cast<size_t>(arity), element);
  auto* signature = llvm::FunctionType::get(element, operands, false);
  counted_loop(b, function->getArg(static_cast<unsigned>(arity) + 1), [&](llvm::Value* i) {
    std::vector<llvm::Value*> values;
    for (int k = 0; k < arity; ++k) {
      llvm::Value* operand = function->getArg(static_cast<unsigned>(k) + 1);
      values.push_back(b.CreateLoad(element, element_pointer(b, element, operand, i)));
    }
    llvm::Value* result = b.CreateCall(signature, function->getArg(0), values);
    b.CreateStore(result, element_pointer(b, element, function->getArg(1), i));
  });
  b.CreateRetVoid();
}

llvm::GlobalVariable* CodeModule::register_of(llvm::Constant* content) {
  llvm::GlobalVariable*& variable = registers_[content];
  if (variable == nullptr) {
    variable = new llvm::GlobalVariable(*module, content->getType(), true, llvm::GlobalValue::InternalLinkage,
                                        content, "number");
    variable->setAlignment(llvm::Align(static_cast<unsigned>(cpu.vector_bytes)));
    variable->setExternallyInitialized(true);  // or the content would take the place of what loads it
    numbers_.push_back(variable);
  }
  return variable;
}

llvm::GlobalVariable* CodeModule::table_of(llvm::Constant* entries) {
  llvm::GlobalVariable*& variable = tables_[entries];
  if (variable == nullptr) {
    variable = new llvm::GlobalVariable(*module, entries->getType(), true, llvm::GlobalValue::InternalLinkage,
                                        entries, "table");
    variable->setAlignment(llvm::Align(64));  // of one line of the cache
  }
  return variable;
}

void CodeModule::leave_numbers_in_memory() {
  const size_t registers = cpu.avx512 ? 32 : 16;
  const size_t few = registers - 8, kept = registers - 11;  // the rest is what a function works with
  if (numbers_.size() <= few) return;
  std::stable_sort(numbers_.begin(), numbers_.end(),
                   [](auto* a, auto* b) { return a->getNumUses() > b->getNumUses(); });
  for (llvm::GlobalVariable* number : std::span(numbers_).subspan(kept)) {
    number->setConstant(false);
    for (llvm::User* user : number->users())
      llvm::cast<llvm::Instruction>(user)->setMetadata(llvm::LLVMContext::MD_invariant_load, nullptr);
  }
}

ObjectCode object_code(CodeModule& code) {
  const auto bytes = machine_code(*code.module, code.cpu, llvm::CodeGenFileType::ObjectFile);
  return {std::string(bytes.data(), bytes.size()), code.externals};
}

}  // namespace tokamak::codegen
