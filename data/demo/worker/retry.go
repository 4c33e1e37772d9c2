package main

import (
	"context"
	"errors"
	"math/rand"
	"time"
)

// ErrGaveUp is returned when every attempt has failed.
var ErrGaveUp = errors.New("gave up")

// Backoff says how long to wait between attempts. Its fields are the section `retry` of worker.yaml.
type Backoff struct {
	First    time.Duration
	Factor   float64
	Limit    time.Duration
	Attempts int
}

// Pause is the wait before an attempt, with up to a quarter of jitter so that carriers are not hit in step.
func (b Backoff) Pause(attempt int) time.Duration {
	pause := float64(b.First)
	for i := 1; i < attempt; i++ {
		pause *= b.Factor
	}
	if limit := float64(b.Limit); pause > limit {
		pause = limit
	}
	return time.Duration(pause * (1 + rand.Float64()/4))
}

// Do calls request until it succeeds, the attempts are used up or the context ends.
func (b Backoff) Do(ctx context.Context, request func(context.Context) error) error {
	var last error
	for attempt := 1; attempt <= b.Attempts; attempt++ {
		if last = request(ctx); last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(b.Pause(attempt)):
		}
	}
	return errors.Join(ErrGaveUp, last)
}
