# System calls of tracers, and of the programs they start.

from libc.stddef cimport size_t


cdef extern from "<sys/user.h>" nogil:
    struct user_regs_struct:
        unsigned long long r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, orig_rax
        unsigned long long rip, cs, eflags, rsp, ss, fs_base, gs_base, ds, es, fs, gs

cdef extern from "<sys/ptrace.h>" nogil:
    enum:
        PTRACE_TRACEME, PTRACE_CONT, PTRACE_SINGLESTEP, PTRACE_GETREGS, PTRACE_SETREGS, PTRACE_SETOPTIONS
        PTRACE_O_EXITKILL
    long ptrace(int request, ...)

cdef extern from "<sys/personality.h>" nogil:
    enum:
        ADDR_NO_RANDOMIZE
    int personality(unsigned long persona)

cdef extern from "<sys/wait.h>" nogil:
    enum:
        __WALL
    int waitpid(int pid, int *status, int options)
    int WIFSTOPPED(int status)
    int WSTOPSIG(int status)

cdef extern from "<sys/uio.h>" nogil:
    struct iovec:
        void *iov_base
        size_t iov_len
    ssize_t process_vm_readv(int pid, iovec *local, unsigned long count, iovec *remote, unsigned long remotes,
                             unsigned long flags)

cdef extern from "<unistd.h>" nogil:
    int fork()
    int execve(const char *path, char **arguments, char **environment)
    void _exit(int status)
    int dup2(int old, int new)
