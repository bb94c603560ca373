package handlers

import (
	"net/http"
	"time"

	"trellis.garden/server/store"
)

const (
	readingsMax = 500
	readingsAge = 7 * 24 * time.Hour
)

// Watering handles plans, skips, and the readings they are made from.
type Watering struct{ DB *store.DB }

// Plan gives the valve openings of a bed on a day.
func (h Watering) Plan(w http.ResponseWriter, r *http.Request) {
	day, err := time.Parse(time.DateOnly, r.URL.Query().Get("day"))
	if err != nil {
		refuse(w, http.StatusBadRequest, "malformed", "day must look like 2024-05-01")
		return
	}
	openings, err := h.DB.Openings(r.Context(), r.PathValue("id"), day)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, map[string]any{"day": day.Format(time.DateOnly), "openings": openings})
}

// Skip leaves out the next opening of a bed.
func (h Watering) Skip(w http.ResponseWriter, r *http.Request) {
	if err := h.DB.SkipNext(r.Context(), r.PathValue("id")); err != nil {
		fail(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// Readings takes a batch from a gateway. Sending a batch twice does no harm.
func (h Watering) Readings(w http.ResponseWriter, r *http.Request) {
	var batch []store.Reading
	if !decode(w, r, &batch) {
		return
	}
	if len(batch) > readingsMax {
		refuse(w, http.StatusRequestEntityTooLarge, "too_many", "At most 500 readings at once.")
		return
	}
	oldest := time.Now().Add(-readingsAge)
	kept := batch[:0]
	for _, reading := range batch {
		if reading.TakenAt.After(oldest) {
			kept = append(kept, reading)
		}
	}
	if err := h.DB.AddReadings(r.Context(), kept); err != nil {
		fail(w, err)
		return
	}
	answer(w, map[string]int{"kept": len(kept), "dropped": len(batch) - len(kept)})
}
