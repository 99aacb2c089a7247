/* A small language: tokens to bytecode in one pass, and a stack machine that runs it. */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "stepped.h"

enum tag { V_NIL, V_INT, V_NUM, V_STR, V_PAIR };
enum op { OP_CONST, OP_LOAD, OP_STORE, OP_ADD, OP_SUB, OP_MUL, OP_LESS, OP_JZ, OP_JMP, OP_CALL, OP_RET, OP_CONS,
	  OP_HEAD, OP_TAIL, OP_MAX };

/* Interned: one for every spelling. */
struct string {
	struct string *next;
	uint32_t hash;
	uint16_t len;
	int16_t function;			/* index of the function of this name, or -1 */
	char text[];
};

struct pair;

struct value {
	enum tag tag;
	union {
		int64_t i;
		double d;
		struct string *s;
		struct pair *p;
	} u;
};

struct pair {
	struct value head, tail;
	struct pair *all;
	bool marked;
};

struct insn {
	uint32_t op : 8;
	uint32_t line : 8;
	int32_t arg : 16;
};

struct function {
	struct string *name;
	struct insn *code;
	uint32_t ncode, max_code;
	struct value consts[12];
	uint8_t nconsts, nargs, nlocals;
	struct string *locals[10];
	uint64_t calls;
};

struct frame {
	struct function *fn;
	const struct insn *pc;
	struct value *base;
};

struct token {
	const char *at;
	size_t len;
	enum { T_END, T_OPEN, T_CLOSE, T_STRING, T_NUMBER, T_NAME } kind;
};

struct compiler {
	const char *pos;
	unsigned line;
	struct token tok;
	struct function *fn;
};

struct vm {
	struct value stack[256];
	struct value *sp;
	struct frame frames[48];
	int depth, max_depth;
	struct pair *pairs;
	unsigned npairs, limit, freed;
	uint32_t executed[OP_MAX];
};

static struct {
	struct string *bucket[32];
	unsigned count;
} strings;

static struct function *functions[16];
static int nfunctions;
static struct vm vm;

static struct string *intern(const char *text, size_t len)
{
	struct string *s, **link;
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619u;
	for (link = &strings.bucket[hash % 32]; (s = *link); link = &s->next)
		if (s->hash == hash && s->len == len && !memcmp(s->text, text, len))
			return s;
	s = calloc(1, sizeof(*s) + len + 1);
	stepped_here("string", s, sizeof(*s) + len + 1, 1);
	s->hash = hash;
	s->len = (uint16_t)len;
	s->function = -1;
	memcpy(s->text, text, len);
	strings.count++;
	return *link = s;
}

/* ---- compiler ---- */

static struct token *advance(struct compiler *c)
{
	struct token *t = &c->tok;

	while (isspace((unsigned char)*c->pos))
		c->line += *c->pos++ == '\n';
	t->at = c->pos;
	t->len = 1;
	if (*c->pos == '(' || *c->pos == ')' || !*c->pos) {
		t->kind = *c->pos == '(' ? T_OPEN : *c->pos ? T_CLOSE : T_END;
	} else if (*c->pos == '"') {
		t->kind = T_STRING;
		t->len = strchr(t->at + 1, '"') + 1 - t->at;
	} else {
		t->kind = isdigit((unsigned char)*c->pos) ? T_NUMBER : T_NAME;
		t->len = strcspn(t->at, " \n\t()");
	}
	c->pos += t->kind == T_END ? 0 : t->len;
	return t;
}

static uint32_t emit(struct compiler *c, enum op op, int arg)
{
	struct function *fn = c->fn;

	if (fn->ncode == fn->max_code) {
		fn->max_code += 16;
		fn->code = realloc(fn->code, fn->max_code * sizeof(*fn->code));
		stepped_here("insn", fn->code, sizeof(*fn->code), fn->max_code);
	}
	fn->code[fn->ncode] = (struct insn){ .op = op, .line = c->line, .arg = arg };
	return fn->ncode++;
}

static int local(struct function *fn, struct string *s)
{
	for (int i = 0; i < fn->nlocals; i++)
		if (fn->locals[i] == s)
			return i;
	fn->locals[fn->nlocals] = s;
	return fn->nlocals++;
}

static const struct builtin {
	const char *name;
	uint8_t op, nargs;
} builtins[] = {
	{ "+", OP_ADD, 2 }, { "-", OP_SUB, 2 }, { "*", OP_MUL, 2 }, { "<", OP_LESS, 2 },
	{ "cons", OP_CONS, 2 }, { "head", OP_HEAD, 1 }, { "tail", OP_TAIL, 1 }, { "return", OP_RET, 1 },
};

static void expression(struct compiler *c);

/* The rest of a form, up to its bracket. */
static unsigned body(struct compiler *c)
{
	unsigned n = 0;

	while (advance(c)->kind != T_CLOSE && c->tok.kind != T_END) {
		expression(c);
		n++;
	}
	return n;
}

static void form(struct compiler *c, struct string *head)
{
	uint32_t start = c->fn->ncode, jump;
	int slot;

	if (!strcmp(head->text, "set")) {
		advance(c);
		slot = local(c->fn, intern(c->tok.at, c->tok.len));
		body(c);
		emit(c, OP_STORE, slot);
		return;
	}
	if (!strcmp(head->text, "while") || !strcmp(head->text, "if")) {
		advance(c);
		expression(c);
		jump = emit(c, OP_JZ, 0);
		body(c);
		if (*head->text == 'w')
			emit(c, OP_JMP, start);
		c->fn->code[jump].arg = c->fn->ncode;
		return;
	}
	body(c);
	for (const struct builtin *b = builtins; b < builtins + sizeof(builtins) / sizeof(*b); b++) {
		if (!strcmp(b->name, head->text)) {
			emit(c, b->op, b->nargs);
			return;
		}
	}
	emit(c, OP_CALL, head->function);
}

static void expression(struct compiler *c)
{
	const struct token t = c->tok;
	struct value v = { V_NIL, { 0 } };

	switch (t.kind) {
	case T_OPEN:
		if (advance(c)->kind == T_NAME) {
			form(c, intern(c->tok.at, c->tok.len));
			return;
		}
		break;				/* () is nil */
	case T_NAME:
		emit(c, OP_LOAD, local(c->fn, intern(t.at, t.len)));
		return;
	case T_STRING:
		v = (struct value){ V_STR, { .s = intern(t.at + 1, t.len - 2) } };
		break;
	default:
		if (memchr(t.at, '.', t.len))
			v = (struct value){ V_NUM, { .d = strtod(t.at, NULL) } };
		else
			v = (struct value){ V_INT, { .i = strtol(t.at, NULL, 10) } };
	}
	c->fn->consts[c->fn->nconsts] = v;
	emit(c, OP_CONST, c->fn->nconsts++);
}

/* (def name (args) body) */
static void compile(const char *source)
{
	struct compiler c = { .pos = source, .line = 1 };

	while (advance(&c)->kind == T_OPEN) {
		struct function *fn = calloc(1, sizeof(*fn));

		stepped_here("function", fn, sizeof(*fn), 1);
		c.fn = functions[nfunctions] = fn;
		advance(&c);
		advance(&c);
		fn->name = intern(c.tok.at, c.tok.len);
		fn->name->function = nfunctions++;
		advance(&c);
		while (advance(&c)->kind == T_NAME) {
			local(fn, intern(c.tok.at, c.tok.len));
			fn->nargs++;
		}
		body(&c);
		emit(&c, OP_RET, 1);
	}
}

/* ---- machine ---- */

static void mark(struct value *v)
{
	for (; v->tag == V_PAIR && !v->u.p->marked; v = &v->u.p->tail) {
		v->u.p->marked = true;
		mark(&v->u.p->head);
	}
}

static void collect(void)
{
	struct pair *p, **link = &vm.pairs;

	for (struct value *v = vm.stack; v < vm.sp; v++)
		mark(v);
	while ((p = *link)) {
		if (p->marked) {
			p->marked = false;
			link = &p->all;
			continue;
		}
		*link = p->all;
		free(p);
		vm.npairs--;
		vm.freed++;
	}
	vm.limit = vm.npairs * 2 + 16;
}

static struct value cons(const struct value *head, const struct value *tail)
{
	struct pair *p;

	if (vm.npairs >= vm.limit)
		collect();
	p = calloc(1, sizeof(*p));
	stepped_here("pair", p, sizeof(*p), 1);
	p->head = *head;
	p->tail = *tail;
	p->all = vm.pairs;
	vm.pairs = p;
	vm.npairs++;
	return (struct value){ V_PAIR, { .p = p } };
}

static double number(const struct value *v)
{
	return v->tag == V_NUM ? v->u.d : v->tag == V_INT ? (double)v->u.i : 0;
}

static struct value arith(enum op op, struct value a, struct value b)
{
	struct value r = { V_INT, { 0 } };
	char buf[64];

	if (a.tag == V_STR && b.tag == V_STR) {
		int n = snprintf(buf, sizeof(buf), "%.24s%.24s", a.u.s->text, b.u.s->text);

		return (struct value){ V_STR, { .s = intern(buf, n) } };
	}
	if (a.tag == V_INT && b.tag == V_INT) {
		r.u.i = op == OP_ADD ? a.u.i + b.u.i : op == OP_SUB ? a.u.i - b.u.i :
			op == OP_MUL ? a.u.i * b.u.i % 1000003 : a.u.i < b.u.i;
		return r;
	}
	if (op == OP_LESS) {
		r.u.i = number(&a) < number(&b);
		return r;
	}
	r.tag = V_NUM;
	r.u.d = op == OP_ADD ? number(&a) + number(&b) : op == OP_SUB ? number(&a) - number(&b) :
		number(&a) * number(&b);
	return r;
}

static void enter(struct function *fn)
{
	struct frame *f = &vm.frames[vm.depth++];

	f->fn = fn;
	f->pc = fn->code;
	f->base = vm.sp - fn->nargs;
	for (int i = fn->nargs; i < fn->nlocals; i++)
		(vm.sp++)->tag = V_NIL;
	fn->calls++;
	if (vm.depth > vm.max_depth)
		vm.max_depth = vm.depth;
}

static struct value run(struct function *fn)
{
	struct frame *f;
	struct value v;

	vm.sp = vm.stack;
	enter(fn);
	f = &vm.frames[0];
	for (;;) {
		const struct insn in = *f->pc++;

		vm.executed[in.op]++;
		switch (in.op) {
		case OP_CONST:
			*vm.sp++ = f->fn->consts[in.arg];
			break;
		case OP_LOAD:
			*vm.sp++ = f->base[in.arg];
			break;
		case OP_STORE:
			f->base[in.arg] = *--vm.sp;
			break;
		case OP_ADD: case OP_SUB: case OP_MUL: case OP_LESS:
			v = arith(in.op, vm.sp[-2], vm.sp[-1]);
			(--vm.sp)[-1] = v;
			break;
		case OP_JZ:
			v = *--vm.sp;
			if (v.tag == V_NIL || (v.tag == V_INT && !v.u.i))
				f->pc = f->fn->code + in.arg;
			break;
		case OP_JMP:
			f->pc = f->fn->code + in.arg;
			break;
		case OP_CALL:
			enter(functions[in.arg]);
			f = &vm.frames[vm.depth - 1];
			break;
		case OP_RET:
			v = vm.sp[-1];
			vm.sp = f->base;
			if (!--vm.depth)
				return v;
			f--;
			*vm.sp++ = v;
			break;
		case OP_CONS:
			v = cons(&vm.sp[-2], &vm.sp[-1]);
			(--vm.sp)[-1] = v;
			break;
		case OP_HEAD: case OP_TAIL:
			if (vm.sp[-1].tag == V_PAIR)
				vm.sp[-1] = in.op == OP_HEAD ? vm.sp[-1].u.p->head : vm.sp[-1].u.p->tail;
			break;
		default:
			abort();
		}
	}
}

static const char program[] =
	"(def fib (n) (if (< n 2) (return n)) (+ (fib (- n 1)) (fib (- n 2))))\n"
	"(def range (n) (set l ()) (while (< 0 n) (set l (cons n l)) (set n (- n 1))) l)\n"
	"(def sum (l) (set s 0) (while l (set s (+ s (head l))) (set l (tail l))) s)\n"
	"(def scale (l k) (set r ()) (while l (set r (cons (* (head l) k) r)) (set l (tail l))) r)\n"
	"(def name (n) (set s \"x\") (while (< 0 n) (set s (+ s \"ab\")) (set n (- n 1))) (cons s (+ s \"end\")))\n"
	"(def main () (set i 0) (set t 0.5) (set keep ())\n"
	"	(while (< i 8)\n"
	"		(set t (+ t (sum (scale (range (+ 12 i)) 1.25))))\n"
	"		(set keep (cons (name i) keep))\n"
	"		(set i (+ i 1)))\n"
	"	(cons (fib 12) (cons t keep)))\n";

static uint32_t digest(uint32_t h, const struct value *v)
{
	switch (v->tag) {
	case V_INT:
		return h * 31 + (uint32_t)v->u.i;
	case V_NUM:
		return h * 31 + (uint32_t)(int64_t)(v->u.d * 16);
	case V_STR:
		return h * 31 + v->u.s->hash;
	case V_PAIR:
		return digest(digest(h * 31 + 1, &v->u.p->head), &v->u.p->tail);
	default:
		return h * 31;
	}
}

int main(void)
{
	struct value v;
	uint32_t h = 0, ran = 0;

	vm.limit = 64;
	compile(program);
	v = run(functions[nfunctions - 1]);
	h = digest(h, &v);
	for (int i = 0; i < OP_MAX; i++)
		ran += vm.executed[i];
	for (int i = 0; i < nfunctions; i++)
		h = h * 17 + (uint32_t)functions[i]->calls + functions[i]->ncode;
	vm.sp = vm.stack;
	collect();
	printf("%08x ran %u depth %d strings %u freed %u\n", h, ran, vm.max_depth, strings.count, vm.freed);
	while (nfunctions--) {
		free(functions[nfunctions]->code);
		free(functions[nfunctions]);
	}
	for (int i = 0; i < 32; i++) {
		for (struct string *s; (s = strings.bucket[i]); free(s))
			strings.bucket[i] = s->next;
	}
	return 0;
}
