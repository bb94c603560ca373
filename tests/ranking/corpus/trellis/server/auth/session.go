package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"trellis.garden/server/store"
)

// ErrNoSession is the answer for sessions that never were, ended or expired; they are not told apart.
var ErrNoSession = errors.New("no session")

// Sessions keeps who is signed in. Only a hash of the id is stored, so that the table is worth nothing to a thief.
type Sessions struct {
	db    *store.DB
	lives time.Duration
}

// NewSessions keeps sessions for the given time after they were last used.
func NewSessions(db *store.DB, lives time.Duration) *Sessions {
	return &Sessions{db: db, lives: lives}
}

// Create begins a session and gives the id for the cookie.
func (s *Sessions) Create(ctx context.Context, member string) (string, error) {
	raw := make([]byte, 32)
	if _, err := rand.Read(raw); err != nil {
		return "", err
	}
	id := hex.EncodeToString(raw)
	_, err := s.db.Exec(ctx, `insert into sessions (hash, member, used_at) values ($1, $2, now())`, digest(id), member)
	return id, err
}

// Member gives who is signed in, and keeps the session alive.
func (s *Sessions) Member(ctx context.Context, id string) (string, error) {
	var member string
	row := s.db.QueryRow(ctx, `
		update sessions set used_at = now()
		where hash = $1 and used_at > now() - make_interval(secs => $2)
		returning member`, digest(id), s.lives.Seconds())
	if err := row.Scan(&member); err != nil {
		return "", ErrNoSession
	}
	return member, nil
}

// End forgets a session.
func (s *Sessions) End(ctx context.Context, id string) error {
	_, err := s.db.Exec(ctx, `delete from sessions where hash = $1`, digest(id))
	return err
}

func digest(id string) []byte {
	sum := sha256.Sum256([]byte(id))
	return sum[:]
}
