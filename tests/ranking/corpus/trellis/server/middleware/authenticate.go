package middleware

import (
	"context"
	"net/http"
	"strings"

	"trellis.garden/server/auth"
)

type callerKey struct{}

// open are the paths that need no token.
var open = map[string]bool{"/api/session": true, "/api/token": true}

// Authenticate puts the claims of a valid bearer token into the request's context and refuses all others.
func Authenticate(signer *auth.Signer) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if open[r.URL.Path] {
				next.ServeHTTP(w, r)
				return
			}
			token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			if !found {
				http.Error(w, "a token is needed", http.StatusUnauthorized)
				return
			}
			claims, err := signer.Verify(token)
			if err != nil {
				http.Error(w, err.Error(), http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, claims)))
		})
	}
}

// Caller gives the claims of the request; it panics outside of Authenticate.
func Caller(ctx context.Context) *auth.Claims {
	return ctx.Value(callerKey{}).(*auth.Claims)
}
