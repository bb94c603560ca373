// Package auth knows who is calling: sessions for browsers, signed tokens for requests.
package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// Errors of Verify.
var (
	ErrMalformed = errors.New("token is malformed")
	ErrSignature = errors.New("token is signed by somebody else")
	ErrExpired   = errors.New("token has expired")
)

// Claims is what a token says about its bearer.
type Claims struct {
	Member  string    `json:"sub"`
	Garden  string    `json:"garden"`
	Role    string    `json:"role"`
	Expires time.Time `json:"exp"`
}

// Signer makes and checks access tokens.
type Signer struct {
	key   []byte
	lives time.Duration
	now   func() time.Time
}

// NewSigner signs with HMAC-SHA-256; tokens live for the given time.
func NewSigner(key []byte, lives time.Duration) *Signer {
	return &Signer{key: key, lives: lives, now: time.Now}
}

// Sign makes a token for a member.
func (s *Signer) Sign(member, garden, role string) (string, error) {
	claims := Claims{Member: member, Garden: garden, Role: role, Expires: s.now().Add(s.lives)}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	payload := base64.RawURLEncoding.EncodeToString(body)
	return payload + "." + s.mac(payload), nil
}

// Verify checks signature and expiry, in this order, and gives the claims.
func (s *Signer) Verify(token string) (*Claims, error) {
	payload, mac, found := strings.Cut(token, ".")
	if !found {
		return nil, ErrMalformed
	}
	if !hmac.Equal([]byte(mac), []byte(s.mac(payload))) {
		return nil, ErrSignature
	}
	body, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return nil, ErrMalformed
	}
	var claims Claims
	if err := json.Unmarshal(body, &claims); err != nil {
		return nil, ErrMalformed
	}
	if s.now().After(claims.Expires) {
		return nil, ErrExpired
	}
	return &claims, nil
}

func (s *Signer) mac(payload string) string {
	sum := hmac.New(sha256.New, s.key)
	sum.Write([]byte(payload))
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}
