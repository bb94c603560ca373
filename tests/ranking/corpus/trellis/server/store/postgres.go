// Package store is all SQL of the server.
package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrStale says that somebody else changed the row since it was read.
var ErrStale = errors.New("stale version")

// DB is a pool of connections.
type DB struct{ *pgxpool.Pool }

// Bed is a patch of ground with plants on it.
type Bed struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	SquareMetres float64  `json:"squareMetres"`
	Plants       []string `json:"plants"`
	Owner        string   `json:"owner"`
	Version      int      `json:"version"`
}

// Reading is what a sensor measured.
type Reading struct {
	Sensor  string    `json:"sensor"`
	TakenAt time.Time `json:"takenAt"`
	Percent float64   `json:"percent"`
}

// Opening is one time that a valve is open.
type Opening struct {
	From    time.Time `json:"from"`
	Seconds int       `json:"seconds"`
	Reason  string    `json:"reason"`
}

// Open connects and checks that the database answers.
func Open(ctx context.Context, url string) (*DB, error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, err
	}
	return &DB{pool}, pool.Ping(ctx)
}

// Beds gives all beds of a garden.
func (db *DB) Beds(ctx context.Context, garden string) ([]Bed, error) {
	rows, err := db.Query(ctx, `select id, name, square_metres, plants, owner, version from beds where garden = $1 order by name`, garden)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Bed])
}

// SaveBed writes a bed if its version is still the latest. Otherwise it gives the bed as it is now, and ErrStale.
func (db *DB) SaveBed(ctx context.Context, bed Bed) (Bed, error) {
	tag, err := db.Exec(ctx, `
		update beds set name = $2, square_metres = $3, plants = $4, version = version + 1
		where id = $1 and version = $5`, bed.ID, bed.Name, bed.SquareMetres, bed.Plants, bed.Version)
	if err != nil {
		return Bed{}, err
	}
	if tag.RowsAffected() == 1 {
		bed.Version++
		return bed, nil
	}
	rows, err := db.Query(ctx, `select id, name, square_metres, plants, owner, version from beds where id = $1`, bed.ID)
	if err != nil {
		return Bed{}, err
	}
	current, err := pgx.CollectOneRow(rows, pgx.RowToStructByPos[Bed])
	return current, errors.Join(ErrStale, err)
}

// AddReadings writes a batch; rows that are there already stay as they are.
func (db *DB) AddReadings(ctx context.Context, readings []Reading) error {
	batch := &pgx.Batch{}
	for _, r := range readings {
		batch.Queue(`insert into readings (sensor, taken_at, percent) values ($1, $2, $3) on conflict do nothing`, r.Sensor, r.TakenAt, r.Percent)
	}
	return db.SendBatch(ctx, batch).Close()
}

// LatestMoisture gives the mean of a bed's sensors over the last six hours.
func (db *DB) LatestMoisture(ctx context.Context, bed string) (float64, error) {
	var percent float64
	err := db.QueryRow(ctx, `
		select avg(percent) from readings join sensors using (sensor)
		where bed = $1 and taken_at > now() - interval '6 hours'`, bed).Scan(&percent)
	return percent, err
}

// Openings gives the plan of a bed for a day.
func (db *DB) Openings(ctx context.Context, bed string, day time.Time) ([]Opening, error) {
	rows, err := db.Query(ctx, `select starts, seconds, reason from openings where bed = $1 and starts::date = $2 and not skipped`, bed, day)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Opening])
}

// SkipNext marks the next opening of a bed as skipped.
func (db *DB) SkipNext(ctx context.Context, bed string) error {
	_, err := db.Exec(ctx, `
		update openings set skipped = true
		where id = (select id from openings where bed = $1 and starts > now() and not skipped order by starts limit 1)`, bed)
	return err
}
