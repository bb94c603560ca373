// Package middleware stands around all handlers.
package middleware

import (
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// window counts the requests of one client in the current minute.
type window struct {
	began time.Time
	count int
}

type limiter struct {
	perMinute int
	mutex     sync.Mutex
	clients   map[string]*window
	now       func() time.Time
}

// Limit answers 429 to clients with more than so many requests a minute, and says when to come back.
func Limit(perMinute int) func(http.Handler) http.Handler {
	l := &limiter{perMinute: perMinute, clients: map[string]*window{}, now: time.Now}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			client, _, err := net.SplitHostPort(r.RemoteAddr)
			if err != nil {
				client = r.RemoteAddr
			}
			if wait := l.admit(client); wait > 0 {
				w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())+1))
				http.Error(w, "too many requests", http.StatusTooManyRequests)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// admit gives 0, or how long the client has to wait.
func (l *limiter) admit(client string) time.Duration {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := l.now()
	current, known := l.clients[client]
	if !known || now.Sub(current.began) >= time.Minute {
		l.forgetOld(now)
		l.clients[client] = &window{began: now, count: 1}
		return 0
	}
	current.count++
	if current.count > l.perMinute {
		return current.began.Add(time.Minute).Sub(now)
	}
	return 0
}

func (l *limiter) forgetOld(now time.Time) {
	for client, w := range l.clients {
		if now.Sub(w.began) >= time.Minute {
			delete(l.clients, client)
		}
	}
}
