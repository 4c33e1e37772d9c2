// The worker polls the carriers and hands their scans to the tracking service.
package main

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	backoff := Backoff{First: 2 * time.Second, Factor: 2, Limit: 5 * time.Minute, Attempts: 9}
	carriers := []*Carrier{
		{Name: "northpost", URL: "https://api.northpost.example/v2/scans", Client: http.DefaultClient},
		{Name: "quickvan", URL: "https://quickvan.example/track", Client: http.DefaultClient},
	}
	var group sync.WaitGroup
	for _, carrier := range carriers {
		carrier.Token = os.Getenv("PARCELO_CARRIER_TOKEN")
		group.Add(1)
		go func() {
			defer group.Done()
			pollForever(ctx, carrier, backoff, 90*time.Second)
		}()
	}
	group.Wait()
}

func pollForever(ctx context.Context, carrier *Carrier, backoff Backoff, every time.Duration) {
	since := time.Now().Add(-24 * time.Hour)
	for ctx.Err() == nil {
		started := time.Now()
		err := backoff.Do(ctx, func(ctx context.Context) error {
			scans, err := carrier.Poll(ctx, since)
			if err == nil && IsLagging(scans, started) {
				slog.Warn("carrier lagging", "carrier", carrier.Name)
			}
			return err
		})
		if err != nil {
			slog.Error("poll failed", "carrier", carrier.Name, "error", err)
		} else {
			since = started
		}
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
}
