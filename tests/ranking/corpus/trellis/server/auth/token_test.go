package auth

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func signerAt(now *time.Time) *Signer {
	signer := NewSigner([]byte("a key for tests"), 15*time.Minute)
	signer.now = func() time.Time { return *now }
	return signer
}

func TestVerifyGivesWhatSignTook(t *testing.T) {
	now := time.Date(2024, 5, 1, 8, 0, 0, 0, time.UTC)
	signer := signerAt(&now)
	token, err := signer.Sign("ada", "north", "steward")
	if err != nil {
		t.Fatal(err)
	}
	claims, err := signer.Verify(token)
	if err != nil || claims.Member != "ada" || claims.Role != "steward" {
		t.Fatalf("%+v %v", claims, err)
	}
}

func TestVerifyRefusesExpiredTokens(t *testing.T) {
	now := time.Date(2024, 5, 1, 8, 0, 0, 0, time.UTC)
	signer := signerAt(&now)
	token, _ := signer.Sign("ada", "north", "member")
	now = now.Add(16 * time.Minute)
	if _, err := signer.Verify(token); !errors.Is(err, ErrExpired) {
		t.Fatal(err)
	}
}

func TestVerifyRefusesForeignSignatures(t *testing.T) {
	now := time.Now()
	token, _ := signerAt(&now).Sign("ada", "north", "operator")
	stranger := NewSigner([]byte("another key"), time.Minute)
	if _, err := stranger.Verify(token); !errors.Is(err, ErrSignature) {
		t.Fatal(err)
	}
	payload, _, _ := strings.Cut(token, ".")
	if _, err := stranger.Verify(payload); !errors.Is(err, ErrMalformed) {
		t.Fatal(err)
	}
}
