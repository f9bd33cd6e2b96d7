package host

import (
	"bytes"
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Methods of go-plugin's own services.
const (
	brokerMethod   = "/plugin.GRPCBroker/StartStream"
	stdioMethod    = "/plugin.GRPCStdio/StreamStdio"
	shutdownMethod = "/plugin.GRPCController/Shutdown"
)

// ours marks the context of streams that this package opens.
type ours struct{}

// stdioData is the field of go-plugin's StdioData with what was printed.
const stdioData = 2

// drainStdio reads what a program that is served by go-plugin itself prints: it would
// hang if nobody did. Programs of package sdk print to standard error. It ends with
// the connection.
func (p *Process) drainStdio(conn *grpc.ClientConn) {
	ctx := context.WithValue(context.Background(), ours{}, true)
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, stdioMethod)
	if err != nil {
		return // the service may be missing
	}
	if stream.SendMsg(&emptypb.Empty{}) != nil || stream.CloseSend() != nil {
		return
	}
	for {
		var m emptypb.Empty // go-plugin's message is internal to it; its fields are unknown ones
		if stream.RecvMsg(&m) != nil {
			return
		}
		eachLine(pacedReader{bytes.NewReader(printed(m.ProtoReflect().GetUnknown())), p.run.pace}, p.run.log)
	}
}

// printed is the field data of a message.
func printed(message []byte) []byte {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil
		}
		message = message[n:]
		if number == stdioData && kind == protowire.BytesType {
			data, _ := protowire.ConsumeBytes(message)
			return data
		}
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return nil
		}
		message = message[n:]
	}
	return nil
}
