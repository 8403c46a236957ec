// SPDX-License-Identifier: Apache-2.0
// The exported functions of c10d. They have the mangled names of PyTorch's own functions, so that
// the loader binds the references and vtables of libtorch_cpu.so to them (docs/torch.md). The
// wrappers of operations are generated from proto/torch_functions.def; the other wrappers are
// written here.
//
// intrusive_ptr<Work> is not a trivial class, so a function returns it through a hidden pointer.
// The wrappers return a class of the shim that is not trivial either (Returned): the compiler then
// passes the pointer as the ABI requires (Itanium C++ ABI, 3.1.3; AArch64: x8).
#ifndef ROLLCALL_NO_EXPORTS

#include <string_view>

#include "proto/operations.h"
#include "shim/for_each_word.h"
#include "shim/job_environment.h"
#include "shim/process.h"
#include "shim/stack/stack.h"
#include "shim/torch/binding.h"
#include "shim/torch/call.h"
#include "shim/torch/groups.h"
#include "shim/torch/layout.h"
#include "shim/torch/roles.h"

namespace rollcall::shim::torch {

// c10::intrusive_ptr<c10d::Work>: one pointer. Owns nothing here; a move copies the pointer.
struct Returned {
  void* work = nullptr;
  Returned() = default;
  Returned(Returned&& other) noexcept : work(other.work) {}
  Returned(const Returned&) = delete;
  ~Returned() {}  // NOLINT: not trivial, which decides how it is returned
};

#define C10D_INFO(identifier)                   \
  static constexpr const OperationInfo& kInfo = \
      FindOperation(static_cast<uint16_t>(Operation::kC10d##identifier))
#define C10D_CALL() \
  MakeCall(kInfo, false, ROLLCALL_CALLER_FRAME(), __builtin_return_address(0), TorchLibrary())

#define C10D_PARAMETER(word) Word word
#define C10D_TYPE(word) Word
#define C10D_NAME(word) word
#define C10D_TAKE(word) roles::word::Take(arguments, word);

// Finds the real function. With kOfOwner, several libraries may define it: the right one is the
// library that made the object, which contains the object's virtual table.
template <bool kOfOwner>
struct TargetOf {
  constexpr explicit TargetOf(const char* symbol) : target{.symbol = symbol} {}
  Target target;
  void* Get(const void*) { return target.Get(); }
};
template <>
struct TargetOf<true> {
  constexpr explicit TargetOf(const char* symbol) : target{.any = {.symbol = symbol}} {}
  TargetOfOwner target;
  void* Get(const void* self) { return target.Get(*static_cast<const void* const*>(self)); }
};
// UCC's backend is in PyTorch, and in the plugin torch_ucc with the same names.
constexpr bool MayBeOfPlugin(std::string_view mangled) {
  return mangled.find("ProcessGroupUCC") != std::string_view::npos;
}
#define C10D_TARGET(name, mangled) constinit TargetOf<MayBeOfPlugin(mangled)> name(mangled)

// One operation of one backend.
#define C10D_WRAPPER(class_name, method, operation, mangled, ...)                    \
  ROLLCALL_EXPORT Returned class_name##_##method(                                    \
      void* self, RC_LIST(C10D_PARAMETER, __VA_ARGS__)) __asm__(mangled);            \
  Returned class_name##_##method(void* self, RC_LIST(C10D_PARAMETER, __VA_ARGS__)) { \
    static C10D_TARGET(next, mangled);                                               \
    C10D_INFO(operation);                                                            \
    using Function = Returned (*)(void*, RC_LIST(C10D_TYPE, __VA_ARGS__));           \
    const auto function = reinterpret_cast<Function>(next.Get(self));                \
    if (function == nullptr) return {};                                              \
    if (!Recording()) return function(self, RC_LIST(C10D_NAME, __VA_ARGS__));        \
    Arguments arguments;                                                             \
    arguments.backend = self;                                                        \
    RC_EACH(C10D_TAKE, __VA_ARGS__)                                                  \
    Call call = C10D_CALL();                                                         \
    BeginOperation(&call, arguments);                                                \
    Returned work = function(self, RC_LIST(C10D_NAME, __VA_ARGS__));                 \
    EndOperation(&call);                                                             \
    return work;                                                                     \
  }

#define C10D_METHOD(operation, method, symbol, ...)                                      \
  C10D_WRAPPER(ProcessGroupGloo, method, operation, "_ZN4c10d16ProcessGroupGloo" symbol, \
               __VA_ARGS__)
#include "proto/torch_functions.def"  // NOLINT(bugprone-suspicious-include)
#define C10D_METHOD(operation, method, symbol, ...) \
  C10D_WRAPPER(ProcessGroupMPI, method, operation, "_ZN4c10d15ProcessGroupMPI" symbol, __VA_ARGS__)
#include "proto/torch_functions.def"  // NOLINT(bugprone-suspicious-include)
#define C10D_METHOD(operation, method, symbol, ...)                                      \
  C10D_WRAPPER(ProcessGroupNCCL, method, operation, "_ZN4c10d16ProcessGroupNCCL" symbol, \
               __VA_ARGS__)
#include "proto/torch_functions.def"  // NOLINT(bugprone-suspicious-include)
#define C10D_METHOD(operation, method, symbol, ...) \
  C10D_WRAPPER(ProcessGroupUCC, method, operation, "_ZN4c10d15ProcessGroupUCC" symbol, __VA_ARGS__)
#include "proto/torch_functions.def"  // NOLINT(bugprone-suspicious-include)
#define C10D_METHOD(operation, method, symbol, ...)                                      \
  C10D_WRAPPER(ProcessGroupXCCL, method, operation, "_ZN4c10d16ProcessGroupXCCL" symbol, \
               __VA_ARGS__)
#include "proto/torch_functions.def"  // NOLINT(bugprone-suspicious-include)

// --- functions without a Work --------------------------------------------------------------------

// `name` is the name of the C++ function that follows, which returns a word, or nothing.
#define C10D_FUNCTION(name, mangled, ...)                                \
  ROLLCALL_EXPORT Word name(void* self, ##__VA_ARGS__) __asm__(mangled); \
  namespace {                                                            \
  [[maybe_unused]] constinit Target next_##name{mangled};                \
  }                                                                      \
  Word name(void* self, ##__VA_ARGS__)
#define C10D_NEXT(name, ...) reinterpret_cast<Word (*)(__VA_ARGS__)>(next_##name.Get())

#define STD_STRING "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"

// monitored_barrier: blocks until all members take part or the timeout expires.
C10D_FUNCTION(MonitoredBarrier,
              "_ZN4c10d16ProcessGroupGloo16monitoredBarrierERKNS_14BarrierOptionsEb", Word options,
              Word all) {
  const auto function = C10D_NEXT(MonitoredBarrier, void*, Word, Word);
  if (function == nullptr) return 0;
  if (!Recording()) return function(self, options, all);
  C10D_INFO(MonitoredBarrier);
  Call call = C10D_CALL();
  Arguments arguments;
  arguments.backend = self;
  BeginOperation(&call, arguments);
  const Word returned = function(self, options, all);
  EndOperation(&call);
  return returned;
}

// --- groups --------------------------------------------------------------------------------------

// The constructor of TCPStore. It connects to the server, which is in the process of rank 0 or in
// torchrun, and waits for all ranks. `options` begins with the port. The wrapper starts the
// recording.
C10D_FUNCTION(TcpStore, "_ZN4c10d8TCPStoreC1E" STD_STRING "RKNS_15TCPStoreOptionsE", Word host,
              Word options) {
  const auto function = C10D_NEXT(TcpStore, void*, Word, Word);
  if (function == nullptr) return 0;
  if (!IsTorchWorker()) return function(self, host, options);
  Start();
  if (!Recording()) return function(self, host, options);
  C10D_INFO(Rendezvous);
  Call call = C10D_CALL();
  const StringView name = ReadString(reinterpret_cast<const void*>(host));
  BeginRendezvous(&call, {.host = name.text,
                          .host_length = name.length,
                          .port = *reinterpret_cast<const uint16_t*>(options)});
  const Word returned = function(self, host, options);
  EndRendezvous(&call);
  return returned;
}

// A std::vector of bytes, returned as a class that is not trivial. Owns nothing here.
struct ReturnedBytes {
  Word words[3] = {};
  ReturnedBytes() = default;
  ReturnedBytes(ReturnedBytes&& other) noexcept
      : words{other.words[0], other.words[1], other.words[2]} {}
  ReturnedBytes(const ReturnedBytes&) = delete;
  ~ReturnedBytes() {}  // NOLINT: not trivial, which decides how it is returned
};

// `key` is a std::string.
#define C10D_STORE_GET(name, store)                                                            \
  ROLLCALL_EXPORT ReturnedBytes name(void* self,                                               \
                                     Word key) __asm__("_ZN4c10d" store "3getERK" STD_STRING); \
  ReturnedBytes name(void* self, Word key) {                                                   \
    static constinit Target next{"_ZN4c10d" store "3getERK" STD_STRING};                       \
    const auto function = reinterpret_cast<ReturnedBytes (*)(void*, Word)>(next.Get());        \
    if (function == nullptr) return {};                                                        \
    if (!Recording()) return function(self, key);                                              \
    C10D_INFO(StoreGet);                                                                       \
    Call call = C10D_CALL();                                                                   \
    const StringView text = ReadString(reinterpret_cast<const void*>(key));                    \
    BeginStoreWait(&call, {text.text, text.length});                                           \
    ReturnedBytes value = function(self, key);                                                 \
    EndStoreWait(&call);                                                                       \
    return value;                                                                              \
  }
C10D_STORE_GET(TcpStoreGet, "8TCPStore")
C10D_STORE_GET(FileStoreGet, "9FileStore")

// `keys` is a std::vector of std::string. The first key is recorded.
#define C10D_STORE_WAIT(name, store)                                                     \
  C10D_FUNCTION(name,                                                                    \
                "_ZN4c10d" store                                                         \
                "4waitERKSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE" \
                "SaIS7_EERKNSt6chrono8durationIlSt5ratioILl1ELl1000EEEE",                \
                Word keys, Word timeout) {                                               \
    const auto function = C10D_NEXT(name, void*, Word, Word);                            \
    if (function == nullptr) return 0;                                                   \
    const auto* ends = reinterpret_cast<const Word*>(keys);                              \
    if (!Recording() || ends[0] == ends[1]) return function(self, keys, timeout);        \
    C10D_INFO(StoreWait);                                                                \
    Call call = C10D_CALL();                                                             \
    const StringView text = ReadString(reinterpret_cast<const void*>(ends[0]));          \
    BeginStoreWait(&call, {text.text, text.length});                                     \
    const Word returned = function(self, keys, timeout);                                 \
    EndStoreWait(&call);                                                                 \
    return returned;                                                                     \
  }
C10D_STORE_WAIT(TcpStoreWait, "8TCPStore")
C10D_STORE_WAIT(FileStoreWait, "9FileStore")

// The constructor of a PrefixStore. `prefix` is a std::string, and `below` is an
// intrusive_ptr<Store>. Both are passed by address: as a reference in some versions, by value in
// others.
#define C10D_PREFIX_STORE(name, mangled, read)                                             \
  C10D_FUNCTION(name, mangled, Word prefix, Word below) {                                  \
    const auto function = C10D_NEXT(name, void*, Word, Word);                              \
    if (function == nullptr) return 0;                                                     \
    const StringView text = read(reinterpret_cast<const void*>(prefix));                   \
    NoteStore(self, text.text, text.length, *reinterpret_cast<const void* const*>(below)); \
    return function(self, prefix, below);                                                  \
  }
C10D_PREFIX_STORE(
    PrefixStoreByReference,
    "_ZN4c10d11PrefixStoreC1ERK" STD_STRING
    "N3c1013intrusive_ptrINS_5StoreENS9_6detail34intrusive_target_default_null_typeISB_EEEE",
    ReadString)
C10D_PREFIX_STORE(
    PrefixStoreByValue,
    "_ZN4c10d11PrefixStoreC1E" STD_STRING
    "N3c1013intrusive_ptrINS_5StoreENS7_6detail34intrusive_target_default_null_typeIS9_EEEE",
    ReadString)
// Wheels up to 2.5 have libstdc++'s old ABI.
C10D_PREFIX_STORE(
    OldPrefixStoreByReference,
    "_ZN4c10d11PrefixStoreC1ERKSs"
    "N3c1013intrusive_ptrINS_5StoreENS3_6detail34intrusive_target_default_null_typeIS5_EEEE",
    ReadOldString)
C10D_PREFIX_STORE(
    OldPrefixStoreByValue,
    "_ZN4c10d11PrefixStoreC1ESs"
    "N3c1013intrusive_ptrINS_5StoreENS1_6detail34intrusive_target_default_null_typeIS3_EEEE",
    ReadOldString)

// The constructors of the backends. The wrappers start the recording. Gloo's constructor connects
// all members and blocks until they call it; the other backends connect at the first operation.
// `store` is an intrusive_ptr<Store>, which is passed by address: as a reference in some versions,
// by value in others.
#define C10D_FOUND(id) next_##id.Get()
#define C10D_GROUP(id, mangled, device, type)                                             \
  C10D_FUNCTION(id, mangled, Word store, Word rank, Word size, type options) {            \
    const auto function =                                                                 \
        reinterpret_cast<Word (*)(void*, Word, Word, Word, type)>(C10D_FOUND(id));        \
    if (function == nullptr) return 0;                                                    \
    Start();                                                                              \
    if (!Recording()) return function(self, store, rank, size, options);                  \
    C10D_INFO(InitGroup);                                                                 \
    Call call = C10D_CALL();                                                              \
    BeginGroup(&call, {.backend = self,                                                   \
                       .name = NameOfGroup(*reinterpret_cast<const void* const*>(store)), \
                       .rank = static_cast<int32_t>(rank),                                \
                       .size = static_cast<int32_t>(size),                                \
                       .on_device = (device)});                                           \
    const Word returned = function(self, store, rank, size, options);                     \
    EndGroup(&call);                                                                      \
    return returned;                                                                      \
  }
#define STORE \
  "N3c1013intrusive_ptrINS_5StoreENS1_6detail34intrusive_target_default_null_typeIS3_EEEE"
C10D_GROUP(Gloo, "_ZN4c10d16ProcessGroupGlooC1ERK" STORE "iiNS2_INS0_7OptionsENS5_ISA_EEEE", false,
           Word)
C10D_GROUP(NcclByReference,
           "_ZN4c10d16ProcessGroupNCCLC1ERK" STORE "iiNS2_INS0_7OptionsENS5_ISA_EEEE", true, Word)
C10D_GROUP(NcclByValue, "_ZN4c10d16ProcessGroupNCCLC1E" STORE "iiNS2_INS0_7OptionsENS5_IS8_EEEE",
           true, Word)
C10D_GROUP(XcclByReference,
           "_ZN4c10d16ProcessGroupXCCLC1ERK" STORE "iiNS2_INS0_7OptionsENS5_ISA_EEEE", false, Word)
C10D_GROUP(XcclByValue, "_ZN4c10d16ProcessGroupXCCLC1E" STORE "iiNS2_INS0_7OptionsENS5_IS8_EEEE",
           false, Word)
// `options` is a std::chrono::duration<float>, which is passed like a float. The object has no
// virtual table yet; its library is that of the caller.
#undef C10D_FOUND
#define C10D_FOUND(id) of_owner_##id.Get(__builtin_return_address(0))
#define UCC_GROUP \
  "_ZN4c10d15ProcessGroupUCCC1ERK" STORE "iiNSt6chrono8durationIfSt5ratioILl1ELl1EEEE"
static constinit TargetOfOwner of_owner_Ucc{{UCC_GROUP}};
C10D_GROUP(Ucc, UCC_GROUP, false, float)

// The MPI backend. `ranks` is a std::vector<int>, passed by address; an empty list means all ranks.
ROLLCALL_EXPORT Returned
CreateMpi(Word ranks) __asm__("_ZN4c10d15ProcessGroupMPI21createProcessGroupMPIESt6vectorIiSaIiEE");
Returned CreateMpi(Word ranks) {
  static constinit Target next{
      "_ZN4c10d15ProcessGroupMPI21createProcessGroupMPIESt6vectorIiSaIiEE"};
  const auto function = reinterpret_cast<Returned (*)(Word)>(next.Get());
  if (function == nullptr) return {};
  const auto* vector = reinterpret_cast<const int* const*>(ranks);
  NoteMpiRanks(vector[0], vector[1]);
  return function(ranks);
}

C10D_FUNCTION(Mpi, "_ZN4c10d15ProcessGroupMPIC1EiiP19ompi_communicator_t", Word rank, Word size,
              Word comm) {
  const auto function = C10D_NEXT(Mpi, void*, Word, Word, Word);
  if (function == nullptr) return 0;
  if (!Recording()) return function(self, rank, size, comm);
  SetOwnCalls(reinterpret_cast<const void*>(function));
  C10D_INFO(InitGroup);
  Call call = C10D_CALL();
  BeginGroup(&call, {.backend = self,
                     .name = NameOfMpiGroup(),
                     .rank = static_cast<int32_t>(rank),
                     .size = static_cast<int32_t>(size)});
  const Word returned = function(self, rank, size, comm);
  EndGroup(&call);
  return returned;
}

#define C10D_GROUP_END(name, mangled)                \
  C10D_FUNCTION(name, mangled) {                     \
    const auto function = C10D_NEXT(name, void*);    \
    if (Recording()) GroupGone(self);                \
    return function == nullptr ? 0 : function(self); \
  }
C10D_GROUP_END(BackendEnd, "_ZN4c10d7BackendD2Ev")
C10D_GROUP_END(ProcessGroupEnd, "_ZN4c10d12ProcessGroupD2Ev")  // 1.13: a backend is a ProcessGroup

// --- works ---------------------------------------------------------------------------------------

#define C10D_WORK(name, mangled)                                                \
  C10D_FUNCTION(name, mangled, Word rank, Word type, Word title, Word inputs) { \
    const auto function = C10D_NEXT(name, void*, Word, Word, Word, Word);       \
    if (Recording()) WorkMade(self, ROLLCALL_CALLER_FRAME());                   \
    return function == nullptr ? 0 : function(self, rank, type, title, inputs); \
  }
C10D_WORK(WorkOfC10Optional,
          "_ZN4c10d4WorkC2EiNS_6OpTypeEPKcRKN3c108optionalISt6vectorIN2at6TensorESaIS8_EEEE")
C10D_WORK(WorkOfStdOptional,
          "_ZN4c10d4WorkC2EiNS_6OpTypeEPKcRKSt8optionalISt6vectorIN2at6TensorESaIS7_EEE")

// `exception` is a std::exception_ptr, passed by address. It is one pointer, null if there is none.
#define C10D_WORK_DONE(name, mangled)                                                \
  C10D_FUNCTION(name, mangled, Word exception) {                                     \
    const auto function = C10D_NEXT(name, void*, Word);                              \
    if (Recording()) WorkDone(self, *reinterpret_cast<const Word*>(exception) != 0); \
    return function == nullptr ? 0 : function(self, exception);                      \
  }
C10D_WORK_DONE(WorkFinish, "_ZN4c10d4Work6finishENSt15__exception_ptr13exception_ptrE")
C10D_WORK_DONE(WorkFinishAndThrow,
               "_ZN4c10d4Work14finishAndThrowENSt15__exception_ptr13exception_ptrE")

C10D_FUNCTION(WorkEnd, "_ZN4c10d4WorkD2Ev") {
  const auto function = C10D_NEXT(WorkEnd, void*);
  if (Recording()) WorkGone(self);
  return function == nullptr ? 0 : function(self);
}

// `ends`: the backend does not call Work::finish, so a wait that returns true completes the Work.
#define C10D_WAIT(name, mangled, ends)                                             \
  ROLLCALL_EXPORT Word name(void* self, Word timeout) __asm__(mangled);            \
  Word name(void* self, Word timeout) {                                            \
    static C10D_TARGET(next, mangled);                                             \
    const auto function = reinterpret_cast<Word (*)(void*, Word)>(next.Get(self)); \
    if (function == nullptr) return 0;                                             \
    if (!Recording()) return function(self, timeout);                              \
    C10D_INFO(Wait);                                                               \
    Call call = C10D_CALL();                                                       \
    BeginWait(&call, self);                                                        \
    const Word returned = function(self, timeout);                                 \
    if ((ends) && (returned & 0xff) != 0) WorkDone(self, false);                   \
    EndWait(&call);                                                                \
    return returned;                                                               \
  }
#define MILLISECONDS "ENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE"
C10D_WAIT(WorkWait, "_ZN4c10d4Work4wait" MILLISECONDS, false)
C10D_WAIT(SendWorkWait, "_ZN4c10d16ProcessGroupGloo8SendWork4wait" MILLISECONDS, false)
C10D_WAIT(RecvWorkWait, "_ZN4c10d16ProcessGroupGloo8RecvWork4wait" MILLISECONDS, false)
C10D_WAIT(MpiWorkWait, "_ZN4c10d15ProcessGroupMPI9AsyncWork4wait" MILLISECONDS, false)
C10D_WAIT(NcclWorkWait, "_ZN4c10d16ProcessGroupNCCL8WorkNCCL4wait" MILLISECONDS, false)
C10D_WAIT(NcclWorksWait, "_ZN4c10d16ProcessGroupNCCL17CoalescedWorkNCCL4wait" MILLISECONDS, false)
C10D_WAIT(UccWorkWait, "_ZN4c10d15ProcessGroupUCC7WorkUCC4wait" MILLISECONDS, true)
C10D_WAIT(XcclWorkWait, "_ZN4c10d16ProcessGroupXCCL8WorkXCCL4wait" MILLISECONDS, true)

// --- DDP -----------------------------------------------------------------------------------------

C10D_FUNCTION(AllReduceBucket, "_ZN4c10d7Reducer17all_reduce_bucketERNS0_6BucketE", Word bucket) {
  const auto function = C10D_NEXT(AllReduceBucket, void*, Word);
  if (function == nullptr) return 0;
  EnterReducer(self);
  const Word returned = function(self, bucket);
  LeaveReducer();
  return returned;
}

C10D_FUNCTION(ReducerPrepare,
              "_ZN4c10d7Reducer20prepare_for_backwardERKSt6vectorIN2at6TensorESaIS3_EE",
              Word outputs) {
  const auto function = C10D_NEXT(ReducerPrepare, void*, Word);
  if (Recording()) PrepareForBackward(self);
  return function == nullptr ? 0 : function(self, outputs);
}

C10D_FUNCTION(FinalizeBackward, "_ZN4c10d7Reducer17finalize_backwardEv") {
  const auto function = C10D_NEXT(FinalizeBackward, void*);
  if (function == nullptr) return 0;
  if (!Recording()) return function(self);
  C10D_INFO(WaitForGradients);
  Call call = C10D_CALL();
  BeginReducerWait(&call, self);
  const Word returned = function(self);
  EndReducerWait(&call, self);
  return returned;
}

}  // namespace rollcall::shim::torch

#endif  // ROLLCALL_NO_EXPORTS
