import { describe, expect, it, vi } from "vitest";
import { ApiClient, ApiError } from "./client";
import { withRetry } from "./interceptors";

const json = (status: number, body: unknown, headers = {}) =>
  new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json", ...headers } });

describe("ApiClient", () => {
  it("decodes an answer", async () => {
    const client = new ApiClient("http://garden.test", async () => json(200, [{ id: "a" }]));
    expect(await client.get("/api/beds")).toEqual([{ id: "a" }]);
  });

  it("throws an ApiError for a refusal", async () => {
    const client = new ApiClient("http://garden.test", async () =>
      json(409, { error: { code: "stale", message: "somebody was faster" } }),
    );
    await expect(client.put("/api/beds/a", {})).rejects.toThrowError(ApiError);
  });

  it("runs interceptors in the order in which they were added", async () => {
    const order: string[] = [];
    const client = new ApiClient("http://garden.test", async () => json(200, {}))
      .use((request, next) => (order.push("first"), next(request)))
      .use((request, next) => (order.push("second"), next(request)));
    await client.get("/api/beds");
    expect(order).toEqual(["first", "second"]);
  });
});

describe("withRetry", () => {
  it("waits as long as Retry-After says", async () => {
    const sleep = vi.fn(async () => undefined);
    const answers = [json(429, {}, { "Retry-After": "7" }), json(200, "ok")];
    const client = new ApiClient("http://garden.test", async () => answers.shift()!);
    client.use(withRetry({ attempts: 3, baseMs: 10, sleep }));
    expect(await client.get("/api/beds")).toBe("ok");
    expect(sleep).toHaveBeenCalledWith(7000);
  });

  it("does not repeat a POST", async () => {
    const transport = vi.fn(async () => json(503, { error: { code: "away", message: "later" } }));
    const client = new ApiClient("http://garden.test", transport).use(withRetry({ attempts: 3, baseMs: 1 }));
    await expect(client.post("/api/beds/a/skip", {})).rejects.toThrow();
    expect(transport).toHaveBeenCalledTimes(1);
  });
});
