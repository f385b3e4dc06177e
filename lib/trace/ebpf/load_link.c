/* load_link.c - puts the numbers of the running kernel into instructions */
#include "trace/ebpf/load_internal.h"

#include <linux/bpf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "trace/ebpf/btf.h"

/* A helper that does not exist: for code that cannot be reached. */
enum { POISON = 195896080 };

static void put_map(struct bpf_insn *insn, const struct loading *l,
		    const struct image_ref *ref)
{
	if (ref->map >= 0) {
		insn[0].src_reg = BPF_PSEUDO_MAP_FD;
		insn[0].imm = l->maps[ref->map];
		return;
	}
	insn[0].src_reg = BPF_PSEUDO_MAP_VALUE;
	insn[0].imm = l->rodata;
	insn[1].imm = (int)ref->offset;
}

static void put_number(struct bpf_insn *insn, int64_t value)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		insn->off = (int16_t)value;
		break;
	default:
		insn->imm = (int32_t)value;
		break;
	}
}

/* A field that the kernel does not have is only used after a test that fails. */
static void poison(struct bpf_insn *insn)
{
	if (insn->code == (BPF_LD | BPF_IMM | BPF_DW))
		insn->imm = POISON;
	else
		*insn = (struct bpf_insn){ .code = BPF_JMP | BPF_CALL,
					   .imm = POISON };
}

static void put_function(struct bpf_insn *insn, int id)
{
	if (id < 0) {
		poison(insn);
		return;
	}
	insn->src_reg = BPF_PSEUDO_KFUNC_CALL;
	insn->off = 0;
	insn->imm = id;
}

static void put_field(struct bpf_insn *insn, const struct loading *l,
		      const struct image_core *core)
{
	const char *name = l->image->fields[core->field].type;
	int64_t value = l->fields[core->field];

	if (core->kind == IMAGE_FUNCTION) {
		put_function(insn, btf_function(l->btf, name));
		return;
	}
	if (core->kind == IMAGE_TYPE)
		value = btf_struct(l->btf, name);
	if (core->kind == IMAGE_EXISTS)
		put_number(insn, value >= 0);
	else if (value >= 0)
		put_number(insn, value);
	else
		poison(insn);
}

struct bpf_insn *load_link(const struct loading *l,
			   const struct image_program *p)
{
	struct bpf_insn *insns = calloc(p->n_insns, sizeof(*insns));

	if (!insns)
		return NULL;
	memcpy(insns, p->insns, p->n_insns * sizeof(*insns));
	for (uint32_t i = 0; i < p->n_refs; i++)
		put_map(insns + p->refs[i].insn, l, &p->refs[i]);
	for (uint32_t i = 0; i < p->n_core; i++)
		put_field(insns + p->core[i].insn, l, &p->core[i]);
	return insns;
}
