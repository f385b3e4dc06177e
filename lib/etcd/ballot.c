/* ballot.c - see ballot.h */
#include "etcd/ballot.h"

#include <string.h>

static void op_range(Etcd__RequestOp *op, Etcd__RangeRequest *m,
		     const struct etcd_key *key)
{
	etcd__range_request__init(m);
	m->key = etcd_key_bytes(key);
	etcd__request_op__init(op);
	op->request_case = ETCD__REQUEST_OP__REQUEST_RANGE;
	op->range = m;
}

static void op_put(Etcd__RequestOp *op, Etcd__PutRequest *m,
		   const struct etcd_key *key, const char *value, int64_t lease)
{
	etcd__put_request__init(m);
	m->key = etcd_key_bytes(key);
	m->value = (ProtobufCBinaryData){ .len = strlen(value),
					  .data = (uint8_t *)value };
	m->lease = lease;
	etcd__request_op__init(op);
	op->request_case = ETCD__REQUEST_OP__REQUEST_PUT;
	op->put = m;
}

/* If the key was never created: `success`, else `failure`. */
static void ask(struct etcd *etcd, struct etcd_call *call,
		const struct etcd_key *key, Etcd__RequestOp **success,
		size_t n_success, Etcd__RequestOp **failure, size_t n_failure,
		int64_t timeout_ms)
{
	Etcd__TxnRequest m = ETCD__TXN_REQUEST__INIT;
	Etcd__Compare nobody;
	Etcd__Compare *compare[] = { &nobody };

	etcd_compare_created(&nobody, key, 0);
	m.compare = compare;
	m.n_compare = 1;
	m.success = success;
	m.n_success = n_success;
	m.failure = failure;
	m.n_failure = n_failure;
	etcd_begin(etcd, call, ETCD_TXN, &m.base, timeout_ms);
}

void ballot_look(struct etcd *etcd, struct etcd_call *call,
		 const struct ballot *b, int64_t timeout_ms)
{
	Etcd__RequestOp put, schema, leader;
	Etcd__PutRequest put_m;
	Etcd__RangeRequest schema_m, leader_m;
	Etcd__RequestOp *success[] = { &put, &leader };
	Etcd__RequestOp *failure[] = { &schema, &leader };

	op_put(&put, &put_m, &b->schema, ETCD_SCHEMA, 0);
	op_range(&schema, &schema_m, &b->schema);
	op_range(&leader, &leader_m, &b->leader);
	ask(etcd, call, &b->schema, success, 2, failure, 2, timeout_ms);
}

void ballot_campaign(struct etcd *etcd, struct etcd_call *call,
		     const struct ballot *b, int64_t lease, int64_t timeout_ms)
{
	Etcd__RequestOp put, leader;
	Etcd__PutRequest put_m;
	Etcd__RangeRequest leader_m;
	Etcd__RequestOp *success[] = { &put, &leader };
	Etcd__RequestOp *failure[] = { &leader };

	op_put(&put, &put_m, &b->leader, b->address, lease);
	op_range(&leader, &leader_m, &b->leader);
	ask(etcd, call, &b->leader, success, 2, failure, 1, timeout_ms);
}

const Etcd__KeyValue *ballot_found(const Etcd__TxnResponse *m, size_t op)
{
	const Etcd__ResponseOp *r = op < m->n_responses ? m->responses[op] :
							  NULL;

	if (!r || r->response_case != ETCD__RESPONSE_OP__RESPONSE_RANGE ||
	    !r->range->n_kvs)
		return NULL;
	return r->range->kvs[0];
}

bool ballot_is_ours(const Etcd__KeyValue *schema)
{
	return schema->value.len == strlen(ETCD_SCHEMA) &&
	       memcmp(schema->value.data, ETCD_SCHEMA, schema->value.len) == 0;
}
