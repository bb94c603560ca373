// Command server is the API of trellis.
package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"trellis.garden/server/auth"
	"trellis.garden/server/handlers"
	"trellis.garden/server/middleware"
	"trellis.garden/server/store"
	"trellis.garden/server/watering"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		slog.Error("server ended", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	db, err := store.Open(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer db.Close()
	if err := store.Migrate(ctx, db); err != nil {
		return err
	}

	signer := auth.NewSigner([]byte(os.Getenv("SIGNING_KEY")), 15*time.Minute)
	sessions := auth.NewSessions(db, 30*24*time.Hour)
	planner := watering.NewPlanner(db, watering.NewForecast(http.DefaultClient))
	go planner.EveryMorning(ctx)

	server := &http.Server{
		Addr:              ":8080",
		Handler:           routes(db, signer, sessions),
		ReadHeaderTimeout: 5 * time.Second,
	}
	go func() {
		<-ctx.Done()
		drain, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = server.Shutdown(drain)
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func routes(db *store.DB, signer *auth.Signer, sessions *auth.Sessions) http.Handler {
	mux := http.NewServeMux()
	signIn := handlers.SignIn{Sessions: sessions, Signer: signer}
	beds := handlers.Beds{DB: db}
	water := handlers.Watering{DB: db}

	mux.HandleFunc("POST /api/session", signIn.Create)
	mux.HandleFunc("DELETE /api/session", signIn.Delete)
	mux.HandleFunc("POST /api/token", signIn.Token)
	mux.HandleFunc("GET /api/beds", beds.List)
	mux.HandleFunc("PUT /api/beds/{id}", beds.Put)
	mux.HandleFunc("GET /api/beds/{id}/plan", water.Plan)
	mux.HandleFunc("POST /api/beds/{id}/skip", water.Skip)
	mux.HandleFunc("POST /api/readings", water.Readings)

	perMinute, err := strconv.Atoi(os.Getenv("REQUESTS_PER_MINUTE"))
	if err != nil {
		perMinute = 60
	}
	return middleware.Limit(perMinute)(middleware.Authenticate(signer)(mux))
}
