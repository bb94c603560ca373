import { ApiClient } from "../http/client";
import { createStore } from "./createStore";

export interface SessionState {
  email: string | null;
  role: "member" | "steward" | "operator" | null;
  token: string | null;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

const SIGNED_OUT: SessionState = { email: null, role: null, token: null, expiresAt: 0 };
/** A token is replaced this long before it expires. */
const REFRESH_EARLY_MS = 60_000;

export const sessionStore = createStore<SessionState>(SIGNED_OUT);

let refreshing: Promise<string | null> | null = null;

export async function signIn(client: ApiClient, email: string, password: string): Promise<void> {
  await client.post("/api/session", { email, password });
  await refreshToken(client);
}

export async function signOut(client: ApiClient): Promise<void> {
  await client.delete("/api/session");
  sessionStore.set(SIGNED_OUT);
}

/** Asks for a new access token; calls at the same time share one request. */
export function refreshToken(client: ApiClient): Promise<string | null> {
  refreshing ??= client
    .post<{ token: string; email: string; role: SessionState["role"]; expiresIn: number }>("/api/token", {})
    .then(({ token, email, role, expiresIn }) => {
      sessionStore.set({ token, email, role, expiresAt: Date.now() + 1000 * expiresIn });
      return token;
    })
    .catch(() => {
      sessionStore.set(SIGNED_OUT);
      return null;
    })
    .finally(() => {
      refreshing = null;
    });
  return refreshing;
}

export function isFresh(now = Date.now()): boolean {
  const { token, expiresAt } = sessionStore.get();
  return token !== null && now < expiresAt - REFRESH_EARLY_MS;
}
