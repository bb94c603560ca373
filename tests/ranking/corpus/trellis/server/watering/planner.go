// Package watering decides which valve opens for how long.
package watering

import (
	"context"
	"log/slog"
	"math"
	"time"

	"trellis.garden/server/store"
)

const (
	planHour         = 5 // local time
	litresPerSecond  = 0.25
	secondsMax       = 1200
	rainWorthWaiting = 4.0 // millimetres
)

// Needs says how wet a plant wants the soil, in percent.
type Needs struct{ Low, High float64 }

// Planner writes the openings of a day.
type Planner struct {
	db       *store.DB
	forecast *Forecast
	needs    map[string]Needs
}

// NewPlanner plans with a forecast.
func NewPlanner(db *store.DB, forecast *Forecast) *Planner {
	return &Planner{db: db, forecast: forecast, needs: catalogue}
}

// EveryMorning plans at five until the context ends.
func (p *Planner) EveryMorning(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(untilHour(time.Now(), planHour)):
			if err := p.planAll(ctx); err != nil {
				slog.Error("no plan today", "error", err)
			}
		}
	}
}

func untilHour(now time.Time, hour int) time.Duration {
	next := time.Date(now.Year(), now.Month(), now.Day(), hour, 0, 0, 0, now.Location())
	if !next.After(now) {
		next = next.AddDate(0, 0, 1)
	}
	return next.Sub(now)
}

func (p *Planner) planAll(ctx context.Context) error {
	rain, err := p.forecast.Millimetres(ctx, time.Now())
	if err != nil {
		slog.Warn("planning without a forecast", "error", err)
	}
	beds, err := p.db.Beds(ctx, "north")
	if err != nil {
		return err
	}
	for _, bed := range beds {
		moisture, err := p.db.LatestMoisture(ctx, bed.ID)
		if err != nil {
			slog.Warn("no moisture", "bed", bed.ID, "error", err)
			continue
		}
		if seconds := p.seconds(bed, moisture, rain); seconds > 0 {
			if _, err := p.db.Exec(ctx, `insert into openings (bed, starts, seconds, reason) values ($1, now(), $2, 'dry')`, bed.ID, seconds); err != nil {
				return err
			}
		}
	}
	return nil
}

// seconds is how long a valve has to be open to bring the soil from its moisture to the middle of what the
// thirstiest plant wants. Rain that is about to come is left to do its work.
func (p *Planner) seconds(bed store.Bed, moisture, rain float64) int {
	wanted := p.strictest(bed.Plants)
	if moisture >= wanted.Low || rain >= rainWorthWaiting {
		return 0
	}
	missing := (wanted.Low+wanted.High)/2 - moisture
	litres := missing / 100 * 200 * bed.SquareMetres
	litres -= rain * bed.SquareMetres
	return int(math.Min(secondsMax, math.Max(0, litres/litresPerSecond)))
}

// strictest gives the needs of the plant that suffers first.
func (p *Planner) strictest(plants []string) Needs {
	strictest := Needs{Low: 20, High: 60}
	for _, plant := range plants {
		if needs, known := p.needs[plant]; known && needs.Low > strictest.Low {
			strictest = needs
		}
	}
	return strictest
}

var catalogue = map[string]Needs{
	"tomato":   {Low: 45, High: 70},
	"lettuce":  {Low: 50, High: 75},
	"carrot":   {Low: 35, High: 60},
	"rosemary": {Low: 15, High: 35},
	"celery":   {Low: 60, High: 85},
}
