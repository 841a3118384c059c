// The only file that sees ORC: its headers are slow to compile.

#include "codegen/jit.h"

#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/Debugging/ELFDebugObjectPlugin.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstdio>
#include <mutex>

#include "codegen/code_names.h"
#include "support/forking.h"
#include "tokamak/errors.h"

namespace tokamak::codegen {
namespace {

namespace orc = llvm::orc;

/// The cause of a failed link appears only in the session's error reports; the error itself says "failed to
/// materialise".
thread_local std::string reported_errors;

llvm::Error list_functions(llvm::jitlink::LinkGraph& graph) {
  for (llvm::jitlink::Symbol* symbol : graph.defined_symbols()) {
    if (!symbol->isCallable() || !symbol->hasName() || symbol->getSize() == 0) continue;
    const llvm::ArrayRef<char> code = symbol->getSymbolContent();
    list_code({.name = "tokamak:" + (*symbol->getName()).str(),
               .address = symbol->getAddress().getValue(),
               .code = {code.data(), code.size()}});
  }
  return llvm::Error::success();
}

/// Has the names of functions listed when their code is in place.
class NamePlugin final : public orc::ObjectLinkingLayer::Plugin {
 public:
  void modifyPassConfig(orc::MaterializationResponsibility&, llvm::jitlink::LinkGraph&,
                        llvm::jitlink::PassConfiguration& passes) override {
    passes.PostFixupPasses.emplace_back(&list_functions);
  }
  llvm::Error notifyFailed(orc::MaterializationResponsibility&) override { return llvm::Error::success(); }
  llvm::Error notifyRemovingResources(orc::JITDylib&, orc::ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(orc::JITDylib&, orc::ResourceKey, orc::ResourceKey) override {}
};

/// ORC has locks of its own: nobody is inside of it while the process forks.
std::mutex& orc_mutex() {
  static auto* mutex = [] {
    auto* made = new std::mutex;
    hold_while_forking(*made, LockKind::linker);
    return made;
  }();
  return *mutex;
}
template <class Work>
auto inside_orc(Work work) {
  const std::lock_guard lock(orc_mutex());
  return work();
}

/// The session of the process: every object is a library of its own in it.
class Session {
 public:
  Session() : executor_(make_executor()), session_(std::move(executor_)), objects_(session_) {
    session_.setErrorReporter(
        [](llvm::Error error) { reported_errors += llvm::toString(std::move(error)) + "\n"; });
    process_ = &session_.createBareJITDylib("process");
    auto generator = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0');
    if (generator) {
      process_->addGenerator(std::move(*generator));
    } else {
      llvm::consumeError(generator.takeError());  // then only the externals are bound
    }
    if (lists_code()) objects_.addPlugin(std::make_shared<NamePlugin>());
    if (registers_with_debuggers()) add_debugger_plugin();
  }

  orc::JITDylib& add_library(const std::string& name) {
    // Names repeat between kernels; libraries must not.
    orc::JITDylib& library = session_.createBareJITDylib(name + "." + std::to_string(count_++));
    library.addToLinkOrder(*process_);
    return library;
  }

  orc::ExecutionSession& session() { return session_; }
  orc::ObjectLinkingLayer& objects() { return objects_; }

 private:
  static std::unique_ptr<orc::ExecutorProcessControl> make_executor() {
    auto executor = orc::SelfExecutorProcessControl::Create();
    if (!executor) throw InternalError("cannot link in memory: " + llvm::toString(executor.takeError()));
    return std::move(*executor);
  }

  void add_debugger_plugin() {
    llvm::Error error = llvm::Error::success();
    auto plugin = std::make_shared<orc::ELFDebugObjectPlugin>(session_, /*RequireDebugSections=*/false,
                                                              /*AutoRegisterCode=*/true, error);
    if (!error) {
      objects_.addPlugin(std::move(plugin));
    } else {
      std::fprintf(stderr, "tokamak: TOKAMAK_GDB: %s\n", llvm::toString(std::move(error)).c_str());
    }
  }

  std::unique_ptr<orc::ExecutorProcessControl> executor_;
  orc::ExecutionSession session_;
  orc::ObjectLinkingLayer objects_;
  orc::JITDylib* process_ = nullptr;
  uint64_t count_ = 0;
};

/// Never destroyed: kernels held by other static objects may outlive any order we could choose.
Session& the_session() {
  static auto* session = new Session;
  return *session;
}

void check(llvm::Error error, const std::string& what) {
  if (!error) return;
  std::string message = what + ": " + llvm::toString(std::move(error)) + "\n" + reported_errors;
  reported_errors.clear();
  throw InternalError(message);
}

class OrcObject final : public LinkedObject {
 public:
  explicit OrcObject(orc::JITDylib& library) : library_(&library) {}
  ~OrcObject() override {
    if (keeps_code_in_place()) return;
    orc::ExecutionSession& session = the_session().session();
    inside_orc([&] {
      llvm::consumeError(session.removeJITDylib(*library_));
      library_.reset();
    });
  }

  void* address_of(const std::string& symbol) override {
    orc::ExecutionSession& session = the_session().session();
    auto found = inside_orc([&] { return session.lookup({library_.get()}, symbol); });
    if (!found) check(found.takeError(), "linking " + symbol);
    return found->getAddress().toPtr<void*>();
  }

 private:
  orc::JITDylibSP library_;
};

}  // namespace

std::unique_ptr<LinkedObject> link_object(std::span<const char> object, const std::string& name,
                                          const Externals& externals) {
  Session& session = the_session();
  orc::JITDylib& library = *inside_orc([&] { return &session.add_library(name); });
  auto linked = std::make_unique<OrcObject>(library);
  if (!externals.empty()) {
    check(inside_orc([&] {
            orc::SymbolMap symbols;
            for (const auto& [symbol, address] : externals)
              symbols[session.session().intern(symbol)] = {
                  orc::ExecutorAddr::fromPtr(address),
                  llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
            return library.define(orc::absoluteSymbols(std::move(symbols)));
          }),
          "binding the C library");
  }
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy({object.data(), object.size()}, name);
  check(inside_orc([&] { return session.objects().add(library, std::move(buffer)); }), "linking " + name);
  return linked;
}

}  // namespace tokamak::codegen
