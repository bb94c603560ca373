// Drives a browser for the tests of the pages: `node driver.mjs PACKAGES CHROMIUM`. Reads commands from stdin and writes answers to
// stdout, one JSON object a line, until stdin ends.
//
// A command is `{ id, page, method, arguments }`, its answer `{ id, value }` or `{ id, error }`. The method is one of `methods` or one of
// a page of Playwright, such as `click` or `keyboard.press`. The caller chooses the number of a page.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const TIMEOUT_MS = 60_000;
/** Colours of a picture: enough for text, and a quarter of the bytes. */
const PICTURE_COLOURS = 128;

const [packages, program] = process.argv.slice(2);
const load = createRequire(`${packages}/`);
const { chromium } = load("playwright-core");
const png = load("upng-js");
const rules = readFileSync(load.resolve("axe-core/axe.min.js"), "utf8");

// Chromium's own sandbox needs rights that a container or root lacks; the pages are those of the server under test.
const browser = await chromium.launch({ executablePath: program, chromiumSandbox: false, args: ["--font-render-hinting=none"] });

/** Open pages by number, each with what went wrong on it and the requests that are held. */
const pages = new Map();

const methods = {
  /** Opens a page in a context of its own: no cookies, no cache. */
  async open(number, options) {
    const context = await browser.newContext(options);
    context.setDefaultTimeout(TIMEOUT_MS);
    const page = await context.newPage();
    const problems = [];
    page.on("console", (message) => {
      const kind = message.type();
      if (kind === "error" || kind === "warning") problems.push(`${kind}: ${message.text()} (${message.location().url})`);
    });
    page.on("pageerror", (error) => problems.push(`uncaught: ${error}`));
    page.on("dialog", (dialog) => {
      problems.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      const { protocol, hostname } = new URL(request.url());
      if (/^(http|ws)/.test(protocol) && hostname !== "127.0.0.1") problems.push(`request: ${request.url()}`);
    });
    pages.set(number, { page, problems, held: [] });
  },

  async close(number) {
    await pages.get(number).page.context().close();
    pages.delete(number);
  },

  /** What went wrong since the last call. */
  async problems(number) {
    return pages.get(number).problems.splice(0);
  },

  /** Loads an address and returns the status of the answer. */
  async go(number, url) {
    return (await pages.get(number).page.goto(url))?.status();
  },

  /** Waits until an expression is true, across loads of pages. Playwright's own way needs `eval`, which the policy of the pages forbids. */
  async until(number, expression) {
    const { page } = pages.get(number);
    for (const end = Date.now() + TIMEOUT_MS; Date.now() < end; await page.waitForTimeout(20)) {
      // A page that is being left has no answer.
      if (await page.evaluate(expression).catch(() => false)) return;
    }
    throw new Error(`never true: ${expression}`);
  },

  /** Holds requests that match a pattern, as a slow server would, until they are released. */
  async hold(number, pattern) {
    const { page, held } = pages.get(number);
    await page.route(pattern, async (route) => {
      await new Promise((release) => held.push(release));
      // The page may have given the request up.
      await route.continue().catch(() => {});
    });
  },

  async release(number) {
    const { page, held } = pages.get(number);
    held.splice(0).forEach((release) => release());
    await page.unrouteAll({ behavior: "wait" });
  },

  async readClipboard(number) {
    return pages.get(number).page.evaluate("navigator.clipboard.readText()");
  },

  /** Writes what the window shows to a PNG file. */
  async picture(number, file) {
    const { width, height, ...image } = png.decode(await pages.get(number).page.screenshot());
    const pixels = png.toRGBA8({ width, height, ...image });
    writeFileSync(file, Buffer.from(png.encode(pixels, width, height, PICTURE_COLOURS)));
  },

  /** Rules of axe-core with one of these tags that the page breaks, each with the elements that break it. */
  async violations(number, tags) {
    const { page } = pages.get(number);
    await page.evaluate(rules);
    const report = await page.evaluate(`axe.run({ runOnly: ${JSON.stringify(tags)}, resultTypes: ["violations"] })`);
    return report.violations.map(({ id, help, nodes }) => {
      const elements = nodes.map((node) => `${node.html} [${node.failureSummary}]`);
      return `${id}: ${help}\n    ${elements.join("\n    ")}`;
    });
  },
};

async function execute({ page: number, method, arguments: values }) {
  if (methods[method]) return methods[method](number, ...values);
  const path = method.split(".");
  const name = path.pop();
  const owner = path.reduce((object, part) => object[part], pages.get(number).page);
  const value = await owner[name](...values);
  // Handles and buffers stay here.
  return Object(value) !== value || Array.isArray(value) || value.constructor === Object ? value : null;
}

const answer = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const commands = createInterface({ input: process.stdin });
commands.on("line", (line) => {
  const command = JSON.parse(line);
  execute(command).then(
    (value) => answer({ id: command.id, value: value ?? null }),
    (error) => answer({ id: command.id, error: error.message }),
  );
});
commands.on("close", async () => {
  await browser.close();
  process.exit();
});
