/* Signals: raised and from a timer, nested, on an alternate stack, and left by siglongjmp; longjmp over frames. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned sink;
static sigjmp_buf away;
static jmp_buf back;
static char alternate[16384] __attribute__((aligned(16)));

NOINLINE static unsigned work(unsigned n) { return n ? work(n - 1) + n * 7 : sink; }

NOINLINE static void on_timer(int number) { sink += work(number & 3); }
NOINLINE static void on_user(int number, siginfo_t *info, void *context) {
    (void)info, (void)context;
    sink += work(number & 3);
    if (!(sink & 7))
        raise(SIGHUP);
}
NOINLINE static void on_hangup(int number) { sink += work(number & 1); }
NOINLINE static void on_escape(int number) {
    sink += work(number & 1);
    siglongjmp(away, 1);
}

NOINLINE static void deeper(unsigned depth) {
    if (!depth)
        longjmp(back, 1);
    deeper(depth - 1);
    sink++;
}

NOINLINE static void round_of(unsigned i) {
    raise(SIGUSR1);
    if (!sigsetjmp(away, 1))
        kill(getpid(), SIGUSR2);
    if (!setjmp(back))
        deeper(i & 7);
    sink += work(i & 15);
}

static void handle(int number, void *handler, int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_flags = flags;
    if (flags & SA_SIGINFO)
        action.sa_sigaction = (void (*)(int, siginfo_t *, void *))handler;
    else
        action.sa_handler = (void (*)(int))handler;
    sigaction(number, &action, NULL);
}

int main(int count, char **arguments) {
    unsigned rounds = count > 1 ? (unsigned)atoi(arguments[1]) : 1000000;
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&stack, NULL);
    handle(SIGALRM, (void *)on_timer, SA_RESTART);
    handle(SIGUSR1, (void *)on_user, SA_SIGINFO | SA_ONSTACK);
    handle(SIGHUP, (void *)on_hangup, SA_ONSTACK);
    handle(SIGUSR2, (void *)on_escape, SA_ONSTACK);
    struct itimerval often = {.it_interval = {.tv_usec = 20000}, .it_value = {.tv_usec = 20000}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (unsigned i = 0; i < rounds; i++)
        round_of(i);
    return 0;
}
