import { useEffect, useState } from "react";
import type { ApiClient } from "../http/client";
import { useDebounce } from "../hooks/useDebounce";

interface Props {
  client: ApiClient;
  chosen: string[];
  onChange: (plants: string[]) => void;
}

/** Type-ahead over the catalogue; asks the server only when typing pauses. */
export function PlantPicker({ client, chosen, onChange }: Props) {
  const [text, setText] = useState("");
  const [suggestions, setSuggestions] = useState<string[]>([]);
  const settled = useDebounce(text, 250);

  useEffect(() => {
    if (settled.length < 2) {
      setSuggestions([]);
      return;
    }
    let current = true;
    void client.get<string[]>(`/api/plants?like=${encodeURIComponent(settled)}`).then((names) => {
      if (current) {
        setSuggestions(names.filter((name) => !chosen.includes(name)));
      }
    });
    return () => {
      current = false;
    };
  }, [settled, chosen, client]);

  return (
    <fieldset>
      <legend>Plants</legend>
      <ul>
        {chosen.map((name) => (
          <li key={name}>
            {name}
            <button type="button" onClick={() => onChange(chosen.filter((other) => other !== name))}>
              ×
            </button>
          </li>
        ))}
      </ul>
      <input value={text} onChange={(event) => setText(event.target.value)} list="plants" />
      <datalist id="plants">
        {suggestions.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </fieldset>
  );
}
