/** Wraps one call; call `next` to go on. */
export type Interceptor = (request: Request, next: (request: Request) => Promise<Response>) => Promise<Response>;

/** An answer outside 200–299. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly body: unknown,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

export class ApiClient {
  private readonly interceptors: Interceptor[] = [];

  constructor(
    private readonly base: string,
    private readonly transport: typeof fetch = fetch,
  ) {}

  /** The first one added sees the request first and the answer last. */
  use(interceptor: Interceptor): this {
    this.interceptors.push(interceptor);
    return this;
  }

  get<T>(path: string): Promise<T> {
    return this.call<T>("GET", path);
  }

  post<T = void>(path: string, body: unknown): Promise<T> {
    return this.call<T>("POST", path, body);
  }

  put<T>(path: string, body: unknown): Promise<T> {
    return this.call<T>("PUT", path, body);
  }

  delete(path: string): Promise<void> {
    return this.call<void>("DELETE", path);
  }

  private async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const request = new Request(new URL(path, this.base), {
      method,
      credentials: "include",
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const send = this.interceptors.reduceRight<(request: Request) => Promise<Response>>(
      (next, interceptor) => (request) => interceptor(request, next),
      (request) => this.transport(request),
    );
    const response = await send(request);
    const payload: unknown = response.status === 204 ? undefined : await response.json();
    if (!response.ok) {
      const { code, message } = (payload as { error: { code: string; message: string } }).error;
      throw new ApiError(response.status, code, message, payload);
    }
    return payload as T;
  }
}
