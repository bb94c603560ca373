// An issuer on loopback whose people need no password: node issuer.mjs PACKAGES AUDIENCE PROJECT
// Prints its address, reads a line with the address that its only client, `pages` with the secret `hush`, is sent back to, prints `ready`,
// and runs until its input ends.
import { createServer } from "node:http";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [packages, audience, project] = process.argv.slice(2);
const { default: Provider } = await import(pathToFileURL(join(packages, "oidc-provider/lib/index.js")));

// It warns that it keeps everything in memory, which is what a test wants.
console.warn = () => {};

const server = createServer();
server.listen(0, "127.0.0.1");
await once(server, "listening");
const issuer = `http://127.0.0.1:${server.address().port}`;
console.log(issuer);
const lines = createInterface({ input: process.stdin });
const [redirect] = await once(lines, "line");

const provider = new Provider(issuer, {
  clients: [{ client_id: "pages", client_secret: "hush", redirect_uris: [redirect], grant_types: ["authorization_code"] }],
  scopes: ["openid", "search"],
  features: {
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({ scope: "search", audience, accessTokenFormat: "jwt", accessTokenTTL: 600 }),
    },
  },
  extraTokenClaims: () => ({ projects: [project] }),
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  pkce: { required: () => true },
  cookies: { keys: ["test"] },
});

// What a person would do at the issuer: say who they are, and agree.
async function interact(request, response) {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (prompt.name === "login") return provider.interactionFinished(request, response, { login: { accountId: "ann" } });
  const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope("openid search");
  grant.addResourceScope(audience, "search");
  return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

server.on("request", (request, response) => {
  if (request.url.startsWith("/interaction/")) interact(request, response).catch((error) => response.destroy(error));
  else provider.callback()(request, response);
});
console.log("ready");
lines.on("close", () => process.exit(0));
