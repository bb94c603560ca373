/** A path pattern such as `/beds/:id` and what to show for it. */
export interface Route {
  pattern: string;
  render: (params: Record<string, string>) => void;
  guard?: () => boolean;
}

interface Compiled extends Route {
  expression: RegExp;
  names: string[];
}

function compile(route: Route): Compiled {
  const names: string[] = [];
  const source = route.pattern.replace(/:(\w+)/g, (_, name: string) => {
    names.push(name);
    return "([^/]+)";
  });
  return { ...route, names, expression: new RegExp(`^${source}/?$`) };
}

/** Client-side navigation over the history API. */
export function createRouter(routes: Route[], notFound: () => void) {
  const compiled = routes.map(compile);

  function match(path: string): [Compiled, Record<string, string>] | undefined {
    for (const route of compiled) {
      const found = route.expression.exec(path);
      if (found) {
        const values = found.slice(1).map(decodeURIComponent);
        return [route, Object.fromEntries(route.names.map((name, at) => [name, values[at]]))];
      }
    }
    return undefined;
  }

  function show(path: string): void {
    const matched = match(path);
    if (!matched) {
      notFound();
      return;
    }
    const [route, params] = matched;
    if (route.guard && !route.guard()) {
      navigate(`/sign-in?next=${encodeURIComponent(path)}`);
      return;
    }
    route.render(params);
  }

  function navigate(path: string, replace = false): void {
    history[replace ? "replaceState" : "pushState"](null, "", path);
    show(new URL(path, location.origin).pathname);
  }

  window.addEventListener("popstate", () => show(location.pathname));
  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest("a[href^='/']");
    if (link && !event.defaultPrevented && !event.metaKey) {
      event.preventDefault();
      navigate(link.getAttribute("href")!);
    }
  });

  return { navigate, start: () => show(location.pathname) };
}
