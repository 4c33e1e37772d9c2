package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// LagAfter is how old the newest scan of a carrier may be before we say that it lags.
const LagAfter = 2 * time.Hour

// Scan is what a carrier reports, in the words of the tracking service.
type Scan struct {
	Parcel  string    `json:"parcel"`
	Carrier string    `json:"carrier"`
	Status  string    `json:"status"`
	At      time.Time `json:"at"`
}

// Carrier polls one carrier's API.
type Carrier struct {
	Name   string
	URL    string
	Token  string
	Client *http.Client
}

// Poll asks for the scans since a time.
func (c *Carrier) Poll(ctx context.Context, since time.Time) ([]Scan, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.Token)
	request.Header.Set("If-Modified-Since", since.UTC().Format(http.TimeFormat))
	response, err := c.Client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotModified {
		return nil, nil
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %d", c.Name, response.StatusCode)
	}
	var scans []Scan
	return scans, json.NewDecoder(response.Body).Decode(&scans)
}

// IsLagging tells whether the newest scan is too old to be believed.
func IsLagging(scans []Scan, now time.Time) bool {
	var newest time.Time
	for _, scan := range scans {
		if scan.At.After(newest) {
			newest = scan.At
		}
	}
	return !newest.IsZero() && now.Sub(newest) > LagAfter
}
