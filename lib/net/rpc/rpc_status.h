/* rpc_status.h - the numbers of gRPC that the wires themselves answer with. */
#ifndef NET_RPC_STATUS_H
#define NET_RPC_STATUS_H

enum rpc_status {
	RPC_OK = 0,
	RPC_DEADLINE_EXCEEDED = 4,
	RPC_RESOURCE_EXHAUSTED = 8,
	RPC_UNIMPLEMENTED = 12,
	RPC_INTERNAL = 13,
	RPC_UNAVAILABLE = 14,
};

#endif
