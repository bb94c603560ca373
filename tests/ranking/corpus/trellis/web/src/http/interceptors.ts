import { isFresh, refreshToken, sessionStore } from "../store/session";
import type { ApiClient, Interceptor } from "./client";

/** Adds the access token, and asks for another one when it is missing, old or refused. */
export function withToken(client: ApiClient): Interceptor {
  return async (request, next) => {
    if (new URL(request.url).pathname === "/api/token") {
      return next(request);
    }
    const token = isFresh() ? sessionStore.get().token : await refreshToken(client);
    const again = request.clone();
    const response = await next(authorised(request, token));
    if (response.status !== 401) {
      return response;
    }
    return next(authorised(again, await refreshToken(client)));
  };
}

function authorised(request: Request, token: string | null): Request {
  if (token) {
    request.headers.set("Authorization", `Bearer ${token}`);
  }
  return request;
}

interface RetryOptions {
  attempts: number;
  baseMs: number;
  sleep?: (ms: number) => Promise<void>;
}

const IDEMPOTENT = new Set(["GET", "PUT", "DELETE"]);

/** Repeats idempotent requests that met a network error, 429 or 503; honours `Retry-After`. */
export function withRetry({ attempts, baseMs, sleep = wait }: RetryOptions): Interceptor {
  return async (request, next) => {
    for (let attempt = 1; ; attempt++) {
      const copy = request.clone();
      const last = attempt >= attempts || !IDEMPOTENT.has(request.method);
      try {
        const response = await next(copy);
        if (last || (response.status !== 429 && response.status !== 503)) {
          return response;
        }
        await sleep(retryAfter(response) ?? baseMs * 2 ** (attempt - 1));
      } catch (error) {
        if (last) {
          throw error;
        }
        await sleep(baseMs * 2 ** (attempt - 1));
      }
    }
  };
}

function retryAfter(response: Response): number | undefined {
  const seconds = Number(response.headers.get("Retry-After"));
  return seconds > 0 ? 1000 * seconds : undefined;
}

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
