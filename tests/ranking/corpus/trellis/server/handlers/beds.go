// Package handlers answers requests: decode, ask the store, encode.
package handlers

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"trellis.garden/server/middleware"
	"trellis.garden/server/store"
)

// Beds handles /api/beds.
type Beds struct{ DB *store.DB }

// List gives the beds of the caller's garden.
func (h Beds) List(w http.ResponseWriter, r *http.Request) {
	claims := middleware.Caller(r.Context())
	beds, err := h.DB.Beds(r.Context(), claims.Garden)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, beds)
}

// Put replaces a bed if the caller may and has seen its latest version.
func (h Beds) Put(w http.ResponseWriter, r *http.Request) {
	var bed store.Bed
	if !decode(w, r, &bed) {
		return
	}
	bed.ID = r.PathValue("id")
	if !mayEdit(r, bed) {
		refuse(w, http.StatusForbidden, "not_yours", "Only its owner or a steward may change this bed.")
		return
	}
	saved, err := h.DB.SaveBed(r.Context(), bed)
	if errors.Is(err, store.ErrStale) {
		w.WriteHeader(http.StatusConflict)
		answer(w, saved)
		return
	}
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, saved)
}

func mayEdit(r *http.Request, bed store.Bed) bool {
	claims := middleware.Caller(r.Context())
	return claims.Role == "steward" || claims.Role == "operator" || bed.Owner == claims.Member
}

func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	reader := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	reader.DisallowUnknownFields()
	if err := reader.Decode(into); err != nil {
		refuse(w, http.StatusBadRequest, "malformed", err.Error())
		return false
	}
	return true
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	answer(w, map[string]any{"error": map[string]string{"code": code, "message": message}})
}

func fail(w http.ResponseWriter, err error) {
	slog.Error("request failed", "error", err)
	refuse(w, http.StatusInternalServerError, "internal", "Something went wrong here.")
}
