// Keys and copying. Everything else works without this script.
"use strict";

const box = document.getElementById("q");

// `/` goes to the search box, `j` and `k` to the next and previous hit, `t` to finding a file.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "/" && box) {
    event.preventDefault();
    box.focus();
    box.select();
  }
  if (event.key === "t") document.querySelector("a[data-key=t]")?.click();
  if (event.key === "j" || event.key === "k") {
    const hits = [...document.querySelectorAll(".hit h3 a, .file h2 a:last-of-type")];
    const at = hits.indexOf(document.activeElement);
    const next = hits[event.key === "j" ? at + 1 : Math.max(at - 1, 0)];
    if (next) next.focus();
  }
});

// Buttons that copy stay hidden where copying is impossible.
if (navigator.clipboard) {
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.dataset.copy);
      const label = button.textContent;
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = label; }, 1500);
    });
  }
}

// `#L10-L20` marks lines; a click on a number with Shift held makes such an address.
const range = () => /^#L(\d+)(?:-L(\d+))?$/.exec(location.hash);

function markRange(scroll) {
  for (const line of document.querySelectorAll(".l.chosen")) line.classList.remove("chosen");
  const found = range();
  if (!found) return;
  const [first, last] = [Number(found[1]), Number(found[2] || found[1])].sort((one, other) => one - other);
  for (let number = first; number <= Math.min(last, first + 20000); number += 1) {
    document.getElementById(`L${number}`)?.classList.add("chosen");
  }
  if (scroll && found[2]) document.getElementById(`L${first}`)?.scrollIntoView({ block: "center" });
}

document.addEventListener("click", (event) => {
  const number = event.target.closest?.("a.n");
  const found = range();
  if (!number || !event.shiftKey || !found || !document.getElementById(number.hash.slice(1))) return;
  event.preventDefault();
  history.replaceState(null, "", `#L${found[1]}-${number.hash.slice(1)}`);
  markRange(false);
});
addEventListener("hashchange", () => markRange(false));
markRange(true);
