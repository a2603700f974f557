package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type args struct {
	To     int     `json:"to"`
	PauseS float64 `json:"pause_s,omitempty"`
}

func count(ctx context.Context, req *mcp.CallToolRequest, a args) (*mcp.CallToolResult, any, error) {
	token := req.Params.GetProgressToken()
	for i := 1; i <= a.To; i++ {
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(time.Duration(a.PauseS * float64(time.Second))):
		}
		if token != nil {
			req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(i), Total: float64(a.To)})
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("counted to %d", a.To)}}}, nil, nil
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "stranger", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "count", Description: "Counts, with progress"}, count)
	if len(os.Args) > 2 {
		h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
		log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[2], h))
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
