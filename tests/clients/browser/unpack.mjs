// Unpacks the browser of the package set: `node unpack.mjs PACKAGES FOLDER`. TMPDIR must be FOLDER, because the package unpacks there.
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [packages, folder] = process.argv.slice(2);
const packed = `${packages}/@sparticuz/chromium`;
const { inflate } = await import(pathToFileURL(`${packed}/build/lambdafs.js`));

// The program, the libraries that a small system lacks, and a font for text.
for (const name of ["chromium.br", "al2023.tar.br", "fonts.tar.br"]) await inflate(`${packed}/bin/${name}`);

// The same fonts on every machine, so that pictures and widths are the same.
const preferred = { "system-ui": "Open Sans", "sans-serif": "Open Sans", "monospace": "DejaVu Sans Mono" };
const aliases = Object.entries(preferred).map(
  ([family, font]) => `<alias><family>${family}</family><prefer><family>${font}</family></prefer></alias>`,
);
writeFileSync(`${folder}/fonts.conf`, `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
<dir prefix="relative">fonts/fonts</dir>
<dir>${packages}/dejavu-fonts-ttf/ttf</dir>
<cachedir prefix="xdg">fontconfig</cachedir>
${aliases.join("\n")}
</fontconfig>
`);
