package handlers

import (
	"net/http"

	"trellis.garden/server/auth"
)

const cookieName = "trellis_session"

// SignIn handles sessions and the access tokens made from them.
type SignIn struct {
	Sessions *auth.Sessions
	Signer   *auth.Signer
	Check    func(email, password string) (member string, ok bool)
}

// Create signs somebody in and sets the session cookie.
func (h SignIn) Create(w http.ResponseWriter, r *http.Request) {
	var body struct{ Email, Password string }
	if !decode(w, r, &body) {
		return
	}
	member, ok := h.Check(body.Email, body.Password)
	if !ok {
		refuse(w, http.StatusUnauthorized, "wrong_password", "Address or password are wrong.")
		return
	}
	id, err := h.Sessions.Create(r.Context(), member)
	if err != nil {
		fail(w, err)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: id, Path: "/api", HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode,
	})
	w.WriteHeader(http.StatusNoContent)
}

// Delete signs out.
func (h SignIn) Delete(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(cookieName); err == nil {
		if err := h.Sessions.End(r.Context(), cookie.Value); err != nil {
			fail(w, err)
			return
		}
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: "/api", MaxAge: -1})
	w.WriteHeader(http.StatusNoContent)
}

// Token exchanges the session cookie for a short-lived access token.
func (h SignIn) Token(w http.ResponseWriter, r *http.Request) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		refuse(w, http.StatusUnauthorized, "signed_out", "Nobody is signed in.")
		return
	}
	member, err := h.Sessions.Member(r.Context(), cookie.Value)
	if err != nil {
		refuse(w, http.StatusUnauthorized, "signed_out", "The session has ended.")
		return
	}
	token, err := h.Signer.Sign(member, "north", "member")
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, map[string]any{"token": token, "email": member, "expiresIn": 900})
}
