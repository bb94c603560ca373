import type { Bed } from "./store/beds";

/** Messages by field; empty when everything is all right. */
export type Problems = Record<string, string>;

const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;

export function validateEmail(text: string): string | undefined {
  if (text.trim() === "") {
    return "An address is needed.";
  }
  return EMAIL.test(text) ? undefined : "This does not look like an address.";
}

export function validateBed(bed: Partial<Bed>): Problems {
  const problems: Problems = {};
  if (!bed.name?.trim()) {
    problems.name = "A bed needs a name.";
  } else if (bed.name.length > 60) {
    problems.name = "At most 60 characters.";
  }
  if (!(bed.squareMetres! > 0)) {
    problems.squareMetres = "The area must be more than nothing.";
  } else if (bed.squareMetres! > 500) {
    problems.squareMetres = "That is a field, not a bed.";
  }
  if (new Set(bed.plants).size !== (bed.plants?.length ?? 0)) {
    problems.plants = "A plant is named twice.";
  }
  return problems;
}
