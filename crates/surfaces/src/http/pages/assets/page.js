// Keys, copying, suggestions, progress, double clicks. Everything else works without this script.
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
    const found = document.querySelectorAll(".hit h3 > a");
    const hits = [...(found.length ? found : document.querySelectorAll(".file h2 a:last-of-type"))];
    const at = hits.indexOf(document.activeElement);
    const next = hits[event.key === "j" ? at + 1 : Math.max(at - 1, 0)];
    if (next) next.focus();
  }
});

// Suggestions below the search box (the combobox pattern of the ARIA practices).
const list = document.getElementById("suggestions");
if (list && box?.dataset.suggest) {
  let timer = 0;
  let asked = "";
  const options = () => [...list.children];
  const chosen = () => options().findIndex((option) => option.ariaSelected === "true");
  const close = () => {
    list.hidden = true;
    box.setAttribute("aria-expanded", "false");
    box.removeAttribute("aria-activedescendant");
  };
  const select = (at) => {
    options().forEach((option, index) => { option.ariaSelected = String(index === at); });
    const option = options()[at];
    if (!option) return box.removeAttribute("aria-activedescendant");
    box.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  };
  const take = (option) => {
    box.value = option.dataset.query;
    box.focus();
    if (box.value.endsWith(":")) ask(); else close();
  };
  const ask = async () => {
    const form = new FormData(box.form);
    const address = new URLSearchParams({ q: box.value });
    for (const name of ["project", "repo"]) if (form.get(name)) address.set(name, form.get(name));
    asked = box.value;
    if (!asked.trim()) return close();
    try {
      const answer = await fetch(`${box.dataset.suggest}?${address}`);
      const text = answer.ok && !answer.redirected ? await answer.text() : "";
      // The user typed on, or left the box.
      if (asked !== box.value || document.activeElement !== box) return;
      list.innerHTML = text;
      list.hidden = !list.children.length;
      box.setAttribute("aria-expanded", String(!list.hidden));
      box.removeAttribute("aria-activedescendant");
    } catch { close(); }
  };
  for (const [name, value] of [["role", "combobox"], ["aria-controls", "suggestions"], ["aria-autocomplete", "list"]]) {
    box.setAttribute(name, value);
  }
  box.setAttribute("aria-expanded", "false");
  box.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 150); });
  box.addEventListener("blur", close);
  box.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    const [count, at] = [list.children.length, chosen()];
    if (event.key === "ArrowDown") select((at + 1) % count);
    else if (event.key === "ArrowUp") select(at <= 0 ? count - 1 : at - 1);
    else if (event.key === "Enter" && at >= 0) take(options()[at]);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  list.addEventListener("mousedown", (event) => {
    event.preventDefault();
    const option = event.target.closest("li");
    if (option) take(option);
  });
}

// Returns the context of the shown code for an agent: its place and its lines, or only the marked lines if there are any.
function context(button) {
  const file = button.closest(".file") || document;
  const lines = [...file.querySelectorAll(".code .l")];
  const marked = lines.filter((line) => line.matches(".chosen, :target"));
  const shown = marked.length ? marked : lines;
  const number = (line) => line?.querySelector(".n").textContent;
  const text = shown.map((line) => line.textContent.slice(number(line).length)).join("");
  // Longer than any in the text, so that no line of it ends the block.
  const longest = (text.match(/`+/g) || []).reduce((most, run) => Math.max(most, run.length), 2);
  const fence = "`".repeat(longest + 1);
  return `${button.dataset.context}:${number(shown[0])}-${number(shown.at(-1))}\n${fence}\n${text}${fence}\n`;
}

// Buttons that copy stay hidden where copying is impossible.
if (navigator.clipboard) {
  for (const button of document.querySelectorAll("button[data-copy], button[data-context]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.dataset.copy ?? context(button));
      const label = button.textContent;
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = label; }, 1500);
    });
  }
}

// A second click does not send a form again that is carried out once: the browser would show the answer to the second.
for (const value of document.querySelectorAll("input[name=once]")) {
  value.form.addEventListener("submit", (event) => {
    if (value.dataset.sent) return event.preventDefault();
    value.dataset.sent = "1";
    setTimeout(() => { delete value.dataset.sent; }, 3000);
  });
}

// A permalink keeps the chosen lines.
for (const link of document.querySelectorAll("a[data-permalink]")) {
  link.addEventListener("click", () => { link.hash = location.hash; });
}

// A page that shows work in progress: its live part is read again until the work has ended.
async function follow() {
  const live = document.querySelector("[data-live]");
  if (!live) return;
  try {
    // Not `location`: where this page answers a form, that is the address of the form.
    const answer = await fetch(live.dataset.live, { headers: { accept: "text/html" } });
    if (!answer.ok || answer.redirected) return location.replace(live.dataset.live);
    const next = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main .state");
    // Replacing it would move a button that the user is about to press.
    if (next && !live.contains(document.activeElement) && !live.querySelector("details[open]")) live.replaceWith(next);
  } catch { /* The server cannot be reached now; ask again. */ }
  setTimeout(follow, 3000);
}
if (document.querySelector("[data-live]")) setTimeout(follow, 3000);

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
