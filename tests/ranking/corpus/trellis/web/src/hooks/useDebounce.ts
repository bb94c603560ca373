import { useEffect, useState } from "react";

/** The value as it was when it last stood still for `ms` milliseconds. */
export function useDebounce<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

/** Calls `action` at most once in `ms` milliseconds, the first call at once and the last one later. */
export function throttle<A extends unknown[]>(action: (...args: A) => void, ms: number) {
  let last = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  return (...args: A) => {
    const left = last + ms - Date.now();
    clearTimeout(timer);
    if (left <= 0) {
      last = Date.now();
      action(...args);
    } else {
      timer = setTimeout(() => {
        last = Date.now();
        action(...args);
      }, left);
    }
  };
}
