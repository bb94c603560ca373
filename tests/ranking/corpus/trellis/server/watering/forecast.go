package watering

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	forecastURL = "https://weather.example.org/v2/rain?day=%s"
	freshFor    = 3 * time.Hour
)

// Forecast asks the weather service and remembers what it said.
type Forecast struct {
	client *http.Client
	mutex  sync.Mutex
	days   map[string]remembered
}

type remembered struct {
	millimetres float64
	at          time.Time
}

// NewForecast asks through the given client.
func NewForecast(client *http.Client) *Forecast {
	return &Forecast{client: client, days: map[string]remembered{}}
}

// Millimetres is the rain expected on a day. An answer is used for three hours; when the service is away, an older
// one is better than none.
func (f *Forecast) Millimetres(ctx context.Context, day time.Time) (float64, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	key := day.Format(time.DateOnly)
	last, known := f.days[key]
	if known && time.Since(last.at) < freshFor {
		return last.millimetres, nil
	}
	rain, err := f.ask(ctx, key)
	if err != nil {
		if known {
			return last.millimetres, nil
		}
		return 0, err
	}
	f.days[key] = remembered{rain, time.Now()}
	return rain, nil
}

func (f *Forecast) ask(ctx context.Context, day string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf(forecastURL, day), nil)
	if err != nil {
		return 0, err
	}
	response, err := f.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("weather service answered %s", response.Status)
	}
	var body struct {
		Rain float64 `json:"rain_mm"`
	}
	err = json.NewDecoder(response.Body).Decode(&body)
	return body.Rain, err
}
