package store

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"sort"
)

//go:embed sql/*.sql
var scripts embed.FS

// A number that only this program locks, so that two servers that start together do not migrate together.
const migrationLock = 7_355_608

// Migrate brings the tables up to date: each script once, in the order of names, all in one transaction.
func Migrate(ctx context.Context, db *DB) error {
	tx, err := db.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock($1)`, migrationLock); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `create table if not exists migrations (name text primary key, at timestamptz default now())`); err != nil {
		return err
	}
	names, err := fs.Glob(scripts, "sql/*.sql")
	if err != nil {
		return err
	}
	sort.Strings(names)
	for _, name := range names {
		var done bool
		if err := tx.QueryRow(ctx, `select exists (select from migrations where name = $1)`, name).Scan(&done); err != nil {
			return err
		}
		if done {
			continue
		}
		script, err := scripts.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, string(script)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if _, err := tx.Exec(ctx, `insert into migrations (name) values ($1)`, name); err != nil {
			return err
		}
	}
	return tx.Commit(ctx)
}
