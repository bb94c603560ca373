#!/usr/bin/env node
// Starts the program of the package for this platform, which npm has chosen by `os`, `cpu` and `libc`.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const PACKAGES = require("../platforms.json");

function program() {
  const platform = `${process.platform}-${process.arch}`;
  const name = PACKAGES[platform];
  if (!name) {
    const known = Object.keys(PACKAGES).join(", ");
    fail(`There is no PairOfCleats package for ${platform}; there are packages for ${known}. On other platforms, build it from source.`);
  }
  try {
    return require.resolve(`${name}/bin/pairofcleats`);
  } catch {
    fail(
      `The package ${name} is not installed. npm leaves it out with --omit=optional or --no-optional, and on Linux without glibc ` +
        "(such as Alpine), where the program does not run. Install again with optional dependencies.",
    );
  }
}

function fail(message) {
  process.stderr.write(`pairofcleats: ${message}\n`);
  process.exit(2);
}

const child = spawn(program(), process.argv.slice(2), { stdio: "inherit" });
// A terminal sends Ctrl-C to both processes. A signal that is sent to this process alone is meant for the program.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => fail(`the program could not be started: ${error.message}`));
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
