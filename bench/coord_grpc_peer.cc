// coord_grpc_peer.cc - heartbeats by gRPC's own C++ server (callback API), to compare with.
//
//	coord_grpc_peer		prints "127.0.0.1:PORT"
//
// It answers the same calls of the same .proto and does nothing else: no worker is
// looked up, nothing is kept.  Compiled by coordinator_peers.py where gRPC is installed.
#include <cstdio>
#include <string>

#include <grpcpp/grpcpp.h>

#include "coordinator.grpc.pb.h"

namespace {

class Peer final : public coordinator::Coordinator::CallbackService {
	grpc::ServerUnaryReactor *
	Heartbeat(grpc::CallbackServerContext *context,
		  const coordinator::HeartbeatRequest *request,
		  coordinator::HeartbeatResponse *response) override
	{
		response->set_acknowledged(true);
		response->set_server_timestamp_ms(request->timestamp_ms());
		return finished(context);
	}

	grpc::ServerUnaryReactor *
	RegisterWorker(grpc::CallbackServerContext *context,
		       const coordinator::WorkerInfo *request,
		       coordinator::WorkerConfig *response) override
	{
		response->set_assigned_id(request->worker_id());
		return finished(context);
	}

	static grpc::ServerUnaryReactor *
	finished(grpc::CallbackServerContext *context)
	{
		auto *reactor = context->DefaultReactor();

		reactor->Finish(grpc::Status::OK);
		return reactor;
	}
};

} // namespace

int main()
{
	Peer peer;
	grpc::ServerBuilder builder;
	int port = 0;

	builder.AddListeningPort("127.0.0.1:0",
				 grpc::InsecureServerCredentials(), &port);
	builder.RegisterService(&peer);
	auto server = builder.BuildAndStart();
	if (!server)
		return 1;
	std::printf("127.0.0.1:%d\n", port);
	std::fflush(stdout);
	server->Wait();
}
