package main

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestPauseStopsGrowingAtTheLimit(t *testing.T) {
	b := Backoff{First: 2 * time.Second, Factor: 2, Limit: 5 * time.Minute}
	if pause := b.Pause(30); pause > 375*time.Second {
		t.Fatalf("paused for %v", pause)
	}
}

func TestDoGivesUpAfterAllAttempts(t *testing.T) {
	b := Backoff{First: time.Nanosecond, Factor: 1, Limit: time.Nanosecond, Attempts: 3}
	calls := 0
	err := b.Do(context.Background(), func(context.Context) error {
		calls++
		return errors.New("429")
	})
	if !errors.Is(err, ErrGaveUp) || calls != 3 {
		t.Fatalf("%d calls, %v", calls, err)
	}
}
