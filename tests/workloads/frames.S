// Hand-written frames of asm_frames.c, each with another way to say where its frame is. void f(void (*next)(void)).
    .text

// The frame's address stays in r13, the stack pointer is moved away by an amount that only r13 knows.
    .globl  frame_in_register
    .type   frame_in_register, @function
frame_in_register:
    .cfi_startproc
    push    %r13
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset r13, 0
    lea     8(%rsp), %r13
    .cfi_def_cfa r13, 8
    sub     $200, %rsp
    and     $-64, %rsp
    call    *%rdi
    lea     -8(%r13), %rsp
    .cfi_def_cfa rsp, 16
    pop     %r13
    .cfi_adjust_cfa_offset -8
    .cfi_restore r13
    ret
    .cfi_endproc
    .size   frame_in_register, .-frame_in_register

// The old stack pointer lies in memory: CFA = *(rsp + 24) + 8.
    .globl  frame_in_memory
    .type   frame_in_memory, @function
frame_in_memory:
    .cfi_startproc
    mov     %rsp, %rax
    .cfi_def_cfa_register rax
    sub     $168, %rsp
    and     $-64, %rsp
    mov     %rax, 24(%rsp)
    // DW_CFA_def_cfa_expression: breg7 24; deref; plus_uconst 8
    .cfi_escape 0x0f, 5, 0x77, 24, 0x06, 0x23, 8
    call    *%rdi
    mov     24(%rsp), %rax
    .cfi_def_cfa rax, 8
    mov     %rax, %rsp
    .cfi_def_cfa_register rsp
    ret
    .cfi_endproc
    .size   frame_in_memory, .-frame_in_memory

// State is remembered, changed for an early exit and restored, then followed by an instruction without effect.
    .globl  frame_restored
    .type   frame_restored, @function
frame_restored:
    .cfi_startproc
    push    %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbp, 0
    mov     %rsp, %rbp
    .cfi_def_cfa_register rbp
    sub     $48, %rsp
    test    %rdi, %rdi
    jne     1f
    .cfi_remember_state
    leave
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_restore_state
    .cfi_escape 0x2e, 0          // DW_CFA_GNU_args_size 0
1:  call    *%rdi
    leave
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
    .size   frame_restored, .-frame_restored

// A red-zone leaf: works below the stack pointer, saves rbx in another register.
    .globl  leaf_burn
    .type   leaf_burn, @function
leaf_burn:
    .cfi_startproc
    mov     %rbx, %r11
    .cfi_register rbx, r11
    mov     $20000, %ecx
    mov     $1, %ebx
2:  imul    $1103515245, %rbx, %rbx
    add     $12345, %rbx
    mov     %rbx, -64(%rsp)
    dec     %ecx
    jne     2b
    mov     %r11, %rbx
    .cfi_restore rbx
    ret
    .cfi_endproc
    .size   leaf_burn, .-leaf_burn
    .section .note.GNU-stack, "", @progbits
